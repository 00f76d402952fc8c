// What a sub-layer computes may be replaced; what is around it stays.
#include "heed/nn/stack.h"
#include "heed/tensor/testing.h"

namespace heed::nn {
namespace {

using heed::testing::expect_gradients;
using heed::testing::expect_same_bits;
using heed::testing::Inputs;
using heed::testing::random_leaf;
using heed::testing::random_tensor;

StackConfig small(NormPlace place) {
  StackConfig config;
  config.layers = 2;
  config.d_model = 6;
  config.heads = 2;
  config.d_ff = 8;
  config.norm_place = place;
  config.final_norm = false;
  config.activation = kernels::Activation::kGelu;
  return config;
}

// A linear map of h, as whoever tries an idea would write it.
SubLayerFunction map_by(const Tensor& w) {
  return [w](const Tensor& h, const StackInput&, const Context&) { return linear(h, {w, Tensor()}); };
}

TEST(Blocks, SelfAttentionReplacedByAMap) {
  for (const NormPlace place : {NormPlace::kPre, NormPlace::kPost}) {
    Parameters parameters;
    EncoderStack stack(Scope(parameters, "s"), small(place), true);
    parameters.allocate(1);
    const StackInput in{.x = random_leaf({5, 6}, 2), .spans = Spans(std::vector<int64_t>{2, 3})};
    const Tensor own = stack.forward(in, {}).detach();
    const Tensor w = random_leaf({6, 6}, 3, 0.5f);
    for (EncoderBlock& block : stack.blocks) block.instead_of_self_attn = map_by(w);

    Tensor x = in.x;
    for (const EncoderBlock& block : stack.blocks) {
      const SubLayer &first = block.self_attn_layer, &second = block.feed_forward_layer;
      const auto map = [&](const Tensor& h) { return linear(h, {w, Tensor()}); };
      const auto feed = [&](const Tensor& h) { return block.feed_forward.forward(h, in.spans, {}); };
      x = place == NormPlace::kPre ? x + map(first.norm(x)) : first.norm(x + map(x));
      x = place == NormPlace::kPre ? x + feed(second.norm(x)) : second.norm(x + feed(x));
    }
    const Tensor y = stack.forward(in, {});
    expect_same_bits(y.detach(), x.detach());
    EXPECT_NE(y.to_vector(), own.to_vector());
    for (const bool recompute : {false, true}) {
      const Context context{.recompute = recompute};
      expect_gradients({in.x, w}, [&](const Inputs& of) {
        for (EncoderBlock& block : stack.blocks) block.instead_of_self_attn = map_by(of[1]);
        return stack.forward({.x = of[0], .spans = in.spans}, context);
      });
    }
  }
}

TEST(Blocks, WithoutResidualASubLayerIsAllThereIs) {
  for (const NormPlace place : {NormPlace::kPre, NormPlace::kPost}) {
    StackConfig config = small(place);
    config.with_residual = false;
    Parameters parameters;
    EncoderStack stack(Scope(parameters, "s"), config, true);
    parameters.allocate(1);
    const StackInput in{.x = random_tensor({5, 6}, 2), .spans = Spans(std::vector<int64_t>{2, 3})};
    const Tensor w = random_tensor({6, 6}, 3, 0.5f);
    Tensor x = in.x;
    for (EncoderBlock& block : stack.blocks) {
      block.instead_of_self_attn = map_by(w);
      const SubLayer &first = block.self_attn_layer, &second = block.feed_forward_layer;
      const auto map = [&](const Tensor& h) { return linear(h, {w, Tensor()}); };
      const auto feed = [&](const Tensor& h) { return block.feed_forward.forward(h, in.spans, {}); };
      x = place == NormPlace::kPre ? map(first.norm(x)) : first.norm(map(x));
      x = place == NormPlace::kPre ? feed(second.norm(x)) : second.norm(feed(x));
    }
    expect_same_bits(stack.forward(in, {}).detach(), x.detach());
  }
}

TEST(Blocks, CrossAttentionAndFeedForwardReplaced) {
  Parameters parameters;
  DecoderStack stack(Scope(parameters, "s"), small(NormPlace::kPre), false);
  parameters.allocate(1);
  const Spans spans(std::vector<int64_t>{2, 3});
  const StackInput in{.x = random_tensor({5, 6}, 2),
                      .spans = spans,
                      .causal = true,
                      .memory = random_tensor({5, 6}, 3),
                      .memory_spans = spans};
  for (DecoderBlock& block : stack.blocks) {
    block.instead_of_self_attn =
        block.instead_of_feed_forward = [](const Tensor& h, const StackInput&, const Context&) { return 0.0f * h; };
    block.instead_of_cross_attn = [](const Tensor&, const StackInput& of, const Context&) { return of.memory; };
  }
  expect_same_bits(stack.forward(in, {}).detach(), (in.x + in.memory + in.memory).detach());
}

}  // namespace
}  // namespace heed::nn
