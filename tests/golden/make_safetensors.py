"""Writes python.safetensors with Python's safetensors library: one tensor of each type heed reads.

Run by hand: python make_safetensors.py (needs torch and safetensors). io_test reads the result.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

halves = [0.0, -0.0, 1.0, -2.5, 65504.0, 6.103515625e-05, 5.960464477539063e-08, float("inf")]
tensors = {
    "f64": torch.tensor([[1.5, -2.25], [1e-3, 3.0]], dtype=torch.float64),
    "f32": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4,
    "f16": torch.tensor(halves, dtype=torch.float16),
    "bf16": torch.tensor([1.0, -0.5, 3.0e38, 1e-30], dtype=torch.bfloat16),
    "i64": torch.tensor([-(2**62), 7], dtype=torch.int64),
    "i32": torch.tensor([-5, 6], dtype=torch.int32),
    "i16": torch.tensor([-300], dtype=torch.int16),
    "i8": torch.tensor([-1, 2, -3], dtype=torch.int8),
    "u64": torch.tensor([2**63], dtype=torch.uint64),
    "u32": torch.tensor([4000000000], dtype=torch.uint32),
    "u16": torch.tensor([65535, 1], dtype=torch.uint16),
    "u8": torch.tensor([0, 255, 128], dtype=torch.uint8),
    "bool": torch.tensor([True, False]),
    "scalar": torch.tensor(42.0),
    "empty": torch.zeros(0, 3),
    "name \"한글\"\n": torch.tensor([9.0]),
}
path = Path(__file__).parent / "python.safetensors"
save_file(tensors, path, metadata={"format": "pt", "quote": 'a "b" \\ c'})
