"""heed and PyTorch in one run, in turns, as ratios: what docs/results.md is made of.

compare.py [PRESET ...] [--heed build/heed] [--rounds 3] [--seconds 8] [--precision f32|bf16] [--threads 2]

PRESET: tiny base chargpt gpt2 vit attention; all without any. Prints a Markdown table: the best of all rounds on each side.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parent
TRAINING = ["tiny", "base", "chargpt", "gpt2", "vit"]
LENGTHS = [64, 128, 512, 4096, 16384]


def run(*command):
    lines = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def rate(result):
    return result.get("tokens_per_second", result.get("images_per_second"))


def compare_training(preset, a):
    flags = ["--preset", preset, "--precision", a.precision, "--threads", a.threads, "--seconds", a.seconds, "--json"]
    ours, theirs = [], []
    for _ in range(a.rounds):
        ours += run(a.heed, "bench", "train", *flags)
        theirs += run(sys.executable, PEERS / "train.py", *flags)
    our_best, their_best = max(rate(r)["best"] for r in ours), max(rate(r)["best"] for r in theirs)
    our_median, their_median = max(rate(r)["median"] for r in ours), max(rate(r)["median"] for r in theirs)
    share = max(r["share_of_peak"]["best"] for r in ours)
    memory = max(r["peak_memory_bytes"] for r in ours) / max(r["peak_rss_bytes"] for r in theirs)
    unit = "images/s" if preset == "vit" else "tokens/s"
    print(f"| {preset}, {a.precision} | {our_best:,.0f} {unit} | {their_best:,.0f} | **{our_best / their_best:.2f}** | "
          f"{our_median / their_median:.2f} | {100 * share:.0f} % | {memory:.2f} |", flush=True)  # fmt: skip


def compare_attention(a):
    print("\n| attention, causal, 8 heads of 64 | heed ms | PyTorch ms | ratio | extra MiB |\n|---|---|---|---|---|")
    ours, theirs = {}, {}
    for _ in range(a.rounds):
        for r in run(a.heed, "bench", "attention", "--threads", a.threads, "--json"):
            previous = ours.get(r["length"], r)
            ours[r["length"]] = r if r["ms"] <= previous["ms"] else previous
        for r in run(sys.executable, PEERS / "attention.py", a.threads):
            theirs[r["case"]] = min(r["milliseconds"], theirs.get(r["case"], float("inf")))
    for length in LENGTHS:
        r, peer = ours[length], theirs[f"causal {length}"]
        print(f"| sequences of {length} | {r['ms']:.2f} | {peer:.2f} | **{peer / r['ms']:.2f}** | "
              f"{r['extra_bytes'] / 2**20:.1f} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", choices=[*TRAINING, "attention", []])
    parser.add_argument("--heed", default="build/heed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    presets = a.presets or [*TRAINING, "attention"]
    print("| training step | heed, best | PyTorch, best | ratio of bests | of medians | of the product peak | memory, times PyTorch's |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for preset in presets:
        if preset in TRAINING:
            compare_training(preset, a)
    if "attention" in presets:
        compare_attention(a)


if __name__ == "__main__":
    main()
