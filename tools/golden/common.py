"""What every fixture shares: the file format, seeded values, and ragged batches seen through padding."""

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden"

torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)


class Values:
    """Seeded numbers that f32 holds exactly, handed out as f64 so that the oracle computes in double."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape, scale=1.0):
        return (torch.randn(*shape, generator=self.generator) * scale).double()

    def leaf(self, *shape, scale=1.0):
        return self.normal(*shape, scale=scale).requires_grad_()

    def ids(self, below, *shape):
        return torch.randint(0, below, shape, generator=self.generator)

    def fill(self, module):
        """Gives every parameter a value of its own, so that no bias is 0 and no gain is 1, and makes the module f64."""
        with torch.no_grad():
            for name, parameter in sorted(module.named_parameters()):
                if parameter.dim() > 1:
                    value = torch.randn(parameter.shape, generator=self.generator) / math.sqrt(parameter[0].numel())
                else:
                    value = torch.randn(parameter.shape, generator=self.generator) * 0.1
                    value += 1.0 if name.endswith("weight") else 0.0
                parameter.copy_(value)
        return module.double().train()


class Fixture:
    """One .safetensors file. Tensors are f32 or i32; settings are strings in the header."""

    def __init__(self, name, **settings):
        self.name = name
        self.settings = {key: self._text(value) for key, value in settings.items()}
        self.tensors = {}
        self.leaves = {}

    @staticmethod
    def _text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        return repr(value) if isinstance(value, float) else str(value)

    def put(self, name, tensor):
        assert name not in self.tensors, name
        tensor = torch.as_tensor(tensor).detach()
        kind = torch.float32 if tensor.is_floating_point() else torch.int32
        assert not torch.isnan(tensor).any(), f"{self.name}: {name} has a NaN"
        self.tensors[name] = tensor.to(kind).contiguous().clone()

    def input(self, name, tensor):
        """A value that goes in; its gradient is kept where it asks for one."""
        self.put(f"input.{name}", tensor)
        if tensor.requires_grad:
            self.leaves[f"input.{name}"] = tensor
        return tensor

    def parameters(self, module, rename=lambda name: name):
        for name, parameter in module.named_parameters():
            self.put(rename(name), parameter)
            self.leaves[rename(name)] = parameter

    def backward(self, output, values):
        """Keeps the output, draws an upstream gradient, and keeps what it does to every input and parameter."""
        upstream = values.normal(*output.shape)
        self.put("output", output)
        self.put("upstream", upstream)
        self._gradients(output, upstream)

    def backward_loss(self, loss):
        self.put("loss", loss.reshape(1))
        self._gradients(loss, None)

    def _gradients(self, output, upstream):
        gradients = torch.autograd.grad(output, list(self.leaves.values()), upstream)
        for name, gradient in zip(self.leaves, gradients):
            self.put(f"grad.{name}", gradient)

    def save(self):
        OUT.mkdir(parents=True, exist_ok=True)
        path = OUT / f"{self.name}.safetensors"
        notes = {"fixture": self.name, "torch": torch.__version__.split("+")[0], **self.settings}
        path.write_bytes(with_sorted_header(save(self.tensors, notes)))
        print(f"{self.name:32s} {path.stat().st_size:8d} bytes")


def with_sorted_header(file):
    """The library writes metadata in an order that changes from run to run; fixtures should not change."""
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.dumps(json.loads(file[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + file[end:]


class WideTorch:
    """torch, but float32 means float64: transformers' norms and softmaxes step down to f32, and the oracle should not.

    A module of theirs takes it as its own `torch`.
    """

    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


class Ragged:
    """Sequences laid end to end as (T, ...) rows, and the padded batch PyTorch wants."""

    def __init__(self, lengths):
        self.lengths = torch.tensor(lengths)
        self.longest = max(lengths)
        positions = torch.arange(self.longest)[None, :]
        self.valid = positions < self.lengths[:, None]  # (B, longest)

    @property
    def rows(self):
        return int(self.lengths.sum())

    @property
    def padding(self):
        """PyTorch's key padding mask: true is ignored. None where there is nothing to ignore."""
        return None if bool(self.valid.all()) else ~self.valid

    def pad(self, rows, fill=0):
        """(T, ...) -> (B, longest, ...). Gradients flow back to the rows."""
        padded = torch.full((*self.valid.shape, *rows.shape[1:]), fill, dtype=rows.dtype)
        return padded.masked_scatter(self.valid.reshape(*self.valid.shape, *[1] * (rows.dim() - 1)), rows)

    def unpad(self, padded):
        """(B, longest, ...) -> (T, ...): only positions that exist."""
        return padded[self.valid]


def causal_padding_mask(n):
    """PyTorch's boolean attention mask: true is ignored."""
    return torch.ones(n, n, dtype=torch.bool).triu(1)


def sinusoids(length, d):
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos of the same; odd d drops the last cosine."""
    angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(0, d, 2).double() / d)
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(length, -1)[:, :d]
