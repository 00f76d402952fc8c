"""PyTorch's scaled_dot_product_attention, forward and backward, on the shapes of `heed bench attention`; "vit 50" is
`--length 50 --tokens 12800 --heads 4 --head-size 16 --all`.

attention.py [threads] [part of a case's name]: prints one JSON object a line.
"""

import json
import sys
import time

import malloc_settings  # noqa: F401  before torch: it may start this script again

import torch
import torch.nn.functional as F


def best_of(run, seconds):
    run()
    best, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        run()
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def measure(name, batch, heads, n, size, causal, pairs, seconds=1.5):
    """pairs: of a query and a key that it sees, in all sequences."""
    shape = (batch, heads, n, size)
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    gradient = torch.randn(shape)

    def run():
        q.grad = k.grad = v.grad = None
        F.scaled_dot_product_attention(q, k, v, is_causal=causal).backward(gradient)

    t = best_of(run, seconds)
    # Two products forward and four backward; that the backward computes the scores again is no useful work.
    flops = 6 * 2.0 * pairs * heads * size
    print(json.dumps({"peer": "torch " + torch.__version__, "threads": torch.get_num_threads(), "case": name,
                      "milliseconds": round(t * 1e3, 3), "gflops": round(flops / t * 1e-9, 1)}), flush=True)


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for total, n in ((4096, 64), (4096, 128), (4096, 512), (4096, 4096), (16384, 16384)):
        if wanted and wanted not in f"causal {n}":
            continue
        measure(f"causal {n}", total // n, 8, n, 64, True, total // n * n * (n + 1) // 2)
    if not wanted or wanted == "vit":
        measure("vit 50", 256, 4, 50, 16, False, 256 * 50 * 50)


if __name__ == "__main__":
    main()
