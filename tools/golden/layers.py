"""Single layers: linear, embedding, norms, activations, feed-forward, cross-entropy."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from common import Fixture, Values


def one_input(name, seed, module, shape, **settings):
    values = Values(seed)
    fixture = Fixture(name, **settings)
    module = values.fill(module)
    x = fixture.input("x", values.leaf(*shape))
    fixture.parameters(module)
    fixture.backward(module(x), values)
    fixture.save()


class GatedFeedForward(nn.Module):
    """down(act(gate(x)) * up(x)), named as in LLaMA."""

    def __init__(self, d_model, d_ff, activation, bias):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def activation(name, function):
    values = Values(31)
    fixture = Fixture(f"activation_{name}", activation=name)
    tails = torch.tensor([-30.0, -12.0, -8.5, -6.0, -5.0, -0.5, -1e-4, 1e-4, 0.5, 5.0, 6.0, 8.5, 12.0, 30.0]).double()
    x = fixture.input("x", torch.cat([tails, values.normal(50, scale=3.0)]).requires_grad_())
    fixture.backward(function(x), values)
    fixture.save()


def embedding():
    values, vocabulary, d = Values(32), 11, 6
    fixture = Fixture("embedding", d_model=d, vocabulary=vocabulary, scale=math.sqrt(d))
    module = values.fill(nn.Embedding(vocabulary, d))
    ids = fixture.input("ids", torch.cat([values.ids(vocabulary, 9), torch.tensor([3, 3, 3])]))
    fixture.parameters(module)
    fixture.backward(module(ids) * math.sqrt(d), values)
    fixture.save()


def cross_entropy(name, seed, smoothing):
    values, rows, vocabulary = Values(seed), 9, 13
    settings = dict(vocabulary=vocabulary, smoothing=smoothing, ignored=-100, mean_over="kept rows")
    fixture = Fixture(f"cross_entropy_{name}", **settings)
    logits = fixture.input("logits", values.leaf(rows, vocabulary, scale=2.0))
    targets = values.ids(vocabulary, rows)
    targets[torch.tensor([1, 6])] = -100
    fixture.input("targets", targets)
    fixture.put("row_loss", F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="none"))
    fixture.put("row_nll", F.cross_entropy(logits, targets, reduction="none"))
    fixture.backward_loss(F.cross_entropy(logits, targets, label_smoothing=smoothing))
    fixture.save()


def vocabulary_loss():
    """Projection and loss in one, as an output layer does it."""
    values, rows, d, vocabulary = Values(35), 9, 8, 13
    settings = dict(vocabulary=vocabulary, smoothing=0.1, ignored=-100, mean_over="kept rows")
    fixture = Fixture("vocabulary_loss", d_model=d, **settings)
    module = values.fill(nn.Linear(d, vocabulary))
    x = fixture.input("x", values.leaf(rows, d, scale=2.0))
    targets = values.ids(vocabulary, rows)
    targets[torch.tensor([0, 5, 8])] = -100
    fixture.input("targets", targets)
    fixture.parameters(module)
    fixture.put("row_loss", F.cross_entropy(module(x), targets, label_smoothing=0.1, reduction="none"))
    fixture.put("row_nll", F.cross_entropy(module(x), targets, reduction="none"))
    fixture.backward_loss(F.cross_entropy(module(x), targets, label_smoothing=0.1))
    fixture.save()


def softmax():
    values = Values(36)
    fixture = Fixture("softmax")
    x = fixture.input("x", values.leaf(4, 7, scale=4.0))
    fixture.put("log_softmax", torch.log_softmax(x, -1))
    fixture.backward(torch.softmax(x, -1), values)
    fixture.save()


def make():
    one_input("linear", 21, nn.Linear(6, 10), (2, 4, 6), bias=True)
    one_input("linear_no_bias", 22, nn.Linear(6, 10, bias=False), (5, 6), bias=False)
    one_input("layer_norm", 23, nn.LayerNorm(11, eps=1e-5), (2, 3, 11), norm="layer", eps=1e-5)
    one_input("layer_norm_no_bias", 24, nn.LayerNorm(16, eps=1e-12, bias=False), (5, 16), norm="layer", eps=1e-12)
    one_input("rms_norm", 25, nn.RMSNorm(11, eps=1e-6), (2, 3, 11), norm="rms", eps=1e-6)
    for name, function in ACTIVATIONS.items():
        activation(name, function)
        module = FeedForward(8, 20, function)
        one_input(f"feed_forward_{name}", 26, module, (5, 8), d_model=8, d_ff=20, activation=name, gated=False)
    module = GatedFeedForward(8, 20, F.gelu, bias=True)
    one_input("feed_forward_geglu", 27, module, (5, 8), d_model=8, d_ff=20, activation="gelu", gated=True, bias=True)
    module = GatedFeedForward(8, 20, F.silu, bias=False)
    one_input("feed_forward_swiglu", 28, module, (5, 8), d_model=8, d_ff=20, activation="silu", gated=True, bias=False)
    embedding()
    cross_entropy("plain", 33, 0.0)
    cross_entropy("smoothed", 34, 0.1)
    vocabulary_loss()
    softmax()


if __name__ == "__main__":
    make()
