"""Positions: sinusoids, rotary as in LLaMA, ALiBi, and T5's relative bias."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.t5.modeling_t5 import T5Attention

from common import Fixture, Ragged, Values, sinusoids


def sinusoidal():
    fixture = Fixture("positions_sinusoidal")
    for length, d in [(12, 4), (12, 7), (40, 16)]:
        fixture.put(f"table.{length}x{d}", sinusoids(length, d))
    for position in [1000, 30000]:  # far rows show whether angles were computed in double
        fixture.put(f"row.{position}x16", sinusoids(position + 1, 16)[-1:])
    fixture.save()


def rotary_far():
    """Cosines and sines of LLaMA far into a text, by its ways to scale them."""
    fixture = Fixture("positions_rotary_far")
    positions = fixture.input("positions", torch.tensor([0, 1, 255, 1999, 2048, 3001, 4095, 5555, 6789, 7998, 8000]))
    kinds = {
        "default": dict(rope_type="default", rope_theta=10000.0),
        "linear": dict(rope_type="linear", rope_theta=10000.0, factor=4.0),
        "llama3": dict(
            rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=8192,
        ),
    }  # fmt: skip
    for name, parameters in kinds.items():
        config = LlamaConfig(hidden_size=64, num_attention_heads=1, max_position_embeddings=8192, rope_parameters=parameters)
        cos, sin = LlamaRotaryEmbedding(config)(torch.zeros(1), positions[None])
        fixture.put(f"{name}.cos", cos[0, :, :32])
        fixture.put(f"{name}.sin", sin[0, :, :32])
    fixture.save()


def rotary():
    """input.x: (T, heads * D). Pairs (i, i + D/2) as LLaMA publishes it; interleaved: pairs (2i, 2i+1)."""
    heads, d, base = 3, 8, 10000.0
    positions, values = torch.tensor([0, 1, 2, 3, 0, 1, 17, 100]), Values(41)
    fixture = Fixture("positions_rotary", heads=heads, d_head=d, base=base)
    x = fixture.input("x", values.leaf(len(positions), heads * d))
    fixture.input("positions", positions)
    angles = (positions.float()[:, None] * (1.0 / base ** (torch.arange(0, d, 2).float() / d))).double()  # rounded as theirs are
    fixture.put("cos", angles.cos())
    fixture.put("sin", angles.sin())
    split = x.unflatten(-1, (heads, d)).transpose(0, 1)[None]  # (1, heads, T, D)
    cos, sin = (torch.cat([table, table], -1)[None] for table in (angles.cos(), angles.sin()))
    turned, _ = apply_rotary_pos_emb(split, split, cos, sin)
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]
    pairs = torch.view_as_complex(x.unflatten(-1, (heads, d // 2, 2))) * turns
    fixture.put("output_interleaved", torch.view_as_real(pairs).flatten(1))
    fixture.backward(turned[0].transpose(0, 1).flatten(1), values)
    fixture.save()


def attend(q, k, v, bias, scale, causal):
    n = q.shape[-2]
    if causal:
        bias = bias.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)


def attention_with_bias(fixture, values, lengths, heads, d, bias_of, **options):
    """Ragged self-attention of rows (T, heads * d) under a bias (heads, n, n)."""
    batch = Ragged(lengths)
    fixture.put("input.lengths", batch.lengths)
    rows = [fixture.input(name, values.leaf(batch.rows, heads * d)) for name in "qkv"]
    outputs = []
    for pieces in zip(*(x.split(lengths) for x in rows)):
        q, k, v = (piece.unflatten(-1, (heads, d)).transpose(0, 1) for piece in pieces)
        outputs.append(attend(q, k, v, bias_of(len(pieces[0])), **options).transpose(0, 1).flatten(1))
    fixture.backward(torch.cat(outputs), values)
    fixture.save()


def slopes_of(heads):
    """From the published tensor slope * position: its value at position 1."""
    return build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]


def alibi():
    fixture = Fixture("positions_alibi_slopes")
    for heads in [1, 2, 4, 6, 8, 12, 16]:
        fixture.put(f"slopes.{heads}", slopes_of(heads))
    torch.testing.assert_close(fixture.tensors["slopes.8"], 2.0 ** -torch.arange(1.0, 9.0))
    torch.testing.assert_close(fixture.tensors["slopes.6"], 2.0 ** -torch.tensor([2.0, 4.0, 6.0, 8.0, 1.0, 3.0]))
    fixture.save()

    heads, d = 6, 4
    fixture = Fixture("attention_alibi", heads=heads, d_k=d, d_v=d, scale=1 / math.sqrt(d), causal=True)
    slopes = slopes_of(heads).double()
    fixture.put("input.slopes", slopes)

    def bias(n):
        position = torch.arange(n)
        return -slopes[:, None, None] * (position[:, None] - position[None, :]).abs()

    attention_with_bias(fixture, Values(42), [7, 1, 4], heads, d, bias, scale=1 / math.sqrt(d), causal=True)


def t5_buckets():
    """distance = key position - query position."""
    fixture = Fixture("positions_t5_buckets", first_distance=-200, last_distance=200, buckets=32, max_distance=128)
    distances = torch.arange(-200, 201)
    fixture.put("distance", distances)
    for name, both in [("bidirectional", True), ("causal", False)]:
        fixture.put(name, T5Attention._relative_position_bucket(distances, both, 32, 128))
        fixture.put(f"{name}.8x20", T5Attention._relative_position_bucket(distances, both, 8, 20))
    fixture.save()


def t5_attention(name, seed, causal):
    heads, d, buckets, furthest = 3, 4, 8, 20
    values = Values(seed)
    fixture = Fixture(
        f"attention_t5_{name}", heads=heads, d_k=d, d_v=d, scale=1.0, causal=causal, buckets=buckets,
        max_distance=furthest,
    )  # fmt: skip
    module = nn.Module()
    module.relative_attention_bias = nn.Embedding(buckets, heads)
    values.fill(module)
    fixture.parameters(module)

    def bias(n):
        position = torch.arange(n)
        distance = position[None, :] - position[:, None]
        bucket = T5Attention._relative_position_bucket(distance, not causal, buckets, furthest)
        return module.relative_attention_bias(bucket).permute(2, 0, 1)

    attention_with_bias(fixture, values, [26, 1, 5], heads, d, bias, scale=1.0, causal=causal)


def make():
    sinusoidal()
    rotary()
    rotary_far()
    alibi()
    t5_buckets()
    t5_attention("bidirectional", 43, causal=False)
    t5_attention("causal", 44, causal=True)


if __name__ == "__main__":
    make()
