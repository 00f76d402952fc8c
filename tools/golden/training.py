"""Optimizer steps and loss curves of whole models."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from common import Fixture, Ragged, Values, causal_padding_mask, sinusoids
from language_models import CONTEXT, GPT2_SETTINGS, VOCABULARY, gpt2_model

STEPS = 20


def optimizer_steps(name, make_optimizer, **settings):
    """Three steps on one vector; weights.i and norms[i] are after and before step i."""
    values, n, clip = Values(81), 37, 1.0
    fixture = Fixture(f"optimizer_{name}", clip=clip, **settings)
    w = torch.nn.Parameter(values.normal(n))
    fixture.put("input.w", w)
    gradients = [values.normal(n, scale=scale) for scale in (2.0, 0.05, 1.0)]  # the second is under the threshold
    optimizer = make_optimizer([w])
    weights, norms = [], []
    for gradient in gradients:
        w.grad = gradient.clone()
        norms.append(torch.nn.utils.clip_grad_norm_([w], clip))
        optimizer.step()
        weights.append(w.detach().clone())
    fixture.put("input.gradients", torch.stack(gradients))
    fixture.put("norms", torch.stack(norms))
    fixture.put("weights", torch.stack(weights))
    fixture.save()


class Translator(nn.Module):
    """Embeddings times sqrt(d) plus sinusoids, nn.Transformer, a map to the vocabulary without bias."""

    def __init__(self, vocabulary, d, tied):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=d, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=32, dropout=0.0,
            batch_first=True,
        )  # fmt: skip
        self.src_embed = nn.Embedding(vocabulary, d)
        self.tgt_embed = self.src_embed if tied else nn.Embedding(vocabulary, d)
        self.generator = nn.Linear(d, vocabulary, bias=False)
        if tied:
            self.generator.weight = self.src_embed.weight
        self.d = d

    def embed(self, table, ids):
        return table(ids) * math.sqrt(self.d) + sinusoids(ids.shape[1], self.d)

    def forward(self, source, src_ids, target, tgt_ids):
        hidden = self.transformer(
            self.embed(self.src_embed, source.pad(src_ids)),
            self.embed(self.tgt_embed, target.pad(tgt_ids)),
            tgt_mask=causal_padding_mask(target.longest),
            src_key_padding_mask=source.padding,
            tgt_key_padding_mask=target.padding,
            memory_key_padding_mask=source.padding,
        )
        return self.generator(target.unpad(hidden))  # (T, vocabulary)


def curve(module, loss_of, optimizer):
    """The loss before each of the steps."""
    losses = []
    for _ in range(STEPS):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def translator_curve(name, seed, tied):
    vocabulary, d, beginning, end = 29, 16, 1, 2
    values, source, target = Values(seed), Ragged([5, 3, 7, 1]), Ragged([4, 6, 2, 5])
    fixture = Fixture(
        name, d_model=d, heads=4, d_ff=32, encoder_layers=2, decoder_layers=2, norm="layer", eps=1e-5, norm_first=False,
        final_norm=True, activation="relu", vocabulary=vocabulary, tied=tied, positions="sinusoidal", embedding_scale=4.0,
        smoothing=0.1, mean_over="target tokens", optimizer="adam", lr=1e-3, beta1=0.9, beta2=0.98, adam_eps=1e-9,
        weight_decay=0.0, clip=0.0, steps=STEPS,
    )  # fmt: skip
    model = values.fill(Translator(vocabulary, d, tied))
    src_ids = fixture.input("src_ids", values.ids(vocabulary - 3, source.rows) + 3)
    words = [values.ids(vocabulary - 3, int(n) - 1) + 3 for n in target.lengths]
    tgt_in = fixture.input("tgt_in_ids", torch.cat([F.pad(w, (1, 0), value=beginning) for w in words]))
    tgt_out = fixture.input("tgt_out_ids", torch.cat([F.pad(w, (0, 1), value=end) for w in words]))
    fixture.put("input.src_lengths", source.lengths)
    fixture.put("input.tgt_lengths", target.lengths)
    fixture.parameters(model)

    def loss_of():
        return F.cross_entropy(model(source, src_ids, target, tgt_in), tgt_out, label_smoothing=0.1)

    fixture.put("logits", model(source, src_ids, target, tgt_in))
    fixture.backward_loss(loss_of())
    fixture.put("losses", curve(model, loss_of, torch.optim.Adam(model.parameters(), 1e-3, (0.9, 0.98), 1e-9)))
    fixture.save()


def gpt2_curve():
    """AdamW twice from the same start: decay on everything, and on matrices alone as GPT trainers do."""
    decay = 0.1
    fixture = Fixture(
        "curve_gpt2", **GPT2_SETTINGS, optimizer="adamw", lr=1e-3, beta1=0.9, beta2=0.95, adam_eps=1e-8,
        weight_decay=decay, clip=0.0, steps=STEPS, mean_over="predicted tokens",
    )  # fmt: skip
    for name in ["losses", "losses_matrix_decay"]:
        values = Values(84)
        model = gpt2_model(values)
        ids = values.ids(VOCABULARY, 3, CONTEXT)
        targets = torch.cat([ids[:, 1:], torch.full((3, 1), -100)], 1)
        if name == "losses":
            fixture.input("ids", ids)
            fixture.input("targets", targets)
            fixture.parameters(model)
            groups = [{"params": list(model.parameters()), "weight_decay": decay}]
        else:
            groups = [
                {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
                {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0},
            ]

        def loss_of():
            return F.cross_entropy(model(input_ids=ids).logits.flatten(0, 1), targets.flatten())

        fixture.put(name, curve(model, loss_of, torch.optim.AdamW(groups, 1e-3, (0.9, 0.95), 1e-8)))
    fixture.save()


def make():
    optim = torch.optim
    optimizer_steps("adam", lambda p: optim.Adam(p, 1e-2, (0.9, 0.98), 1e-9),
                    lr=1e-2, beta1=0.9, beta2=0.98, eps=1e-9, weight_decay=0.0)  # fmt: skip
    optimizer_steps("adamw", lambda p: optim.AdamW(p, 1e-2, (0.9, 0.95), 1e-8, weight_decay=0.1),
                    lr=1e-2, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1)  # fmt: skip
    optimizer_steps("sgd", lambda p: optim.SGD(p, 1e-1, momentum=0.9, weight_decay=1e-2),
                    lr=1e-1, momentum=0.9, weight_decay=1e-2)  # fmt: skip
    translator_curve("curve_translator_tied", 82, tied=True)
    translator_curve("curve_translator", 83, tied=False)
    gpt2_curve()


if __name__ == "__main__":
    make()
