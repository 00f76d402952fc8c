// Attention against PyTorch: the textbook form under every mask, ragged and grouped, with positions, and multi-head.
#include "heed/models/golden.h"
#include "heed/nn/attention.h"
#include "heed/nn/trace.h"

namespace heed {
namespace {

using testing::Golden;
using testing::NameTable;

TEST(GoldenAttention, ScaledDotProduct) {
  for (const char* name : {"plain", "leading", "causal", "causal_offset", "key_padding", "boolean", "additive"}) {
    SCOPED_TRACE(name);
    Golden g(std::string("sdpa_") + name);
    const Tensor q = g.leaf("input.q"), k = g.leaf("input.k"), v = g.leaf("input.v");
    DenseMask mask{.causal = g.flag("causal"), .keep = {}, .add = {}};
    if (g.contains("input.keep")) {
      const std::vector<int32_t> keep = g.ints("input.keep");
      mask.keep = Tensor::from(std::vector<float>(keep.begin(), keep.end()), g.shape("input.keep"));
    }
    if (g.contains("input.added")) mask.add = g.tensor("input.added");
    if (g.contains("input.key_lengths")) {
      const std::vector<int32_t> lengths = g.ints("input.key_lengths");
      const int64_t n_k = k.size(-2);
      mask.keep = Tensor::zeros({k.size(0), 1, n_k});
      for (int64_t b = 0; b < k.size(0); ++b)
        std::fill_n(mask.keep.data() + b * n_k, lengths[static_cast<size_t>(b)], 1.0f);
    }
    const DenseAttention a = scaled_dot_product_attention(q, k, v, mask);
    g.expect(a.out, "output");
    g.expect(a.weights, "weights");
    a.out.backward(g.tensor("upstream"));
    g.expect_grad(q, "input.q");
    g.expect_grad(k, "input.k");
    g.expect_grad(v, "input.v");
  }
}

// The lengths of keys again, as the kernel itself takes them.
TEST(GoldenAttention, KeyLengths) {
  Golden g("sdpa_key_padding");
  const Tensor q = g.leaf("input.q"), k = g.leaf("input.k"), v = g.leaf("input.v");
  AttentionArgs args;
  args.q_spans = Spans::dense(3, 5);
  args.k_spans = Spans::dense(3, 7);
  args.key_lengths = std::make_shared<const std::vector<int32_t>>(g.ints("input.key_lengths"));
  const Tensor y = attention(reshape(q, {15, 8}), reshape(k, {21, 8}), reshape(v, {21, 12}), args);
  g.expect(y.to_vector(), "output");
  y.backward(reshape(g.tensor("upstream"), {15, 12}));
  g.expect_grad(q, "input.q");
  g.expect_grad(k, "input.k");
  g.expect_grad(v, "input.v");
}

void expect_ragged(Golden& g, AttentionArgs args) {
  const Tensor q = g.leaf("input.q"), k = g.leaf("input.k"), v = g.leaf("input.v");
  args.q_spans = args.k_spans = g.spans("input.lengths");
  args.scale = static_cast<float>(g.number("scale"));
  args.causal = g.flag("causal");
  const Tensor y = attention(q, k, v, args);
  g.expect(y, "output");
  y.backward(g.tensor("upstream"));
  g.expect_grad(q, "input.q");
  g.expect_grad(k, "input.k");
  g.expect_grad(v, "input.v");
}

TEST(GoldenAttention, GroupedHeads) {
  Golden g("sdpa_grouped");
  AttentionArgs args;
  args.heads = g.integer("heads");
  args.kv_heads = g.integer("kv_heads");
  expect_ragged(g, args);
}

nn::StackConfig position_config(const Golden& g, nn::PositionKind kind) {
  nn::StackConfig config;
  config.heads = g.integer("heads");
  config.d_model = config.heads * g.integer("d_k");
  config.positions.kind = kind;
  return config;
}

TEST(GoldenAttention, Alibi) {
  Golden g("attention_alibi");
  nn::Parameters none;
  const nn::PositionEncoding positions(nn::Scope(none), position_config(g, nn::PositionKind::kAlibi), false);
  AttentionArgs args;
  args.heads = args.kv_heads = g.integer("heads");
  positions.bias_scores(args);
  g.expect(args.slopes, "input.slopes");
  expect_ragged(g, args);
}

TEST(GoldenAttention, T5RelativeBias) {
  for (const char* name : {"attention_t5_bidirectional", "attention_t5_causal"}) {
    SCOPED_TRACE(name);
    Golden g(name);
    nn::StackConfig config = position_config(g, nn::PositionKind::kT5);
    config.positions.t5_buckets = g.integer("buckets");
    config.positions.t5_max_distance = g.integer("max_distance");
    nn::Parameters parameters;
    const nn::PositionEncoding positions(nn::Scope(parameters), config, !g.flag("causal"));
    parameters.allocate(1);
    const NameTable table(testing::Places{{"relative_attention_bias.weight", "weight"}});
    table.load(g, parameters);
    AttentionArgs args;
    args.heads = args.kv_heads = config.heads;
    args.q_spans = args.k_spans = g.spans("input.lengths");
    positions.bias_scores(args);
    expect_ragged(g, args);
    table.expect_gradients(g, parameters);
  }
}

TEST(GoldenAttention, MultiHead) {
  for (const char* name : {"self", "self_no_bias", "self_padding", "self_causal", "cross", "cross_padding"}) {
    SCOPED_TRACE(name);
    Golden g(std::string("mha_") + name);
    nn::StackConfig config;
    config.d_model = g.integer("d_model");
    config.heads = g.integer("heads");
    config.bias = g.flag("bias");
    nn::Parameters parameters;
    const nn::MultiHeadAttention layer(nn::Scope(parameters) / "layer", config);
    parameters.allocate(1);
    const NameTable table(testing::torch_attention("", "layer.", config.d_model, config.bias));
    table.load(g, parameters);
    const Tensor x = g.leaf("input.x");
    const bool cross = g.flag("cross");
    const Tensor memory = cross ? g.leaf("input.memory") : Tensor();
    nn::AttentionSpans spans{g.spans("input.lengths"), g.spans(cross ? "input.memory_lengths" : "input.lengths"),
                             g.flag("causal")};
    nn::Trace trace;
    nn::Context context;
    context.trace = &trace;
    const Tensor y = cross ? layer.cross(x, memory, spans, context) : layer.self(x, spans, {}, context);
    g.expect(y, "output");
    if (g.contains("weights")) g.expect(trace.tensor("layer.weights"), "weights");
    y.backward(g.tensor("upstream"));
    g.expect_grad(x, "input.x");
    if (cross) g.expect_grad(memory, "input.memory");
    table.expect_gradients(g, parameters);
  }
}

}  // namespace
}  // namespace heed
