"""Times whole training steps in PyTorch at its best: forward, loss, backward, clip, optimizer; dropout on.

train.py --preset tiny|base|chargpt|gpt2|vit|shakespeare [--precision f32|bf16] [--threads N] [--seconds S] [--json]
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import malloc_settings  # noqa: F401  before torch: it may start this script again

import torch

import models

BENCH = Path(__file__).resolve().parents[1]
VOCABULARY = 10000  # of the translators


def padding_mask(lengths, dtype):
    """(B, 1, 1, longest) to add to scores."""
    n = torch.tensor(lengths)
    gone = torch.arange(int(n.max()))[None, :] >= n[:, None]
    return torch.zeros(gone.shape, dtype=dtype).masked_fill(gone, -torch.inf)[:, None, None, :]


def causal_mask(n, dtype):
    return torch.full((n, n), -torch.inf, dtype=dtype).triu(1)


def translator_batches(preset, dtype):
    batches = []
    for line in (BENCH / f"batches_{preset}.tsv").read_text().splitlines():
        pairs = [tuple(map(int, pair.split(":"))) for pair in line.split()]
        sources, targets = [s for s, _ in pairs], [t for _, t in pairs]
        rows, longest = len(pairs), max(targets)
        kept = (torch.arange(longest)[None, :] < torch.tensor(targets)[:, None]).flatten().nonzero()[:, 0]
        batches.append({
            "src": torch.randint(VOCABULARY, (rows, max(sources))),
            "src_mask": padding_mask(sources, dtype),
            "tgt_in": torch.randint(VOCABULARY, (rows, longest)),
            "causal": causal_mask(longest, dtype),
            "kept": kept,
            "targets": torch.randint(VOCABULARY, (len(kept),)),
            "count": sum(sources) + sum(targets),
        })  # fmt: skip
    return batches


def language_batches(rows, columns, vocabulary, dtype):
    return [{
        "ids": torch.randint(vocabulary, (rows, columns)),
        "targets": torch.randint(vocabulary, (rows, columns)),
        "causal": causal_mask(columns, dtype),
        "count": rows * columns,
    } for _ in range(4)]  # fmt: skip


def image_batches(rows, side, classes):
    return [{"images": torch.randn(rows, side, side), "targets": torch.randint(classes, (rows,)), "count": rows}
            for _ in range(4)]  # fmt: skip


def adamw(model, lr, betas):
    """Decay on matrices alone, as GPT trainers do."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr, betas, fused=True)


def build(preset, dtype):
    """Model, optimizer, batches, and what is counted."""
    if preset in ("tiny", "base"):
        layers, d, d_ff, heads = {"tiny": (4, 128, 256, 4), "base": (6, 512, 2048, 8)}[preset]
        model = models.Translator(layers, d, d_ff, heads, VOCABULARY, dropout=0.1)
        optimizer = torch.optim.Adam(model.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=True)
        return model, optimizer, translator_batches(preset, dtype), "tokens"
    if preset == "chargpt":
        model = models.LanguageModel(6, 384, 6, 65, 256, dropout=0.2, bias=False, approximate="none")
        return model, adamw(model, 1e-3, (0.9, 0.99)), language_batches(16, 256, 65, dtype), "tokens"
    if preset == "shakespeare":  # nanoGPT's setting for CPUs
        model = models.LanguageModel(4, 128, 4, 65, 64, dropout=0.0, bias=False, approximate="none")
        return model, adamw(model, 1e-3, (0.9, 0.99)), language_batches(12, 64, 65, dtype), "tokens"
    if preset == "gpt2":
        model = models.LanguageModel(12, 768, 12, 50257, 1024, dropout=0.1, bias=True, approximate="tanh")
        assert sum(p.numel() for p in model.parameters()) == 124439808
        return model, adamw(model, 1e-4, (0.9, 0.95)), language_batches(4, 64, 50257, dtype), "tokens"
    model = models.ImageClassifier(6, 64, 128, 4, side=28, patch=4, classes=10, dropout=0.1)
    return model, adamw(model, 1e-3, (0.9, 0.999)), image_batches(256, 28, 10), "images"


def train_step(model, optimizer, batch, autocast):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        loss = model(batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def peak_memory():
    """In bytes. getrusage() would count the program that started this one, where it had more."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def measure(arguments):
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    # On one thread the explicit form was 6 to 21 % faster on the ViT's many small squares, and within 3 % on
    # tiny, chargpt and gpt2.
    attention = arguments.attention or ("explicit" if arguments.preset == "vit" else "sdpa")
    models.attention = models.ATTENTIONS[attention]
    autocast = arguments.precision == "bf16"
    model, optimizer, batches, unit = build(arguments.preset, torch.bfloat16 if autocast else torch.float32)
    model.train()
    # Warm up on the batches with the most padding, so that the heap has grown before the clock runs.
    for batch in sorted(batches, key=lambda b: b["src"].numel() + b["tgt_in"].numel() if "src" in b else 0)[-2:]:
        train_step(model, optimizer, batch, autocast)
    seconds, counts, losses, start = [], [], [], time.perf_counter()
    while len(seconds) < arguments.steps if arguments.steps else time.perf_counter() - start < arguments.seconds:
        batch = batches[len(seconds) % len(batches)]
        before = time.perf_counter()
        losses.append(train_step(model, optimizer, batch, autocast))
        seconds.append(time.perf_counter() - before)
        counts.append(batch["count"])
    rates = [count / spent for count, spent in zip(counts, seconds)]
    return {
        "preset": arguments.preset,
        "precision": arguments.precision,
        "threads": arguments.threads,
        f"{unit}_per_second": {
            "best": max(rates), "median": statistics.median(rates), "mean": sum(counts) / sum(seconds)
        },  # fmt: skip
        "ms_per_step": {"best": 1e3 * min(seconds), "median": 1e3 * statistics.median(seconds)},
        "steps": len(seconds),
        "parameters": sum(p.numel() for p in model.parameters()),
        "loss": {"first": losses[0], "last": losses[-1]},
        "peak_rss_bytes": peak_memory(),
        "attention": attention,
        "torch": torch.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", required=True, choices=["tiny", "base", "chargpt", "gpt2", "vit", "shakespeare"])
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--steps", type=int, default=0, help="this many steps, whatever the time they take")
    parser.add_argument("--attention", choices=list(models.ATTENTIONS), help="by default the faster for the preset")
    parser.add_argument("--json", action="store_true")
    result = measure(parser.parse_args())
    if "--json" in sys.argv:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:18s} {value}")


if __name__ == "__main__":
    main()
