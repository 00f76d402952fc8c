"""GPT-2 and LLaMA with random weights: logits, loss and every gradient."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama
from transformers.utils import logging

from common import Fixture, Values, WideTorch

logging.set_verbosity_error()
VOCABULARY, CONTEXT = 61, 24
modeling_llama.torch = WideTorch()


def gpt2_model(values):
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=32, n_layer=2, n_head=4, activation_function="gelu_new",
        layer_norm_epsilon=1e-5, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager",
        bos_token_id=0, eos_token_id=0, use_cache=False,
    )  # fmt: skip
    return values.fill(GPT2LMHeadModel(config))


GPT2_SETTINGS = dict(
    d_model=32, heads=4, d_ff=128, layers=2, vocabulary=VOCABULARY, context=CONTEXT, norm="layer", eps=1e-5,
    norm_first=True, activation="gelu_tanh", tied=True, positions="learned",
)  # fmt: skip


def llama_model(values, tied):
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, rms_norm_eps=1e-6, tie_word_embeddings=tied,
        attention_dropout=0.0, attn_implementation="eager", bos_token_id=0, eos_token_id=0, use_cache=False,
    )  # fmt: skip
    return values.fill(LlamaForCausalLM(config))


LLAMA_SETTINGS = dict(
    d_model=32, heads=4, kv_heads=2, d_ff=48, layers=2, vocabulary=VOCABULARY, context=CONTEXT, norm="rms", eps=1e-6,
    norm_first=True, activation="silu", gated=True, bias=False, positions="rotary", rope_base=10000.0,
)  # fmt: skip


def causal_loss(name, model, values, rows, columns, **settings):
    """The loss is the mean over positions 0 .. n-2 of each row, each predicting the next id."""
    fixture = Fixture(name, **settings)
    ids = fixture.input("ids", values.ids(VOCABULARY, rows, columns))
    fixture.parameters(model)
    result = model(input_ids=ids, labels=ids)
    targets = torch.cat([ids[:, 1:], torch.full((rows, 1), -100)], 1)
    fixture.put("input.targets", targets)
    # transformers' own loss steps down to f32; the same mean in double.
    loss = torch.nn.functional.cross_entropy(result.logits.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(loss.float(), result.loss.float())
    fixture.put("logits", result.logits)
    fixture.backward_loss(loss)
    fixture.save()


def make():
    values = Values(71)
    causal_loss("gpt2", gpt2_model(values), values, 2, CONTEXT, **GPT2_SETTINGS)
    for seed, name, tied in [(72, "llama", False), (73, "llama_tied", True)]:
        values = Values(seed)
        causal_loss(name, llama_model(values, tied), values, 2, 12, tied=tied, **LLAMA_SETTINGS)


if __name__ == "__main__":
    make()
