"""Directories of GPT-2, LLaMA and their kin, both ways.

    decoders.py                      makes tests/golden/decoders/: directories that transformers wrote, with what they compute
    decoders.py check [MODEL [TEXT]] a directory that heed wrote, opened by transformers: logits, and ids where it has a
                                     tokenizer. Without a name: every golden directory, read and written anew by heed

The check asks heed's own side for its numbers: `ninja -C build heed golden_decoders`.
"""

import copy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file
from transformers import (
    AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig,
    MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM,
)  # fmt: skip
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.qwen2 import modeling_qwen2
from transformers.utils import logging

from common import OUT, Fixture, Values, WideTorch

logging.set_verbosity_error()
logging.disable_progress_bar()
for module in [modeling_llama, modeling_mistral, modeling_qwen2]:
    module.torch = WideTorch()
BUILD = Path(__file__).resolve().parents[2] / "build"
VOCABULARY, CONTEXT, ROWS = 37, 24, 3
IDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=None)


def gpt2(**more):
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=16, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
        attn_pdrop=0.0, attn_implementation="eager", **IDS, **more,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def llama(kind=(LlamaConfig, LlamaForCausalLM), **more):
    settings = dict(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, rms_norm_eps=1e-5, tie_word_embeddings=False,
        attention_dropout=0.0, attn_implementation="eager", **IDS,
    )  # fmt: skip
    return kind[1](kind[0](**{**settings, **more}))


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=12,
              rope_theta=500.0)  # fmt: skip
MODELS = {
    "gpt2": lambda: gpt2(),
    "gpt2_untied": lambda: gpt2(tie_word_embeddings=False, activation_function="gelu", n_inner=24, layer_norm_epsilon=1e-3),
    "gpt2_old": lambda: gpt2(activation_function="relu"),
    "llama": lambda: llama(eos_token_id=[2, 5]),
    "llama_tied": lambda: llama(tie_word_embeddings=True, num_key_value_heads=4),
    "llama_biases": lambda: llama(attention_bias=True, mlp_bias=True, num_key_value_heads=1, hidden_act="gelu_pytorch_tanh"),
    "llama_attention_bias": lambda: llama(attention_bias=True, head_dim=6),
    "llama_linear": lambda: llama(rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=10000.0)),
    "llama_llama3": lambda: llama(rope_parameters=LLAMA3, head_dim=8),
    "qwen2": lambda: llama((Qwen2Config, Qwen2ForCausalLM), tie_word_embeddings=True),
    "mistral": lambda: llama((MistralConfig, MistralForCausalLM), sliding_window=None),
}
STORED = {"gpt2_untied": torch.float16, "llama": torch.bfloat16}
SHARDED = ["llama", "gpt2_untied"]


def save_old(model, folder):
    """As GPT-2 was first published: the body without its prefix, with the causal mask of every layer."""
    tensors = {name.removeprefix("transformer."): t.clone().contiguous() for name, t in model.state_dict().items()}
    del tensors["lm_head.weight"]
    for i in range(2):
        tensors[f"h.{i}.attn.bias"] = torch.ones(CONTEXT, CONTEXT).tril().view(1, 1, CONTEXT, CONTEXT)
        tensors[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def expected(folder, model, values, parameters):
    """Logits, loss and the gradients of parameters, in double; the loss is the mean over positions 0 .. n-2."""
    fixture = Fixture(f"{folder}/expected")
    ids = fixture.input("ids", values.ids(VOCABULARY, ROWS, CONTEXT))
    fixture.leaves.update(parameters)
    logits = model(input_ids=ids).logits
    targets = torch.cat([ids[:, 1:], torch.full((ROWS, 1), -100)], 1)
    fixture.put("input.targets", targets)
    fixture.put("logits", logits)
    fixture.backward_loss(torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()))
    fixture.save()


def make():
    shutil.rmtree(OUT / "decoders", ignore_errors=True)
    for seed, (name, build) in enumerate(MODELS.items(), 301):
        folder = OUT / "decoders" / name
        folder.mkdir(parents=True)
        values, kind = Values(seed), STORED.get(name, torch.float32)
        model = values.fill(build())
        with torch.no_grad():  # what is stored; the frequencies of positions are computed, never stored
            for parameter in model.parameters():
                parameter.copy_(parameter.to(kind))
        stored = copy.deepcopy(model).to(kind)
        stored.config.dtype = kind
        if name == "gpt2_old":
            stored.config.save_pretrained(folder)
            save_old(stored, folder)
        else:
            stored.save_pretrained(folder, max_shard_size="6KB" if name in SHARDED else "1GB")
        expected(f"decoders/{name}", model, values, model.named_parameters())


def heed(*arguments, text=""):
    run = subprocess.run([BUILD / arguments[0], *map(str, arguments[1:])], input=text.encode(), capture_output=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{arguments[0]}: {run.stderr.decode()}")
    return run.stdout


TEXTS = ["the cat caught the mouse", "It's 12345 o'clock,  and\tthen\n some.", "고양이가 쥐를 잡았다", "👩‍👩‍👧‍👦 cafe\u0301", " a", "a "]


def check_tokenizer(folder, texts):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    wrong = 0
    for text in texts:
        ours = heed("heed", "tokenize", folder, "--ids", text=text.replace("\n", " ") + "\n").decode().split("\n")[0].split()
        theirs = tokenizer(text.replace("\n", " "), add_special_tokens=False)["input_ids"]
        wrong += [int(i) for i in ours] != theirs
    print(f"tokenizer: {len(texts)} lines, {wrong} differ")
    return wrong


def check_logits(folder, model):
    values = Values(7)
    rows = [values.ids(model.config.vocab_size, 1, n) for n in [1, 2, 17, min(64, model.config.max_position_embeddings)]]
    lines = "".join(" ".join(map(str, row[0].tolist())) + "\n" for row in rows)
    numbers = numpy.frombuffer(heed("golden_decoders", folder, text=lines), dtype=numpy.float32).copy()
    with torch.no_grad():
        theirs = torch.cat([model(input_ids=row).logits[0] for row in rows])
    worst = (torch.from_numpy(numbers).view(theirs.shape) - theirs).abs().max().item()
    print(f"{folder.name}: logits {tuple(theirs.shape)}, the largest difference is {worst:.2e}")
    return worst > 1e-4


def check_model(folder, text=None):
    model, report = AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, dtype=torch.float32, attn_implementation="eager"
    )
    assert not any(report[kind] for kind in ["missing_keys", "unexpected_keys", "mismatched_keys"]), report
    wrong = check_logits(folder, model.eval())
    # language_tokenizers.py checks a tokenizer.model, with SentencePiece.
    if any((folder / name).exists() for name in ["tokenizer.json", "merges.txt"]):
        texts = [t for t in Path(text).read_text().split("\n") if t] if text else TEXTS
        wrong += check_tokenizer(folder, texts)
    return wrong


def check(folder=None, text=None):
    if folder:
        return 1 if check_model(Path(folder), text) else 0
    wrong = 0
    for name in MODELS:
        with tempfile.TemporaryDirectory() as there:
            copied = Path(there) / name
            copied.mkdir()
            heed("golden_decoders", OUT / "decoders" / name, copied)
            wrong += check_model(copied)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(check(*sys.argv[2:]) if sys.argv[1:2] == ["check"] else make())
