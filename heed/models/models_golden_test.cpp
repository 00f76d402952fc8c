// Blocks, stacks and whole models against PyTorch: outputs, losses and every gradient.
#include "heed/models/decoder.h"
#include "heed/models/encoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/models/golden.h"

namespace heed::models {
namespace {

using heed::testing::affine;
using heed::testing::Golden;
using heed::testing::NameTable;
using heed::testing::Places;
using heed::testing::stack_of;

// A stack on its own, with the names of a layer or of a stack.
template <class Stack>
void expect_stack(Golden& g, int64_t layers, const Places& places, bool decoder) {
  nn::Parameters parameters;
  const Stack stack(nn::Scope(parameters), stack_of(g, layers), !decoder);
  parameters.allocate(1);
  const NameTable table(places);
  table.load(g, parameters);
  nn::StackInput in{.x = g.leaf("input.x"), .spans = g.spans("input.lengths"), .causal = decoder};
  if (decoder) {
    in.memory = g.leaf("input.memory");
    in.memory_spans = g.spans("input.memory_lengths");
  }
  const Tensor y = stack.forward(in, {});
  g.expect(y, "output");
  y.backward(g.tensor("upstream"));
  g.expect_grad(in.x, "input.x");
  if (decoder) g.expect_grad(in.memory, "input.memory");
  table.expect_gradients(g, parameters);
}

TEST(GoldenBlocks, Layers) {
  for (const char* kind : {"post_relu", "post_gelu", "pre_relu", "pre_gelu"}) {
    SCOPED_TRACE(kind);
    Golden encoder(std::string("encoder_layer_") + kind), decoder(std::string("decoder_layer_") + kind);
    expect_stack<nn::EncoderStack>(encoder, 1, testing::torch_layer("", "layers.0.", 16, false), false);
    expect_stack<nn::DecoderStack>(decoder, 1, testing::torch_layer("", "layers.0.", 16, true), true);
  }
}

TEST(GoldenBlocks, Stacks) {
  Golden encoder("encoder_stack_pre_gelu"), decoder("decoder_stack_pre_gelu");
  expect_stack<nn::EncoderStack>(encoder, 2, testing::torch_stack("", "", 16, 2, false), false);
  expect_stack<nn::DecoderStack>(decoder, 2, testing::torch_stack("", "", 16, 2, true), true);
}

TEST(GoldenModels, Transformer) {
  for (const char* name : {"transformer", "transformer_ragged"}) {
    SCOPED_TRACE(name);
    Golden g(name);
    ModelConfig config;
    config.encoder = config.decoder = stack_of(g, 2);
    const EncoderDecoder model(config);
    EXPECT_EQ(model.parameters.count(), 11200);
    Places places = testing::torch_stack("encoder.", "encoder.", 16, 2, false);
    append(places, testing::torch_stack("decoder.", "decoder.", 16, 2, true));
    const NameTable table(places);
    table.load(g, model.parameters);
    const Tensor source = g.leaf("input.src"), target = g.leaf("input.tgt");
    const Tensor y = model.body({.x = source, .spans = g.spans("input.src_lengths")},
                                {.x = target, .spans = g.spans("input.tgt_lengths")}, {});
    g.expect(y, "output");
    y.backward(g.tensor("upstream"));
    g.expect_grad(source, "input.src");
    g.expect_grad(target, "input.tgt");
    table.expect_gradients(g, model.parameters);
  }
}

ModelConfig decoder_config(const Golden& g) {
  ModelConfig config;
  config.family = Family::kDecoder;
  config.decoder = stack_of(g, g.integer("layers"));
  config.decoder.final_norm = true;
  config.vocabulary = g.integer("vocabulary");
  config.scale_embedding = false;
  config.tie_embeddings = g.flag("tied");
  return config;
}

void expect_decoder(Golden& g, const Decoder& model, const NameTable& table) {
  table.load(g, model.parameters);
  const Shape shape = g.shape("input.ids");
  const TokenBatch batch{g.ints("input.ids"), Spans::dense(shape[0], shape[1])};
  g.expect(model.logits(batch, {}).to_vector(), "logits");
  const std::vector<int32_t> targets = g.ints("input.targets");
  const LossResult r = model.loss(batch, targets, {}, {});
  g.expect(std::vector<float>{r.loss.item()}, "loss");
  r.loss.backward();
  table.expect_gradients(g, model.parameters);
}

TEST(GoldenModels, Gpt2) {
  Golden g("gpt2");
  ModelConfig config = decoder_config(g);
  config.decoder.weights_in_out = true;
  config.decoder.positions = {.kind = nn::PositionKind::kLearned, .max_length = g.integer("context")};
  expect_decoder(g, Decoder(config), NameTable(testing::gpt2_names(32, 2)));
}

TEST(GoldenModels, Llama) {
  for (const char* name : {"llama", "llama_tied"}) {
    SCOPED_TRACE(name);
    Golden g(name);
    ModelConfig config = decoder_config(g);
    config.decoder.norm = nn::NormKind::kRms;
    config.decoder.kv_heads = g.integer("kv_heads");
    config.decoder.gated = true;
    config.decoder.bias = false;
    config.decoder.positions.kind = nn::PositionKind::kRotary;
    config.decoder.positions.rotary_base = g.number("rope_base");
    expect_decoder(g, Decoder(config), NameTable(testing::llama_names(2, config.tie_embeddings)));
  }
}

// ViT's images are (channels, height, width); heed's patches are rows of (y, x, channel).
struct PatchOrder {
  int64_t height, width, patch, channels;
  int64_t per_image() const { return height / patch * (width / patch); }
  int64_t pixels() const { return patch * patch * channels; }
  // Where pixel i of a patch lies in a patch of the convolution's kernel, (channel, y, x).
  int64_t in_kernel(int64_t i) const {
    const int64_t y = i / (patch * channels), x = i / channels % patch, c = i % channels;
    return (c * patch + y) * patch + x;
  }
  int64_t in_image(int64_t p, int64_t i) const {
    const int64_t across = width / patch;
    const int64_t y = p / across * patch + i / (patch * channels), x = p % across * patch + i / channels % patch,
                  c = i % channels;
    return (c * height + y) * width + x;
  }
};

Places vit_names() {
  Places places{{"vit.embeddings.cls_token", "class_row"},
                {"vit.embeddings.position_embeddings", "encoder.positions.weight"}};
  places.push_back({"vit.embeddings.patch_embeddings.projection.bias", "patches.bias"});
  append(places, affine("classifier", "head"));
  append(places, affine("vit.layernorm", "encoder.norm"));
  for (int64_t i = 0; i < 2; ++i) {
    const std::string theirs = "vit.encoder.layer." + std::to_string(i) + ".",
                      ours = "encoder.layers." + std::to_string(i) + ".";
    append(places, affine(theirs + "attention.attention.query", ours + "self_attn.q_proj"));
    append(places, affine(theirs + "attention.attention.key", ours + "self_attn.k_proj"));
    append(places, affine(theirs + "attention.attention.value", ours + "self_attn.v_proj"));
    append(places, affine(theirs + "attention.output.dense", ours + "self_attn.out_proj"));
    append(places, affine(theirs + "intermediate.dense", ours + "feed_forward.up_proj"));
    append(places, affine(theirs + "output.dense", ours + "feed_forward.down_proj"));
    append(places, affine(theirs + "layernorm_before", ours + "self_attn_norm"));
    append(places, affine(theirs + "layernorm_after", ours + "feed_forward_norm"));
  }
  return places;
}

TEST(GoldenModels, Vit) {
  Golden g("vit");
  const PatchOrder order{g.integer("image_height"), g.integer("image_width"), g.integer("patch"),
                         g.integer("channels")};
  const int64_t n = order.per_image(), B = g.shape("input.images")[0], D = 16, P = order.pixels();
  ModelConfig config;
  config.family = Family::kEncoder;
  config.encoder = stack_of(g, g.integer("layers"));
  config.encoder.final_norm = true;
  config.encoder.positions = {.kind = nn::PositionKind::kLearned, .max_length = n + 1};
  config.image_size = order.height;  // the other side shows in the batch alone
  config.patch_size = order.patch;
  config.channels = order.channels;
  config.classes = g.integer("classes");
  const Encoder model(config);
  const std::string kernel = "vit.embeddings.patch_embeddings.projection.weight";
  const Tensor& ours = model.parameters["patches.weight"];
  const std::vector<float> theirs = g.floats(kernel), images = g.floats("input.images");
  Places places = vit_names();
  places.push_back({kernel, "patches.weight"});  // rows in another order: put right below
  NameTable(places).load(g, model.parameters);
  for (int64_t i = 0; i < D * P; ++i) ours.data()[i] = theirs[static_cast<size_t>(i / P * P + order.in_kernel(i % P))];

  ImageBatch batch;
  batch.labels = g.ints("input.labels");
  batch.spans = Spans::dense(B, n + 1);
  batch.patches = Tensor::empty({B * n, P}).set_requires_grad();
  const int64_t size = order.channels * order.height * order.width;
  const auto in_images = [&](int64_t i) {
    return static_cast<size_t>(i / (n * P) * size + order.in_image(i / P % n, i % P));
  };
  for (int64_t i = 0; i < B * n * P; ++i) batch.patches.data()[i] = images[in_images(i)];
  for (int64_t b = 0; b < B; ++b) batch.class_rows.push_back(static_cast<int32_t>(b * (n + 1)));

  g.expect(model.logits(batch, {}), "logits");
  const LossResult r = model.loss(batch, {}, {});
  g.expect(std::vector<float>{r.loss.item()}, "loss");
  r.loss.backward();
  NameTable(vit_names()).expect_gradients(g, model.parameters);
  std::vector<float> d_kernel(theirs.size()), d_images(images.size());
  const std::vector<float> d_ours = ours.grad().to_vector(), d_patches = batch.patches.grad().to_vector();
  for (int64_t i = 0; i < D * P; ++i)
    d_kernel[static_cast<size_t>(i / P * P + order.in_kernel(i % P))] = d_ours[static_cast<size_t>(i)];
  for (int64_t i = 0; i < B * n * P; ++i) d_images[in_images(i)] = d_patches[static_cast<size_t>(i)];
  g.expect(d_kernel, "grad." + kernel);
  g.expect(d_images, "grad.input.images");
}

}  // namespace
}  // namespace heed::models
