"""The models of the training benchmarks, written the way PyTorch runs them fastest on a CPU."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def explicit_attention(q, k, v, attn_mask, dropout_p):
    """The same as PyTorch's on the path it takes under dropout, without its search for rows that see nothing."""
    scores = (q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-1, -2)
    if attn_mask is not None:
        scores = scores + attn_mask
    return F.dropout(torch.softmax(scores, -1), dropout_p) @ v


ATTENTIONS = {"sdpa": F.scaled_dot_product_attention, "explicit": explicit_attention}
attention = ATTENTIONS["sdpa"]  # the benchmark picks


def attend(q, k, v, heads, dropout, mask=None):
    """(B, T, C) in and out. The mask is added to the scores."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    return attention(q, k, v, attn_mask=mask, dropout_p=dropout).transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    def __init__(self, d, heads, dropout, bias=True):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=bias), nn.Linear(d, d, bias=bias)
        self.heads, self.dropout = heads, dropout

    def forward(self, x, mask):
        return self.out(attend(*self.qkv(x).chunk(3, -1), self.heads, self.dropout, mask))


class CrossAttention(nn.Module):
    def __init__(self, d, heads, dropout):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.heads, self.dropout = heads, dropout

    def forward(self, x, memory, mask):
        return self.out(attend(self.q(x), *self.kv(memory).chunk(2, -1), self.heads, self.dropout, mask))


class FeedForward(nn.Sequential):
    def __init__(self, d, d_ff, activation, inner_dropout, bias=True):
        inner = [nn.Dropout(inner_dropout)] if inner_dropout else []
        super().__init__(nn.Linear(d, d_ff, bias=bias), activation, *inner, nn.Linear(d_ff, d, bias=bias))


class EncoderBlock(nn.Module):
    """Post-norm, as in the paper."""

    def __init__(self, d, d_ff, heads, dropout):
        super().__init__()
        self.attention = SelfAttention(d, heads, dropout)
        self.feed_forward = FeedForward(d, d_ff, nn.ReLU(inplace=True), dropout)
        self.norm1, self.norm2, self.dropout = nn.LayerNorm(d), nn.LayerNorm(d), nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class DecoderBlock(nn.Module):
    def __init__(self, d, d_ff, heads, dropout):
        super().__init__()
        self.attention = SelfAttention(d, heads, dropout)
        self.cross = CrossAttention(d, heads, dropout)
        self.feed_forward = FeedForward(d, d_ff, nn.ReLU(inplace=True), dropout)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, causal, memory, memory_mask):
        x = self.norm1(x + self.dropout(self.attention(x, causal)))
        x = self.norm2(x + self.dropout(self.cross(x, memory, memory_mask)))
        return self.norm3(x + self.dropout(self.feed_forward(x)))


def sinusoids(length, d):
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)


class Translator(nn.Module):
    """The paper's model: one table for source, target and output; final norms as in nn.Transformer."""

    def __init__(self, layers, d, d_ff, heads, vocabulary, dropout):
        super().__init__()
        self.table = nn.Embedding(vocabulary, d)
        nn.init.normal_(self.table.weight, std=d**-0.5)
        self.encoder = nn.ModuleList(EncoderBlock(d, d_ff, heads, dropout) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderBlock(d, d_ff, heads, dropout) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.dropout, self.scale = nn.Dropout(dropout), math.sqrt(d)
        self.register_buffer("positions", sinusoids(128, d), persistent=False)

    def embed(self, ids):
        return self.dropout(self.table(ids) * self.scale + self.positions[: ids.shape[1]])

    def forward(self, batch):
        memory = self.embed(batch["src"])
        for block in self.encoder:
            memory = block(memory, batch["src_mask"])
        memory = self.encoder_norm(memory)
        x = self.embed(batch["tgt_in"])
        for block in self.decoder:
            x = block(x, batch["causal"], memory, batch["src_mask"])
        # Padding ends here: only rows that have a target meet the vocabulary.
        x = self.decoder_norm(x).flatten(0, 1).index_select(0, batch["kept"])
        return F.cross_entropy(F.linear(x, self.table.weight), batch["targets"], label_smoothing=0.1)


class PreNormBlock(nn.Module):
    def __init__(self, d, d_ff, heads, dropout, activation, inner_dropout, bias=True):
        super().__init__()
        self.attention = SelfAttention(d, heads, dropout, bias)
        self.feed_forward = FeedForward(d, d_ff, activation, inner_dropout, bias)
        self.norm1, self.norm2 = nn.LayerNorm(d, bias=bias), nn.LayerNorm(d, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = x + self.dropout(self.attention(self.norm1(x), mask))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class LanguageModel(nn.Module):
    """GPT-2 and nanoGPT: learned positions, tied output."""

    def __init__(self, layers, d, heads, vocabulary, context, dropout, bias, approximate):
        super().__init__()
        self.table, self.positions = nn.Embedding(vocabulary, d), nn.Parameter(torch.randn(context, d) * 0.02)
        nn.init.normal_(self.table.weight, std=0.02)
        self.blocks = nn.ModuleList(
            PreNormBlock(d, 4 * d, heads, dropout, nn.GELU(approximate), 0.0, bias) for _ in range(layers)
        )
        self.norm, self.dropout = nn.LayerNorm(d, bias=bias), nn.Dropout(dropout)

    def forward(self, batch):
        ids = batch["ids"]
        x = self.dropout(self.table(ids) + self.positions[: ids.shape[1]])
        for block in self.blocks:
            x = block(x, batch["causal"])
        return F.cross_entropy(F.linear(self.norm(x), self.table.weight).flatten(0, 1), batch["targets"].flatten())


class ImageClassifier(nn.Module):
    """ViT: patches, class token, learned positions."""

    def __init__(self, layers, d, d_ff, heads, side, patch, classes, dropout):
        super().__init__()
        self.patch, patches = patch, (side // patch) ** 2
        self.embed = nn.Linear(patch * patch, d)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.randn(1 + patches, d) * 0.02)
        self.blocks = nn.ModuleList(PreNormBlock(d, d_ff, heads, dropout, nn.GELU(), dropout) for _ in range(layers))
        self.norm, self.head, self.dropout = nn.LayerNorm(d), nn.Linear(d, classes), nn.Dropout(dropout)

    def forward(self, batch):
        images, p = batch["images"], self.patch  # (B, side, side)
        patches = images.unfold(1, p, p).unfold(2, p, p).flatten(3).flatten(1, 2)
        x = torch.cat([self.token.expand(len(images), -1, -1), self.embed(patches)], 1)
        x = self.dropout(x + self.positions)
        for block in self.blocks:
            x = block(x, None)
        return F.cross_entropy(self.head(self.norm(x[:, 0])), batch["targets"])
