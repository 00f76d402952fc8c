// Wrong shapes get one line: the op, what was found, what was expected.
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using testing::message_of;

Tensor zeros(std::initializer_list<int64_t> shape) { return Tensor::zeros(Shape(shape)); }
const std::vector<int32_t> kIds{0, 5};

#define EXPECT_MESSAGE(expression, expected) EXPECT_EQ(message_of([&] { (void)(expression); }), expected)

TEST(Messages, TensorsAndShapes) {
  EXPECT_MESSAGE(Tensor::from({1, 2, 3}, {2, 2}), "[tensor] 3 values for shape (2,2): expected 4");
  EXPECT_MESSAGE(Tensor().shape(), "[tensor] used before it was given a value");
  EXPECT_MESSAGE(Tensor().data(), "[tensor] used before it was given a value");
  EXPECT_MESSAGE(Tensor().requires_grad(), "[tensor] used before it was given a value");
  EXPECT_MESSAGE(zeros({4, 2}).size(-3), "[shape] dimension -3 of (4,2): expected -2 to 1");
  EXPECT_MESSAGE(zeros({4, 2}).size(5), "[shape] dimension 5 of (4,2): expected -2 to 1");
  EXPECT_MESSAGE(Tensor::empty({int64_t{1} << 62}), "[memory] cannot allocate 4611686018427387904 times 4 bytes");
  EXPECT_MESSAGE(zeros({2, 2}).item(), "[item] shape (2,2): expected one element");
  EXPECT_MESSAGE(Shape({2, -1}), "[shape] negative size -1");
  EXPECT_MESSAGE(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), "[shape] more than 8 dimensions");
  EXPECT_MESSAGE(Shape({int64_t{1} << 40, int64_t{1} << 40}).numel(),
                 "[shape] (1099511627776,1099511627776) has more elements than can be counted");
  Tensor x = zeros({2, 2}).set_requires_grad();
  EXPECT_MESSAGE((x * x).backward(), "[backward] shape (2,2): expected a scalar");
  EXPECT_MESSAGE((x * x).backward(zeros({4})), "[backward] gradient (4) for shape (2,2)");
  EXPECT_MESSAGE(columns(x, 0, 1).grad(), "[grad] of a column slice: ask the whole");
  EXPECT_MESSAGE(columns(x, 1, 3), "[columns] [1, 3) of shape (2,2)");
}

TEST(Messages, Elementwise) {
  constexpr const char* kRest = "] shapes (2,3) and (2,4) do not broadcast: expected equal sizes or 1, found 3 and 4";
  EXPECT_MESSAGE(add(zeros({2, 3}), zeros({2, 4})), std::string("[add") + kRest);
  EXPECT_MESSAGE(subtract(zeros({2, 3}), zeros({2, 4})), std::string("[subtract") + kRest);
  EXPECT_MESSAGE(multiply(zeros({2, 3}), zeros({2, 4})), std::string("[multiply") + kRest);
  EXPECT_MESSAGE(mean(zeros({0, 3})), "[mean] of no elements: shape (0,3)");
  EXPECT_MESSAGE(gate(zeros({2, 3}), zeros({2, 4}), Activation::kSilu), "[gate] up has shape (2,4): expected (2,3)");
}

TEST(Messages, Shaping) {
  EXPECT_MESSAGE(reshape(zeros({2, 3}), {4, 2}), "[reshape] (2,3) to (4,2): 8 elements, expected 6");
  EXPECT_MESSAGE(transpose(zeros({2, 3}), 0, 2), "[transpose] dimensions 0 and 2 of shape (2,3)");
  EXPECT_MESSAGE(select_rows(zeros({3, 2}), kIds), "[select_rows] row 5 of shape (3,2)");
}

TEST(Messages, Products) {
  const LinearWeight w{zeros({5, 4}), {}}, flat{zeros({5}), {}}, biased{zeros({5, 4}), zeros({4})};
  EXPECT_MESSAGE(matmul(zeros({2, 3}), zeros({4, 5})), "[matmul] inner sizes differ: (2,3) x (4,5)");
  EXPECT_MESSAGE(matmul(zeros({3}), zeros({3, 5})), "[matmul] (3) x (3,5): expected at least two dimensions each");
  EXPECT_MESSAGE(linear(zeros({2, 3}), w), "[linear] input has shape (2,3): expected 4 in the last dimension");
  EXPECT_MESSAGE(linear(zeros({2, 4}), biased), "[linear] bias has shape (4): expected (5)");
  EXPECT_MESSAGE(linear(zeros({2, 4}), flat), "[linear] weight has shape (5): expected 2 dimensions");
  EXPECT_MESSAGE(linear_side_by_side(zeros({2, 3}), std::vector<LinearWeight>{w}),
                 "[linear_side_by_side] input has shape (2,3): expected 4 in the last dimension");
  EXPECT_MESSAGE(linear_side_by_side(zeros({2, 4}), std::vector<LinearWeight>(5, w)),
                 "[linear_side_by_side] 5 maps: expected 1 to 4");
  EXPECT_MESSAGE(feed_forward(zeros({2, 4}), {w, w, Activation::kRelu, {}}, {}),
                 "[feed_forward] down takes 4 features: expected 5, what up gives");
  const LinearWeight down{zeros({4, 5}), zeros({5})};
  EXPECT_MESSAGE(feed_forward(zeros({2, 4}), {w, down, Activation::kRelu, {}}, {}),
                 "[feed_forward] bias of down has shape (5): expected (4)");
  EXPECT_MESSAGE(
      feed_forward(zeros({2, 4}), {w, {zeros({4, 5}), {}}, Activation::kRelu, {0.5f, 1}}, Spans::dense(1, 3)),
      "[feed_forward] input has shape (2,4): expected 3 rows");
}

TEST(Messages, NormsAndEmbedding) {
  EXPECT_MESSAGE(layer_norm(zeros({2, 3}), zeros({4}), {}, 1), "[layer_norm] gain has shape (4): expected (3)");
  EXPECT_MESSAGE(layer_norm(zeros({2, 3}), zeros({3}), zeros({2}), 1), "[layer_norm] bias has shape (2): expected (3)");
  EXPECT_MESSAGE(rms_norm(zeros({2, 3}), zeros({4}), 1), "[rms_norm] gain has shape (4): expected (3)");
  EXPECT_MESSAGE(embedding(zeros({3}), kIds), "[embedding] table has shape (3): expected 2 dimensions");
  EXPECT_MESSAGE(embedding(zeros({3, 2}), kIds), "[embedding] id 5: expected 0 to 2");
  const std::vector<uint32_t> at{0, 9};
  EXPECT_MESSAGE(embedding(zeros({6, 2}), kIds, {1, zeros({9, 3}), at}),
                 "[embedding] positions has shape (9,3): expected 2 in the last dimension");
  EXPECT_MESSAGE(embedding(zeros({6, 2}), kIds, {1, zeros({9, 2}), at}),
                 "[embedding] position 9: the table of positions has 9 rows");
  EXPECT_MESSAGE(embedding(zeros({6, 2}), kIds, {1, zeros({9, 2}), {}}),
                 "[embedding] 2 ids with the positions of 0: expected as many");
}

TEST(Messages, Tokens) {
  const Spans two = Spans::dense(1, 2);
  EXPECT_MESSAGE(Spans::dense(-1, 3), "[spans] -1 sequences");
  EXPECT_MESSAGE(Spans::dense(int64_t{1} << 60, 1), "[spans] 1152921504606846976 sequences");
  EXPECT_MESSAGE(dropout(zeros({3, 2}), two, {0.5f, 1}), "[dropout] input has shape (3,2): expected 2 rows");
  EXPECT_MESSAGE(dropout(zeros({2, 2}), two, {1.0f, 1}), "[dropout] probability 1: expected 0 <= p < 1");
  EXPECT_MESSAGE(residual(zeros({2, 2}), zeros({2, 3}), two, {}), "[residual] branch has shape (2,3): expected (2,2)");
  const RotaryTable table{zeros({1, 2}), zeros({1, 2}), false};
  EXPECT_MESSAGE(rotary(zeros({2, 8}), 3, table, two), "[rotary] 8 features by 3 heads: not divisible");
  EXPECT_MESSAGE(rotary(zeros({2, 8}), 4, table, two), "[rotary] the table turns 4 features: a head has 2");
  EXPECT_MESSAGE(rotary(zeros({2, 8}), 2, table, two), "[rotary] a sequence of 2: the table has 1 positions");
  EXPECT_MESSAGE(rotary(zeros({3, 8}), 2, table, two), "[rotary] input has shape (3,8): expected 2 rows");
  EXPECT_MESSAGE(rotary(zeros({2, 8}), 2, {zeros({2, 2}), zeros({2, 1}), false}, two),
                 "[rotary] table of sines has shape (2,1): expected (2,2)");
  EXPECT_MESSAGE(scale_heads(zeros({2, 4}), std::vector<float>(3)),
                 "[scale_heads] 3 gains for 4 features: expected a divisor");
  const std::vector<int64_t> uneven{2, 3};
  EXPECT_MESSAGE(with_class_row(zeros({2, 2}), zeros({2}), {}, two),
                 "[with_class_row] patches has shape (2,2): expected 1 rows");
  EXPECT_MESSAGE(with_class_row(zeros({1, 2}), zeros({3}), {}, two),
                 "[with_class_row] class row has shape (3): expected (2)");
  EXPECT_MESSAGE(with_class_row(zeros({1, 2}), zeros({2}), zeros({1, 2}), two),
                 "[with_class_row] 2 rows an image: the table of positions has 1");
  EXPECT_MESSAGE(with_class_row(zeros({3, 2}), zeros({2}), {}, Spans(uneven)),
                 "[with_class_row] images of different sizes: the longest has 3 rows, 2 images have 5");
}

TEST(Messages, Attention) {
  AttentionArgs args;
  args.heads = 3, args.kv_heads = 2;
  args.q_spans = args.k_spans = Spans::dense(1, 2);
  const Tensor x = zeros({2, 6});
  EXPECT_MESSAGE(attention(x, x, x, args), "[attention] 3 heads over 2 key heads: expected a multiple");
  args.heads = args.kv_heads = 4;
  EXPECT_MESSAGE(attention(x, x, x, args), "[attention] 6 features by 4 heads: not divisible");
  args.heads = args.kv_heads = 2;
  EXPECT_MESSAGE(attention(x, zeros({2, 4}), x, args),
                 "[attention] keys has shape (2,4): expected 6 in the last dimension");
  EXPECT_MESSAGE(attention(zeros({3, 6}), x, x, args), "[attention] queries has shape (3,6): expected 2 rows");
  EXPECT_MESSAGE(attention(x, zeros({3, 6}), x, args), "[attention] keys has shape (3,6): expected 2 rows");
  EXPECT_MESSAGE(attention(x, x, zeros({3, 6}), args), "[attention] 2 keys, 3 values: expected as many");
  EXPECT_MESSAGE(attention(x, x, zeros({2, 3}), args), "[attention] 3 features by 2 heads: not divisible");
  args.slopes = zeros({3});
  EXPECT_MESSAGE(attention(x, x, x, args), "[attention] slopes has shape (3): expected (2)");
  args.slopes = {};
  args.relative = zeros({5, 3});
  EXPECT_MESSAGE(attention(x, x, x, args),
                 "[attention] relative bias has shape (5,3): expected 2 in the last dimension");
  args.relative = {};
  args.key_lengths = std::make_shared<const std::vector<int32_t>>(3);
  EXPECT_MESSAGE(attention(x, x, x, args), "[attention] 3 lengths of keys for 1 sequences");
  args.key_lengths = {};
  EXPECT_MESSAGE(attention_weights(x, x, args, {.head = 2, .rows = 2}),
                 "[attention_weights] rows 0 to 2 of sequence 0, head 2: out of range");
  args.mask.add = zeros({2, 2});
  args.mask.stride_row = -2;
  EXPECT_MESSAGE(attention(x, x, x, args), "[attention] a mask with strides 0, 0 and -2: expected none below 0");
  args.mask.stride_row = 2;
  args.mask.add = columns(zeros({2, 3}), 0, 2);
  EXPECT_MESSAGE(attention(x, x, x, args),
                 "[attention] a mask of shape (2,2) whose rows lie apart: expected one after the other");
  args.mask.add = {};
  args.k_spans = Spans::dense(2, 1);
  EXPECT_MESSAGE(attention(x, x, x, args), "[attention] 1 sequences of queries, 2 of keys");
}

TEST(Messages, DenseAttention) {
  const auto sdpa = scaled_dot_product_attention;
  EXPECT_MESSAGE(sdpa(zeros({3}), zeros({3}), zeros({3}), {}),
                 "[attention] shape (3): expected (..., length, features)");
  EXPECT_MESSAGE(sdpa(zeros({2, 3}), zeros({2, 4}), zeros({2, 4}), {}),
                 "[attention] queries (2,3) and keys (2,4): expected the same number of features");
  EXPECT_MESSAGE(sdpa(zeros({2, 3}), zeros({2, 3}), zeros({3, 3}), {}),
                 "[attention] keys (2,3) and values (3,3): expected the same length");
  EXPECT_MESSAGE(sdpa(zeros({2, 3}), zeros({2, 3}), zeros({2, 3}), {false, zeros({5, 2, 2}), {}}),
                 "[attention] mask (5,2,2): expected (2,2)");
}

TEST(Messages, Loss) {
  const LinearWeight w{zeros({5, 4}), {}};
  const Tensor x = zeros({2, 4});
  EXPECT_MESSAGE(vocabulary_loss(zeros({2, 3}), w, kIds),
                 "[vocabulary_loss] input has shape (2,3): expected 4 in the last dimension");
  EXPECT_MESSAGE(vocabulary_loss(zeros({3, 4}), w, kIds), "[vocabulary_loss] input has shape (3,4): expected 2 rows");
  EXPECT_MESSAGE(vocabulary_loss(x, w, kIds), "[vocabulary_loss] target 5: the vocabulary has 5");
  EXPECT_MESSAGE(vocabulary_loss(x, {zeros({5}), {}}, kIds),
                 "[vocabulary_loss] weight has shape (5): expected 2 dimensions");
  EXPECT_MESSAGE(vocabulary_loss(x, {zeros({5, 4}), zeros({4})}, kIds),
                 "[vocabulary_loss] bias has shape (4): expected (5)");
  EXPECT_MESSAGE(vocabulary_loss(x, w, std::vector<int32_t>{0, 1}, {1.5f}),
                 "[vocabulary_loss] smoothing 1.5: expected 0 <= s < 1");
  EXPECT_MESSAGE(vocabulary_loss(x, w, std::vector<int32_t>{0, 1}, {.agreement = -1}),
                 "[vocabulary_loss] agreement -1: expected 0 or more");
  EXPECT_MESSAGE(vocabulary_loss(x, w, std::vector<int32_t>{0, 1}, {.agreement = NAN}),
                 "[vocabulary_loss] agreement nan: expected 0 or more");
  EXPECT_MESSAGE(vocabulary_loss(zeros({1, 4}), w, std::vector<int32_t>{0}, {.agreement = 1}),
                 "[vocabulary_loss] agreement of 1 targets: expected the second half to be the first again");
  EXPECT_MESSAGE(vocabulary_loss(x, w, std::vector<int32_t>{0, 1}, {.agreement = 1}),
                 "[vocabulary_loss] agreement of 2 targets: expected the second half to be the first again");
}

}  // namespace
}  // namespace heed
