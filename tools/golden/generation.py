"""What transformers generates from the directories of tests/golden/decoders: greedy, with penalties, by beam search; and
what its samplers leave of a distribution."""

import torch
from transformers import AutoModelForCausalLM, LogitsProcessorList
from transformers.generation.logits_process import (
    MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper,
)  # fmt: skip
from transformers.utils import logging

from common import OUT, Fixture, Values

logging.set_verbosity_error()
logging.disable_progress_bar()
MODELS = ["gpt2", "llama", "qwen2"]
PROMPTS, LENGTH, MOST = 6, 5, 15
WAYS = {
    "greedy": dict(),
    "penalty": dict(repetition_penalty=1.4),
    "beam": dict(num_beams=4, length_penalty=1.0),
    "long_beam": dict(num_beams=3, length_penalty=2.0),
    "penalty_beam": dict(num_beams=4, length_penalty=1.0, repetition_penalty=1.4),
}
# temperature, top-k, top-p, min-p
CUTS = [(1.0, 0, 1.0, 0.0), (0.5, 0, 1.0, 0.0), (2.0, 7, 1.0, 0.0), (1.0, 0, 0.8, 0.0), (1.3, 0, 1.0, 0.15), (1.5, 20, 0.9, 0.1)]


def generated(model, prompts, how):
    """The new ids of each prompt without the end, whether it ended, their number; of a search the score, and the log-probability
    that the model itself gives them with the end."""
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    ids, lengths, ended, scores, own = [], [], [], [], []
    for prompt in prompts:
        made = model.generate(
            input_ids=prompt[None], attention_mask=torch.ones_like(prompt[None]), max_new_tokens=MOST, do_sample=False,
            pad_token_id=0, return_dict_in_generate=True, output_scores=True, **how,
        )  # fmt: skip
        out = made.sequences[0, LENGTH:].tolist()
        scores.append(made.sequences_scores[0].item() if how.get("num_beams") else 0.0)
        at = next((i for i, id in enumerate(out) if id in ends), None)
        ended.append(at is not None)
        said = out if at is None else out[: at + 1]
        with torch.no_grad():
            p = model(torch.cat([prompt, torch.tensor(said)])[None]).logits[0, LENGTH - 1 : -1].double().log_softmax(-1)
        own.append(p[range(len(said)), said].sum().item())
        out = out if at is None else out[:at]
        ids += out
        lengths.append(len(out))
    return ids, lengths, ended, scores, own


def make():
    for seed, name in enumerate(MODELS, 401):
        fixture, values = Fixture(f"generation/{name}"), Values(seed)
        model = AutoModelForCausalLM.from_pretrained(OUT / "decoders" / name, dtype=torch.float32).eval()
        prompts = fixture.input("prompts", values.ids(model.config.vocab_size, PROMPTS, LENGTH))
        for way, how in WAYS.items():
            ids, lengths, ended, scores, own = generated(model, prompts, how)
            fixture.put(f"{way}.ids", torch.tensor(ids))
            fixture.put(f"{way}.lengths", torch.tensor(lengths))
            fixture.put(f"{way}.ended", torch.tensor(ended).int())
            fixture.put(f"{way}.scores", torch.tensor(scores))
            fixture.put(f"{way}.own", torch.tensor(own))
        fixture.save()
    fixture, values = Fixture("generation/sampling"), Values(400)
    logits = fixture.input("logits", values.normal(1, 50, scale=2.0))
    said = fixture.input("said", values.ids(50, 1, 12))
    for i, (temperature, top_k, top_p, min_p) in enumerate(CUTS):
        steps = [RepetitionPenaltyLogitsProcessor(1.3), TemperatureLogitsWarper(temperature)]
        steps += [TopKLogitsWarper(top_k)] if top_k else []
        steps += [TopPLogitsWarper(top_p)] if top_p < 1 else []
        steps += [MinPLogitsWarper(min_p)] if min_p else []
        fixture.put(f"{i}.probability", LogitsProcessorList(steps)(said, logits.clone()).softmax(-1)[0])
        fixture.put(f"{i}.settings", torch.tensor([temperature, top_k, top_p, min_p]))
    fixture.save()


if __name__ == "__main__":
    make()
