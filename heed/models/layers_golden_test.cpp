// Single layers and positions against PyTorch: outputs and every gradient.
#include "heed/kernels/rotary.h"
#include "heed/models/golden.h"
#include "heed/nn/feed_forward.h"
#include "heed/nn/norm.h"
#include "heed/nn/positions.h"

namespace heed {
namespace {

using testing::Golden;
using testing::NameTable;

LinearWeight linear_of(const Golden& g, const std::string& prefix) {
  const bool bias = g.contains(prefix + "bias");
  return {g.leaf(prefix + "weight"), bias ? g.leaf(prefix + "bias") : Tensor()};
}

void expect_linear_grad(Golden& g, const LinearWeight& w, const std::string& prefix) {
  g.expect_grad(w.weight, prefix + "weight");
  if (w.bias) g.expect_grad(w.bias, prefix + "bias");
}

TEST(GoldenLayers, Linear) {
  for (const char* name : {"linear", "linear_no_bias"}) {
    Golden g(name);
    const Tensor x = g.leaf("input.x");
    const LinearWeight w = linear_of(g, "");
    const Tensor y = linear(x, w);
    g.expect(y, "output");
    y.backward(g.tensor("upstream"));
    g.expect_grad(x, "input.x");
    expect_linear_grad(g, w, "");
  }
}

TEST(GoldenLayers, Norms) {
  for (const char* name : {"layer_norm", "layer_norm_no_bias", "rms_norm"}) {
    Golden g(name);
    const Tensor x = g.leaf("input.x");
    const LinearWeight w = linear_of(g, "");
    const float eps = static_cast<float>(g.number("eps"));
    const Tensor y = g.setting("norm") == "rms" ? rms_norm(x, w.weight, eps) : layer_norm(x, w.weight, w.bias, eps);
    g.expect(y, "output");
    y.backward(g.tensor("upstream"));
    g.expect_grad(x, "input.x");
    expect_linear_grad(g, w, "");
  }
}

TEST(GoldenLayers, SoftmaxAndActivations) {
  {
    Golden g("softmax");
    const Tensor x = g.leaf("input.x"), y = softmax(x);
    g.expect(y, "output");
    g.expect(log_softmax(x), "log_softmax");
    y.backward(g.tensor("upstream"));
    g.expect_grad(x, "input.x");
  }
  for (const char* name : {"relu", "gelu", "gelu_tanh", "silu"}) {
    Golden g(std::string("activation_") + name);
    const Tensor x = g.leaf("input.x"), y = activate(x, testing::activation_of(name));
    g.expect(y, "output");
    y.backward(g.tensor("upstream"));
    g.expect_grad(x, "input.x");
  }
}

TEST(GoldenLayers, FeedForward) {
  for (const char* name : {"relu", "gelu", "gelu_tanh", "silu", "geglu", "swiglu"}) {
    SCOPED_TRACE(name);
    Golden g(std::string("feed_forward_") + name);
    nn::StackConfig config;
    config.d_model = g.integer("d_model");
    config.d_ff = g.integer("d_ff");
    config.gated = g.flag("gated");
    config.bias = !config.gated || g.flag("bias");
    config.activation = testing::activation_of(g.setting("activation"));
    nn::Parameters parameters;
    const nn::FeedForward layer(nn::Scope(parameters), config);
    parameters.allocate(1);
    testing::Places places;
    if (config.gated) {
      for (const char* part : {"gate_proj", "up_proj", "down_proj"})
        append(places, testing::affine(part, part, config.bias));
    } else {
      append(places, testing::affine("linear1", "up_proj"));
      append(places, testing::affine("linear2", "down_proj"));
    }
    const NameTable table(places);
    table.load(g, parameters);
    const Tensor x = g.leaf("input.x"), y = layer.forward(x, Spans::dense(1, x.rows()), {});
    g.expect(y, "output");
    y.backward(g.tensor("upstream"));
    g.expect_grad(x, "input.x");
    table.expect_gradients(g, parameters);
  }
}

TEST(GoldenLayers, Embedding) {
  Golden g("embedding");
  const Tensor table = g.leaf("weight");
  const std::vector<int32_t> ids = g.ints("input.ids");
  const Tensor y = embedding(table, ids, {static_cast<float>(g.number("scale")), {}, {}});
  g.expect(y, "output");
  y.backward(g.tensor("upstream"));
  g.expect_grad(table, "weight");
}

// Rows that do not count are 0 in PyTorch's rows; heed's kept rows hold the plain -log p.
void expect_rows(Golden& g, const LossResult& r) {
  g.expect(std::vector<float>{r.loss.item()}, "loss");
  g.expect(r.row_nll, "row_nll");
}

TEST(GoldenLayers, VocabularyLoss) {
  Golden g("vocabulary_loss");
  const Tensor x = g.leaf("input.x");
  const LinearWeight w = linear_of(g, "");
  const std::vector<int32_t> targets = g.ints("input.targets");
  const LossResult r = vocabulary_loss(x, w, targets, {.smoothing = 0.1f, .keep_rows = true});
  expect_rows(g, r);
  r.loss.backward();
  g.expect_grad(x, "input.x");
  expect_linear_grad(g, w, "");
}

// Given logits are features under a map that changes nothing.
TEST(GoldenLayers, CrossEntropy) {
  for (const char* name : {"plain", "smoothed"}) {
    Golden g(std::string("cross_entropy_") + name);
    const Tensor logits = g.leaf("input.logits");
    const int64_t V = logits.cols();
    const Tensor identity = Tensor::zeros({V, V});
    for (int64_t i = 0; i < V; ++i) identity.data()[i * V + i] = 1;
    const std::vector<int32_t> targets = g.ints("input.targets");
    const LossResult r = vocabulary_loss(logits, {identity, {}}, targets,
                                         {.smoothing = static_cast<float>(g.number("smoothing")), .keep_rows = true});
    expect_rows(g, r);
    r.loss.backward();
    g.expect_grad(logits, "input.logits");
  }
}

TEST(GoldenPositions, Sinusoidal) {
  Golden g("positions_sinusoidal");
  for (const auto& [length, d] : std::vector<std::pair<int64_t, int64_t>>{{12, 4}, {12, 7}, {40, 16}}) {
    std::vector<float> table(static_cast<size_t>(length * d));
    nn::sinusoidal(table.data(), length, d);
    g.expect(table, "table." + std::to_string(length) + "x" + std::to_string(d));
  }
  for (const int64_t position : {1000, 30000}) {
    std::vector<float> table(static_cast<size_t>((position + 1) * 16));
    nn::sinusoidal(table.data(), position + 1, 16);
    g.expect(std::vector<float>(table.end() - 16, table.end()), "row." + std::to_string(position) + "x16");
  }
}

// The fixture's rows have positions of their own choice: each is the last of a sequence that long.
TEST(GoldenPositions, Rotary) {
  Golden g("positions_rotary");
  const int64_t heads = g.integer("heads"), D = g.integer("d_head");
  const std::vector<int32_t> positions = g.ints("input.positions");
  const Tensor x = g.leaf("input.x"), upstream = g.tensor("upstream");
  RotaryTable table{Tensor::empty({128, D / 2}), Tensor::empty({128, D / 2}), false};
  kernels::rotary_tables(table.cos.data(), table.sin.data(), 128, kernels::rotary_frequencies(D, g.number("base")));
  g.expect(select_rows(table.cos, positions), "cos");
  g.expect(select_rows(table.sin, positions), "sin");
  const std::vector<int64_t> lengths = [&] {
    std::vector<int64_t> all;
    all.reserve(positions.size());
    for (const int32_t p : positions) all.push_back(p + 1);
    return all;
  }();
  const Spans spans(lengths);
  std::vector<int32_t> last;  // row of each sequence's end
  std::vector<int32_t> source(static_cast<size_t>(spans.tokens()));
  for (int64_t s = 0; s < spans.count(); ++s) {
    last.push_back(spans.offsets()[s + 1] - 1);
    std::fill(source.begin() + spans.offsets()[s], source.begin() + spans.offsets()[s + 1], static_cast<int32_t>(s));
  }
  const Tensor y = select_rows(rotary(select_rows(x, source), heads, table, spans), last);
  g.expect(y, "output");
  table.interleaved = true;
  g.expect(select_rows(rotary(select_rows(x, source), heads, table, spans), last), "output_interleaved");
  y.backward(upstream);
  g.expect_grad(x, "input.x");
}

// Thousands of positions on, where angles that are rounded otherwise are other angles.
TEST(GoldenPositions, RotaryFarIntoAText) {
  Golden g("positions_rotary_far");
  const std::vector<int32_t> positions = g.ints("input.positions");
  nn::PositionConfig plain, linear, llama3;
  linear.rotary_scale = {nn::RotaryScaling::kLinear, 4};
  llama3.rotary_base = 500000, llama3.rotary_scale = {nn::RotaryScaling::kLlama3, 8, 1, 4, 8192};
  for (const auto& [name, config] : {std::pair("default", plain), {"linear", linear}, {"llama3", llama3}}) {
    const Tensor cos = Tensor::empty({8001, 32}), sin = Tensor::empty({8001, 32});
    kernels::rotary_tables(cos.data(), sin.data(), 8001, nn::rotary_frequencies(config, 64));
    g.expect(select_rows(cos, positions), std::string(name) + ".cos");
    g.expect(select_rows(sin, positions), std::string(name) + ".sin");
  }
}

TEST(GoldenPositions, AlibiSlopes) {
  Golden g("positions_alibi_slopes");
  for (const int64_t heads : {1, 2, 4, 6, 8, 12, 16})
    g.expect(nn::alibi_slopes(heads), "slopes." + std::to_string(heads));
}

TEST(GoldenPositions, T5Buckets) {
  const Golden g("positions_t5_buckets");
  const std::vector<int32_t> distances = g.ints("distance");
  for (const bool both : {true, false}) {
    const std::string name = both ? "bidirectional" : "causal";
    std::vector<int32_t> large, small;
    for (const int32_t d : distances) {
      large.push_back(static_cast<int32_t>(nn::t5_bucket(d, both, 32, 128)));
      small.push_back(static_cast<int32_t>(nn::t5_bucket(d, both, 8, 20)));
    }
    EXPECT_EQ(large, g.ints(name));
    EXPECT_EQ(small, g.ints(name + ".8x20"));
  }
}

}  // namespace
}  // namespace heed
