// Attention and the loss as ops: gradients through every option, masks, slices, and what looking gives.
#include <cmath>

#include "heed/tensor/testing.h"

namespace heed {
namespace {

using namespace testing;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Spans ragged(std::vector<int64_t> lengths, uint32_t first = 0) { return Spans(lengths, first); }

AttentionArgs self_args(const Spans& spans, int64_t heads, int64_t kv_heads) {
  AttentionArgs args;
  args.heads = heads;
  args.kv_heads = kv_heads;
  args.q_spans = args.k_spans = spans;
  return args;
}

Tensor attend(const Inputs& x, const AttentionArgs& args) { return attention(x[0], x[1], x[2], args); }

TEST(Attention, GradientsOfEveryOption) {
  const Spans spans = ragged({3, 1, 4});
  const Inputs in{random_leaf({8, 6}, 1), random_leaf({8, 6}, 2), random_leaf({8, 8}, 3)};
  const auto check = [&](const AttentionArgs& args) {
    expect_gradients(in, [&](const Inputs& x) { return attend(x, args); });
  };
  AttentionArgs args = self_args(spans, 2, 2);
  check(args);
  args.causal = true;
  check(args);
  args.scale = 0.9f;
  check(args);
  args.dropout = {0.4f, 11};
  check(args);
  args = self_args(spans, 2, 2);
  args.slopes = Tensor::from({0.5f, 0.25f}, {2});
  check(args);
  args.key_lengths = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{2, 0, 4});
  check(args);
}

TEST(Attention, GradientsOfGroupedHeadsAndOtherLengths) {
  AttentionArgs args = self_args(ragged({2, 3}), 4, 2);
  args.k_spans = ragged({4, 1});
  const Inputs in{random_leaf({5, 12}, 4), random_leaf({5, 6}, 5), random_leaf({5, 4}, 6)};
  expect_gradients(in, [&](const Inputs& x) { return attend(x, args); });
  args.causal = true;
  expect_gradients(in, [&](const Inputs& x) { return attend(x, args); });
}

TEST(Attention, GradientOfTheRelativeBias) {
  AttentionArgs args = self_args(ragged({4, 2}), 2, 2);
  args.relative_first = -2;  // distances -3 and 3 take the ends
  const Inputs in{random_leaf({6, 6}, 7), random_leaf({6, 6}, 8), random_leaf({6, 6}, 9), random_leaf({5, 2}, 10),
                  random_leaf({5, 7}, 11)};
  expect_gradients({in[0], in[1], in[2], in[3]}, [&](const Inputs& x) {
    args.relative = x[3];
    return attend(x, args);
  });
  expect_gradients({in[0], in[1], in[2], in[4]}, [&](const Inputs& x) {
    args.relative = columns(x[3], 3, 5);
    return attend(x, args) + attend(x, args);
  });
}

TEST(Attention, GradientsUnderMasks) {
  const Inputs in{random_leaf({6, 4}, 12), random_leaf({6, 4}, 13), random_leaf({6, 4}, 14)};
  AttentionArgs args = self_args(ragged({3, 3}), 2, 2);
  auto keep = std::make_shared<std::vector<uint8_t>>(2 * 2 * 9, uint8_t{1});
  for (size_t i = 0; i < keep->size(); ++i) (*keep)[i] = i % 3 != 1;
  for (size_t i = 0; i < 3; ++i) (*keep)[i] = 0;  // query 0 of sequence 0, head 0 sees nothing
  args.mask.keep = keep;
  args.mask.stride_sequence = 18, args.mask.stride_head = 9, args.mask.stride_row = 3;
  expect_gradients(in, [&](const Inputs& x) { return attend(x, args); });
  args.mask.keep = nullptr;
  args.mask.add = random_tensor({2, 2, 3, 3}, 15);
  args.mask.add.data()[4] = -kInfinity;
  expect_gradients(in, [&](const Inputs& x) { return attend(x, args); });
}

TEST(Attention, FullyMaskedRowsGiveZerosAndNoGradient) {
  AttentionArgs args = self_args(ragged({2, 3}), 1, 1);
  args.key_lengths = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{2, 0});
  const Inputs in{random_leaf({5, 4}, 16), random_leaf({5, 4}, 17), random_leaf({5, 4}, 18)};
  const Tensor y = attend(in, args);
  const std::vector<int32_t> masked{2, 3, 4};
  const std::vector<float> zeros(12);
  expect_values(select_rows(y, masked), zeros);
  y.backward(random_tensor({5, 4}, 19));
  for (const Tensor& x : in) expect_values(select_rows(x.grad(), masked), zeros);
}

// q, k and v as columns of one product, as the layers call it.
TEST(Attention, ColumnsOfOneTensor) {
  const AttentionArgs args = self_args(ragged({3, 2}), 2, 2);
  const Inputs in{random_leaf({5, 12}, 20)};
  expect_gradients(in, [&](const Inputs& x) {
    return attention(columns(x[0], 0, 4), columns(x[0], 4, 8), columns(x[0], 8, 12), args);
  });
  expect_gradients(in, [&](const Inputs& x) {  // also through an inner node, whose gradient they fill
    const Tensor qkv = x[0] * x[0];
    return attention(columns(qkv, 0, 4), columns(qkv, 4, 8), columns(qkv, 8, 12), args) + columns(qkv, 2, 6);
  });
}

TEST(Attention, OneTensorInSeveralRoles) {
  const AttentionArgs args = self_args(ragged({3, 2}), 2, 2);
  const Inputs in{random_leaf({5, 4}, 21), random_leaf({5, 10}, 22)};
  expect_gradients({in[0]}, [&](const Inputs& x) { return attention(x[0], x[0], x[0], args); });
  expect_gradients(in,
                   [&](const Inputs& x) { return attention(x[0], columns(x[1], 0, 4), columns(x[1], 0, 4), args); });
  expect_gradients({in[1]}, [&](const Inputs& x) {
    return attention(columns(x[0], 0, 4), columns(x[0], 3, 7), columns(x[0], 6, 10), args);
  });
}

TEST(Attention, OnlySomeInputsWantGradients) {
  const AttentionArgs args = self_args(ragged({3, 2}), 2, 2);
  for (size_t wanted = 0; wanted < 3; ++wanted) {
    const Inputs all{random_tensor({5, 4}, 23), random_tensor({5, 4}, 24), random_tensor({5, 4}, 25)};
    expect_gradients({random_leaf({5, 4}, 26)}, [&](const Inputs& x) {
      Inputs in = all;
      in[wanted] = x[0];
      return attend(in, args);
    });
  }
}

TEST(Attention, LookingAtWeights) {
  AttentionArgs args = self_args(ragged({3, 5}), 2, 1);
  args.causal = true;
  args.slopes = Tensor::from({0.5f, 0.25f}, {2});
  const Tensor q = random_tensor({8, 8}, 27), k = random_tensor({8, 4}, 28), v = random_tensor({8, 4}, 29);
  const Tensor y = attention(q, k, v, args);
  for (int64_t s = 0; s < 2; ++s) {
    for (int64_t h = 0; h < 2; ++h) {
      const int64_t n = args.q_spans.length(s), first = args.q_spans.offsets()[s];
      const WeightsAt at{.sequence = s, .head = h, .first = 1, .rows = n - 1};
      WeightsAt scores_at = at;
      scores_at.scores = true;
      const Tensor weights = attention_weights(q, k, args, at), scores = attention_weights(q, k, args, scores_at);
      expect_values(softmax(scores), weights.to_vector(), 1e-6f);
      std::vector<int32_t> keys, queries;
      for (int64_t i = 0; i < n; ++i) keys.push_back(static_cast<int32_t>(first + i));
      queries.assign(keys.begin() + 1, keys.end());
      const Tensor expected = select_rows(columns(y, h * 4, h * 4 + 4), queries);
      expect_values(matmul(weights, select_rows(v, keys)), expected.to_vector(), 1e-5f);
    }
  }
}

// Biases that are a column slice of a wider table weigh as they do in the attention itself.
TEST(Attention, LookingAtWeightsUnderASliceOfBiases) {
  AttentionArgs args = self_args(ragged({6}), 1, 1);
  args.relative = columns(random_tensor({5, 3}, 33, 3), 2, 3);
  args.relative_first = -2;
  const Tensor q = random_tensor({6, 8}, 34), k = random_tensor({6, 8}, 35), v = random_tensor({6, 8}, 36);
  const Tensor weights = attention_weights(q, k, args, {.rows = 6});
  expect_values(matmul(weights, v), attention(q, k, v, args).to_vector(), 1e-5f);
}

TEST(DenseAttention, ShapesWithAndWithoutHeads) {
  const Tensor q = random_tensor({3, 30, 128}, 30), k = random_tensor({3, 50, 128}, 31),
               v = random_tensor({3, 50, 256}, 32);
  const DenseAttention a = scaled_dot_product_attention(q, k, v);
  EXPECT_EQ(a.out.shape().str(), "(3,30,256)");
  EXPECT_EQ(a.weights.shape().str(), "(3,30,50)");
  const DenseAttention b = scaled_dot_product_attention(
      random_tensor({3, 5, 30, 128}, 33), random_tensor({3, 5, 50, 128}, 34), random_tensor({3, 5, 50, 256}, 35));
  EXPECT_EQ(b.out.shape().str(), "(3,5,30,256)");
  EXPECT_EQ(b.weights.shape().str(), "(3,5,30,50)");
}

TEST(DenseAttention, WorkedExample) {
  const Tensor q = Tensor::from({1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0}, {3, 4}),
               k = Tensor::from({1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0}, {3, 4});
  const Tensor v = Tensor::from({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {3, 4});
  expect_values(matmul(q, transpose(k, 0, 1)), {1, 1, 2, 1, 1, 0, 2, 0, 1});
  const DenseAttention a = scaled_dot_product_attention(q, k, v);
  const std::vector<int32_t> first{0}, third{2};
  expect_values(select_rows(a.weights, first), {0.274069f, 0.274069f, 0.451863f}, 1e-6f);
  expect_values(select_rows(a.out, first), {5.711177f, 6.711177f, 7.711177f, 8.711177f}, 2e-6f);
  expect_values(select_rows(a.out, third), {4.202862f, 5.202862f, 6.202862f, 7.202862f}, 2e-6f);
}

TEST(DenseAttention, GradientsWithBroadcastAndMasks) {
  const Inputs in{random_leaf({2, 1, 3, 4}, 36), random_leaf({3, 5, 4}, 37), random_leaf({5, 2}, 38)};
  Tensor keep = Tensor::full({3, 5}, 1);
  for (int i = 0; i < 5; ++i) keep.data()[5 + i] = 0;  // query 1 sees nothing
  keep.data()[0] = 0;
  for (const DenseMask& mask : {DenseMask{}, DenseMask{true, {}, {}}, DenseMask{false, keep, {}},
                                DenseMask{false, {}, random_tensor({3, 1, 5}, 39)}}) {
    expect_gradients(in, [&](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2], mask).out; });
  }
  const DenseAttention a = scaled_dot_product_attention(in[0], in[1], in[2], {false, keep, {}});
  expect_values(select_rows(reshape(a.out, {18, 2}), std::vector<int32_t>{1, 4}), {0, 0, 0, 0});
  expect_values(select_rows(reshape(a.weights, {18, 5}), std::vector<int32_t>{1}), {0, 0, 0, 0, 0});
}

TEST(VocabularyLoss, Gradients) {
  const std::vector<int32_t> targets{2, -1, 0, 6, -100};
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const WeightLayout layout : {WeightLayout::kOutIn, WeightLayout::kInOut}) {
      const Shape shape = layout == WeightLayout::kOutIn ? Shape{7, 4} : Shape{4, 7};
      const Inputs in{random_leaf({5, 4}, 40), random_leaf(shape, 41), random_leaf({7}, 42)};
      expect_gradients(in, [&](const Inputs& x) {
        return vocabulary_loss(x[0], {x[1], x[2], layout}, targets, {smoothing}).loss;
      });
      expect_gradients({in[0], in[1]}, [&](const Inputs& x) {
        return vocabulary_loss(x[0], {x[1], {}, layout}, targets, {smoothing, 0.3f}).loss;
      });
      expect_gradients({in[2]}, [&](const Inputs& x) {
        return vocabulary_loss(in[0].detach(), {in[1].detach(), x[0], layout}, targets, {smoothing}).loss;
      });
    }
  }
}

TEST(VocabularyLoss, GradientsOfAgreement) {
  const std::vector<int32_t> targets{2, -1, 6, 2, -1, 6};
  const Inputs in{random_leaf({6, 4}, 40), random_leaf({7, 4}, 41), random_leaf({7}, 42)};
  expect_gradients(in, [&](const Inputs& x) {
    return vocabulary_loss(x[0], {x[1], x[2]}, targets, {.smoothing = 0.1f, .agreement = 3}).loss;
  });
}

// Two dropouts that agree pay nothing, and what they pay otherwise is the same for both.
TEST(VocabularyLoss, AgreementOfEqualsIsFree) {
  const std::vector<int32_t> once{2, 0}, twice{2, 0, 2, 0};
  const Tensor x = random_tensor({2, 4}, 40), w = random_tensor({7, 4}, 41);
  std::vector<float> rows = x.to_vector();
  rows.insert(rows.end(), rows.begin(), rows.end());
  const Tensor both = Tensor::from(std::vector<float>(rows), {4, 4});
  const float alone = vocabulary_loss(x, {w, {}}, once).loss.item();
  EXPECT_NEAR(vocabulary_loss(both, {w, {}}, twice, {.agreement = 5}).loss.item(), alone, 1e-6);
  rows[8] += 1;
  const Tensor apart = Tensor::from(std::move(rows), {4, 4});
  EXPECT_GT(vocabulary_loss(apart, {w, {}}, twice, {.agreement = 5}).loss.item(),
            vocabulary_loss(apart, {w, {}}, twice).loss.item() + 1e-3);
}

TEST(VocabularyLoss, TiedToTheEmbedding) {
  const std::vector<int32_t> ids{1, 4, 4, 0}, targets{4, 0, 2, -1};
  expect_gradients({random_leaf({5, 6}, 43)}, [&](const Inputs& x) {
    return vocabulary_loss(embedding(x[0], ids, {2.0f, {}, {}}), {x[0], {}}, targets, {0.1f}).loss;
  });
}

// Cross-entropy of a prediction of 0.7 is 0.356675; perplexity is the exponential of the mean.
TEST(VocabularyLoss, KnownNumbers) {
  const Tensor x = Tensor::full({2, 1}, 1), w = Tensor::from({std::log(0.7f), std::log(0.2f), std::log(0.1f)}, {3, 1});
  const LossResult r = vocabulary_loss(x, {w, {}}, std::vector<int32_t>{0, -1}, {.keep_rows = true});
  EXPECT_NEAR(r.loss.item(), 0.356675, 1e-6);
  EXPECT_NEAR(std::exp(r.nll / static_cast<double>(r.rows)), 1 / 0.7, 1e-5);
  EXPECT_EQ(r.rows, 1);
  EXPECT_NEAR(r.row_nll[0], 0.356675, 1e-6);
  const LossResult none = vocabulary_loss(x, {w, {}}, std::vector<int32_t>{-1, -1});
  EXPECT_EQ(none.loss.item(), 0);
}

TEST(VocabularyLoss, EqualsLogSoftmaxOfTheLogits) {
  const Tensor x = random_tensor({6, 5}, 44), w = random_tensor({9, 5}, 45), b = random_tensor({9}, 46);
  const std::vector<int32_t> targets{0, 8, 3, 3, 1, 7};
  const Tensor log_p = log_softmax(linear(x, {w, b}));
  double expected = 0;
  for (int64_t t = 0; t < 6; ++t) expected -= log_p.data()[t * 9 + targets[static_cast<size_t>(t)]];
  EXPECT_NEAR(vocabulary_loss(x, {w, b}, targets, {.scale = 1}).loss.item(), expected, 1e-5);
}

}  // namespace
}  // namespace heed
