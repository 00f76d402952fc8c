"""Encoder and decoder blocks, stacks, the whole nn.Transformer, and a ViT."""

from torch import nn
from transformers import ViTConfig, ViTForImageClassification
from transformers.models.vit import modeling_vit

from common import Fixture, Ragged, Values, WideTorch, causal_padding_mask

D, HEADS, D_FF = 16, 4, 32
modeling_vit.torch = WideTorch()


def settings(norm_first, activation, **more):
    return dict(
        d_model=D, heads=HEADS, d_ff=D_FF, norm="layer", eps=1e-5, norm_first=norm_first, activation=activation, **more
    )


def block_options(norm_first, activation):
    return dict(
        d_model=D, nhead=HEADS, dim_feedforward=D_FF, dropout=0.0, batch_first=True, norm_first=norm_first,
        activation=activation,
    )  # fmt: skip


def encoder(name, seed, module, norm_first, activation, lengths, **more):
    values, batch = Values(seed), Ragged(lengths)
    fixture = Fixture(name, **settings(norm_first, activation, **more))
    values.fill(module)
    x = fixture.input("x", values.leaf(batch.rows, D))
    fixture.put("input.lengths", batch.lengths)
    fixture.parameters(module)
    fixture.backward(batch.unpad(module(batch.pad(x), src_key_padding_mask=batch.padding)), values)
    fixture.save()


def decoder(name, seed, module, norm_first, activation, lengths, memory_lengths, **more):
    """Causal self-attention on the target, cross-attention on the memory."""
    values, target, memory = Values(seed), Ragged(lengths), Ragged(memory_lengths)
    fixture = Fixture(name, **settings(norm_first, activation, **more))
    values.fill(module)
    x = fixture.input("x", values.leaf(target.rows, D))
    m = fixture.input("memory", values.leaf(memory.rows, D))
    fixture.put("input.lengths", target.lengths)
    fixture.put("input.memory_lengths", memory.lengths)
    fixture.parameters(module)
    output = module(
        target.pad(x),
        memory.pad(m),
        tgt_mask=causal_padding_mask(target.longest),
        tgt_key_padding_mask=target.padding,
        memory_key_padding_mask=memory.padding,
    )
    fixture.backward(target.unpad(output), values)
    fixture.save()


def whole_transformer(name, seed, source_lengths, target_lengths):
    """2 + 2 layers, post-norm, with the final norms that nn.Transformer has: 11,200 parameters."""
    values, source, target = Values(seed), Ragged(source_lengths), Ragged(target_lengths)
    fixture = Fixture(name, **settings(False, "relu", encoder_layers=2, decoder_layers=2, final_norm=True))
    module = nn.Transformer(num_encoder_layers=2, num_decoder_layers=2, **block_options(False, "relu"))
    values.fill(module)
    assert sum(p.numel() for p in module.parameters()) == 11200
    src = fixture.input("src", values.leaf(source.rows, D))
    tgt = fixture.input("tgt", values.leaf(target.rows, D))
    fixture.put("input.src_lengths", source.lengths)
    fixture.put("input.tgt_lengths", target.lengths)
    fixture.parameters(module)
    output = module(
        source.pad(src),
        target.pad(tgt),
        tgt_mask=causal_padding_mask(target.longest),
        src_key_padding_mask=source.padding,
        tgt_key_padding_mask=target.padding,
        memory_key_padding_mask=source.padding,
    )
    fixture.backward(target.unpad(output), values)
    fixture.save()


# The class computes under short names; its checkpoints are published under these.
VIT_PUBLISHED = [
    ("vit.layers.", "vit.encoder.layer."),
    ("attention.q_proj", "attention.attention.query"),
    ("attention.k_proj", "attention.attention.key"),
    ("attention.v_proj", "attention.attention.value"),
    ("attention.o_proj", "attention.output.dense"),
    ("mlp.fc1", "intermediate.dense"),
    ("mlp.fc2", "output.dense"),
]


def published_vit_name(name):
    for inside, outside in VIT_PUBLISHED:
        name = name.replace(inside, outside)
    return name


def vit():
    """Images (B, channels, height, width), patches by a convolution, class token, learned positions, pre-norm."""
    values, batch, classes = Values(66), 3, 5
    config = ViTConfig(
        hidden_size=D, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=D_FF, hidden_act="gelu",
        image_size=(8, 12), patch_size=4, num_channels=2, num_labels=classes, layer_norm_eps=1e-12,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    fixture = Fixture(
        "vit", d_model=D, heads=HEADS, d_ff=D_FF, layers=2, norm="layer", eps=1e-12, norm_first=True, activation="gelu",
        image_height=8, image_width=12, patch=4, channels=2, classes=classes,
    )  # fmt: skip
    model = values.fill(ViTForImageClassification(config))
    images = fixture.input("images", values.leaf(batch, 2, 8, 12))
    labels = fixture.input("labels", values.ids(classes, batch))
    fixture.parameters(model, published_vit_name)
    result = model(pixel_values=images, output_hidden_states=True)
    fixture.put("embedded", result.hidden_states[0])  # (B, 1 + patches, D): class token first
    fixture.put("logits", result.logits)
    fixture.backward_loss(nn.functional.cross_entropy(result.logits, labels))
    fixture.save()


def make():
    for seed, (order, norm_first) in enumerate([("post", False), ("pre", True)]):
        for offset, activation in enumerate(["relu", "gelu"]):
            options = block_options(norm_first, activation)
            encoder(f"encoder_layer_{order}_{activation}", 51 + 2 * seed + offset, nn.TransformerEncoderLayer(**options),
                    norm_first, activation, [5, 3, 1])  # fmt: skip
            decoder(f"decoder_layer_{order}_{activation}", 55 + 2 * seed + offset, nn.TransformerDecoderLayer(**options),
                    norm_first, activation, [4, 1, 3], [2, 5, 3])  # fmt: skip

    whole_transformer("transformer", 61, [5, 5], [5, 5])
    whole_transformer("transformer_ragged", 62, [5, 2, 1, 4], [3, 6, 2, 1])

    pre = block_options(True, "gelu")
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(**pre), 2, nn.LayerNorm(D), enable_nested_tensor=False)
    encoder("encoder_stack_pre_gelu", 63, stack, True, "gelu", [4, 1, 6], layers=2, final_norm=True)
    stack = nn.TransformerDecoder(nn.TransformerDecoderLayer(**pre), 2, nn.LayerNorm(D))
    decoder("decoder_stack_pre_gelu", 64, stack, True, "gelu", [4, 1, 3], [2, 5, 3], layers=2, final_norm=True)
    vit()


if __name__ == "__main__":
    make()
