"""Tiny Shakespeare by characters, the whole of docs/runs/shakespeare-tiny.toml: heed and PyTorch in one run, in turns.

shakespeare.py --text tinyshakespeare.txt.gz [--heed build/heed] [--rounds 2] [--threads 2] [--precision f32|bf16]

heed's time is the whole run from the start of the program to the written model: reading the text, validations over a tenth of
it, checkpoints. PyTorch's is its 2000 training steps alone, over random ids of the same shape, without data or validation;
with --precision bf16 the faster of its two precisions counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUN = HERE.parents[1] / "docs/runs/shakespeare-tiny.toml"
STEPS = 2000


def ours(a, folder):
    command = [a.heed, "train", RUN, "--text", a.text, "--out", folder, "--threads", a.threads, "--precision", a.precision, "--quiet"]
    start = time.perf_counter()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    spent = time.perf_counter() - start
    lines = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    return spent, min(line["valid_loss"] for line in lines if "valid_loss" in line)


def theirs(a, precision):
    command = [sys.executable, HERE / "train.py", "--preset", "shakespeare", "--steps", STEPS, "--threads", a.threads,
               "--precision", precision, "--json"]  # fmt: skip
    out = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
    rate = json.loads(out)["tokens_per_second"]["mean"]
    return STEPS * 12 * 64 / rate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--heed", default="build/heed")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    a = parser.parse_args()
    mine, peer, loss = float("inf"), float("inf"), 0
    for i in range(a.rounds):
        with tempfile.TemporaryDirectory() as folder:
            spent, loss = ours(a, str(Path(folder) / "model"))
        mine, peer = min(mine, spent), min(peer, *(theirs(a, p) for p in dict.fromkeys(["f32", a.precision])))
    print("| tiny Shakespeare, 2000 steps | heed s | PyTorch s | ratio | heed's validation loss |\n|---|---|---|---|---|")
    print(f"| 4 layers of 128, 12 x 64 characters | {mine:.1f} | {peer:.1f} | **{peer / mine:.2f}** | {loss:.3f} |")


if __name__ == "__main__":
    main()
