"""Scaled dot-product attention and nn.MultiheadAttention."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from common import Fixture, Ragged, Values, causal_padding_mask


def explicit_attention(q, k, v, added):
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + added, -1)
    return torch.nan_to_num(weights) @ v


def as_added(mask, like):
    """A boolean mask (true is seen) as numbers to add; numbers stay."""
    if mask is None:
        return torch.zeros((), dtype=torch.float64)
    return mask if mask.is_floating_point() else torch.zeros(mask.shape, dtype=like.dtype).masked_fill(~mask, -math.inf)


def sdpa(name, seed, *, n_q, n_k, mask=None, mask_name=None, leading=(3,), d_k=8, d_v=12, **settings):
    values = Values(seed)
    fixture = Fixture(f"sdpa_{name}", d_k=d_k, d_v=d_v, scale=1 / math.sqrt(d_k), **settings)
    q = fixture.input("q", values.leaf(*leading, n_q, d_k))
    k = fixture.input("k", values.leaf(*leading, n_k, d_k))
    v = fixture.input("v", values.leaf(*leading, n_k, d_v))
    if callable(mask):
        mask = mask(values)
    if mask_name == "key_lengths":
        fixture.put("input.key_lengths", mask)
        mask = (torch.arange(n_k)[None, :] < mask[:, None])[:, None, :].expand(-1, n_q, -1)
    elif mask_name:
        fixture.put(f"input.{mask_name}", mask)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    added = as_added(mask, q)
    torch.testing.assert_close(output, explicit_attention(q, k, v, added))
    scores = q @ k.transpose(-1, -2) / math.sqrt(d_k) + added
    fixture.put("weights", torch.nan_to_num(torch.softmax(scores, -1)))
    fixture.backward(output, values)
    fixture.save()


def grouped_query():
    """Four query heads on two key heads, rows laid out as (T, heads * D), ragged, causal."""
    heads, kv_heads, d = 4, 2, 6
    batch, values = Ragged([4, 1, 6]), Values(17)
    fixture = Fixture("sdpa_grouped", heads=heads, kv_heads=kv_heads, d_k=d, d_v=d, scale=1 / math.sqrt(d), causal=True)
    fixture.put("input.lengths", batch.lengths)

    def split(rows, count):
        return batch.pad(rows).unflatten(-1, (count, d)).transpose(1, 2)

    q = fixture.input("q", values.leaf(batch.rows, heads * d))
    k = fixture.input("k", values.leaf(batch.rows, kv_heads * d))
    v = fixture.input("v", values.leaf(batch.rows, kv_heads * d))
    output = F.scaled_dot_product_attention(
        split(q, heads), split(k, kv_heads), split(v, kv_heads), is_causal=True, enable_gqa=True
    )
    fixture.backward(batch.unpad(output.transpose(1, 2).flatten(2)), values)
    fixture.save()


def multihead(name, seed, *, q_lengths, k_lengths=None, bias=True, causal=False, d_model=16, heads=4):
    """Self-attention where k_lengths is None, else queries on a memory of other lengths."""
    values, queries = Values(seed), Ragged(q_lengths)
    memory = Ragged(k_lengths) if k_lengths else queries
    fixture = Fixture(f"mha_{name}", d_model=d_model, heads=heads, bias=bias, causal=causal, cross=k_lengths is not None)
    module = values.fill(nn.MultiheadAttention(d_model, heads, bias=bias, batch_first=True))
    x = fixture.input("x", values.leaf(queries.rows, d_model))
    fixture.put("input.lengths", queries.lengths)
    m = x
    if k_lengths:
        m = fixture.input("memory", values.leaf(memory.rows, d_model))
        fixture.put("input.memory_lengths", memory.lengths)
    fixture.parameters(module)
    output, weights = module(
        queries.pad(x),
        memory.pad(m),
        memory.pad(m),
        key_padding_mask=memory.padding,
        attn_mask=causal_padding_mask(queries.longest) if causal else None,
        average_attn_weights=False,
    )
    if queries.padding is None and memory.padding is None:
        fixture.put("weights", weights)  # (B, heads, n_q, n_k)
    fixture.backward(queries.unpad(output), values)
    fixture.save()


def make():
    def causal(n_q, n_k):  # query i sees keys up to i + n_k - n_q
        return torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)

    def boolean(values):
        keep = values.ids(2, 3, 5, 7).bool()
        keep[1, 2] = False  # one row sees nothing: zeros
        keep[:, 0, 0] = True
        return keep

    def additive(values):
        added = values.normal(5, 7)
        added[torch.tensor([0, 1, 3]), torch.tensor([2, 6, 0])] = -math.inf
        return added

    sdpa("plain", 1, n_q=5, n_k=7)
    sdpa("leading", 2, n_q=2, n_k=3, leading=(2, 3), d_k=4, d_v=5)
    sdpa("causal", 3, n_q=6, n_k=6, mask=causal(6, 6), causal=True)
    sdpa("causal_offset", 4, n_q=3, n_k=7, mask=causal(3, 7), causal=True)
    sdpa("key_padding", 5, n_q=5, n_k=7, mask=torch.tensor([7, 1, 4]), mask_name="key_lengths")
    sdpa("boolean", 6, n_q=5, n_k=7, mask=boolean, mask_name="keep")
    sdpa("additive", 7, n_q=5, n_k=7, mask=additive, mask_name="added")
    grouped_query()

    multihead("self", 11, q_lengths=[5, 5])
    multihead("self_no_bias", 12, q_lengths=[5, 5], bias=False)
    multihead("self_padding", 13, q_lengths=[5, 2, 1])
    multihead("self_causal", 14, q_lengths=[6, 3], causal=True)
    multihead("cross", 15, q_lengths=[3, 3], k_lengths=[5, 5])
    multihead("cross_padding", 16, q_lengths=[3, 1, 4], k_lengths=[2, 5, 1], bias=False)


if __name__ == "__main__":
    make()
