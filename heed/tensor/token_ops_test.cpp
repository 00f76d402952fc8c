// Ops that know the tokens of a ragged batch.
#include "heed/kernels/rotary.h"
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using namespace testing;

Spans ragged(std::vector<int64_t> lengths, uint32_t first = 0) { return Spans(lengths, first); }

TEST(Spans, OffsetsPositionsAndNumbers) {
  const Spans s = ragged({2, 0, 3}, 10);
  EXPECT_EQ(s.count(), 3);
  EXPECT_EQ(s.tokens(), 5);
  EXPECT_EQ(s.longest(), 3);
  EXPECT_EQ(std::vector<int32_t>(s.offsets(), s.offsets() + 4), (std::vector<int32_t>{0, 2, 2, 5}));
  EXPECT_EQ(std::vector<uint32_t>(s.positions().begin(), s.positions().end()), (std::vector<uint32_t>{0, 1, 0, 1, 2}));
  EXPECT_EQ(std::vector<uint32_t>(s.row_ids().sequence, s.row_ids().sequence + 5),
            (std::vector<uint32_t>{10, 10, 12, 12, 12}));
  EXPECT_EQ(Spans().count() + Spans().tokens() + Spans().longest(), 0);
  EXPECT_EQ(testing::message_of([] { ragged({1, -1}); }), "[spans] length -1 of sequence 1");
}

TEST(Embedding, RowsScaledPlusPositions) {
  const std::vector<int32_t> ids{2, 0, 2, 1};
  const std::vector<uint32_t> at{0, 1, 0, 2};
  const Inputs in{random_leaf({3, 4}, 1), random_leaf({5, 4}, 2)};
  expect_gradients({in[0]}, [&](const Inputs& x) { return embedding(x[0], ids); });
  expect_gradients(in, [&](const Inputs& x) { return embedding(x[0], ids, {2.5f, x[1], at}); });
  expect_gradients({in[0]}, [&](const Inputs& x) {  // tied: the table is also a map
    const Tensor y = embedding(x[0], ids, {2.0f, random_tensor({5, 4}, 3), at});
    return linear(y, {x[0], Tensor()});
  });
  expect_values(embedding(Tensor::from({1, 2, 3, 4}, {2, 2}), std::vector<int32_t>{1, 0},
                          {10, Tensor::from({5, 6}, {1, 2}), std::vector<uint32_t>{0, 0}}),
                {35, 46, 15, 26});
}

// Columns of a wider table, whose rows lie apart.
TEST(Embedding, ColumnSlices) {
  const std::vector<int32_t> ids{2, 0, 2, 1};
  const std::vector<uint32_t> at{0, 1, 0, 2};
  const Inputs in{random_leaf({3, 7}, 1), random_leaf({5, 6}, 2)};
  expect_gradients(in, [&](const Inputs& x) {
    return embedding(columns(x[0], 2, 6), ids, {2.5f, columns(x[1], 1, 5), at}) * embedding(columns(x[0], 0, 4), ids);
  });
  expect_values(embedding(columns(Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}), 1, 3), std::vector<int32_t>{1, 0},
                          {10, columns(Tensor::from({7, 8, 9, 0, 1, 2}, {2, 3}), 0, 2), std::vector<uint32_t>{1, 0}}),
                {50, 61, 27, 38});
}

// The caller's ids and positions may change or go before the backward.
TEST(Embedding, KeepsWhatItsBackwardReads) {
  const Tensor table = random_leaf({3, 4}, 1), places = random_leaf({5, 4}, 2), dy = random_tensor({4, 4}, 3);
  const auto gradients = [&](bool changed) {
    std::vector<int32_t> ids{2, 0, 2, 1};
    std::vector<uint32_t> at{0, 1, 0, 2};
    const Tensor y = embedding(table, ids, {2.5f, places, at});
    if (changed) {
      std::fill(ids.begin(), ids.end(), 1 << 20);
      std::fill(at.begin(), at.end(), 1u << 20);
    }
    y.backward(dy);
    std::vector<float> all = table.grad().to_vector();
    for (const float g : places.grad().to_vector()) all.push_back(g);
    for (Tensor x : {table, places}) x.clear_grad();
    return all;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

TEST(Dropout, GradientsFollowTheMask) {
  const Spans spans = ragged({2, 4});
  const Inputs in{random_leaf({6, 5}, 4), random_leaf({6, 5}, 5)};
  const Dropout how{0.4f, 77};
  expect_gradients({in[0]}, [&](const Inputs& x) { return dropout(x[0], spans, how); });
  expect_gradients(in, [&](const Inputs& x) { return residual(x[0], x[1], spans, how); });
  expect_gradients(in, [&](const Inputs& x) { return residual(x[0], x[1], spans, {}); });
  expect_gradients({in[0]}, [&](const Inputs& x) { return residual(x[0], x[0], spans, how) + x[0]; });
  expect_same_bits(dropout(in[0], spans, {}), in[0]);
}

TEST(Dropout, ResidualIsTheSumOfItsParts) {
  const Spans spans = ragged({2, 4}, 3);
  const Tensor x = random_tensor({6, 100}, 6), f = random_tensor({6, 100}, 7);
  const Dropout how{0.25f, 123};
  expect_same_bits(residual(x, f, spans, how), x + dropout(f, spans, how));
}

TEST(Dropout, ASequenceKeepsItsMaskInAnyBatch) {
  const Tensor ones = Tensor::full({7, 40}, 1);
  const Dropout how{0.5f, 5};
  const Tensor together = dropout(ones, ragged({3, 4}, 8), how);                // sequences 8 and 9
  const Tensor alone = dropout(Tensor::full({4, 40}, 1), ragged({4}, 9), how);  // sequence 9
  const std::vector<int32_t> rows{3, 4, 5, 6};
  expect_same_bits(select_rows(together, rows), alone);
  const Tensor other = dropout(Tensor::full({4, 40}, 1), ragged({4}, 10), how);
  EXPECT_NE(other.to_vector(), alone.to_vector());
  EXPECT_NE(dropout(ones, ragged({3, 4}, 8), {0.5f, 6}).to_vector(), together.to_vector());
}

TEST(Dropout, KeepsTheMean) {
  const Tensor y = dropout(Tensor::full({100, 100}, 1), Spans::dense(10, 10), {0.3f, 9});
  EXPECT_NEAR(mean(y).item(), 1, 0.03);
}

RotaryTable rotary_table(int64_t P, int64_t turned, bool interleaved) {
  RotaryTable t{Tensor::empty({P, turned / 2}), Tensor::empty({P, turned / 2}), interleaved};
  kernels::rotary_tables(t.cos.data(), t.sin.data(), P, kernels::rotary_frequencies(turned, 10000));
  return t;
}

TEST(Rotary, Gradients) {
  const Spans spans = ragged({1, 4});
  for (const bool interleaved : {false, true}) {
    const Inputs in{random_leaf({5, 12}, 8)};
    expect_gradients(in, [&](const Inputs& x) { return rotary(x[0], 2, rotary_table(4, 6, interleaved), spans); });
    // Part of each head, on a column slice that is read a second time.
    expect_gradients(in, [&](const Inputs& x) {
      return rotary(columns(x[0], 4, 12), 2, rotary_table(9, 2, interleaved), spans) * columns(x[0], 0, 8);
    });
  }
}

TEST(Rotary, KeepsLengthsAndRelativeAngles) {
  const Tensor x = random_tensor({2, 8}, 9);
  const Tensor y = rotary(x, 1, rotary_table(64, 8, false), ragged({2}));
  for (int row = 0; row < 2; ++row) {
    double before = 0, after = 0;
    for (int c = 0; c < 8; ++c) {
      before += static_cast<double>(x.data()[row * 8 + c]) * x.data()[row * 8 + c];
      after += static_cast<double>(y.data()[row * 8 + c]) * y.data()[row * 8 + c];
    }
    EXPECT_NEAR(before, after, 1e-5);
  }
}

TEST(ClassRow, Gradients) {
  const Spans spans = Spans::dense(2, 4);
  const Inputs in{random_leaf({6, 5}, 10), random_leaf({5}, 11), random_leaf({7, 5}, 12)};
  expect_gradients(in, [&](const Inputs& x) { return with_class_row(x[0], x[1], x[2], spans); });
  expect_gradients({in[0], in[1]}, [&](const Inputs& x) { return with_class_row(x[0], x[1], Tensor(), spans); });
  expect_gradients({in[0]}, [&](const Inputs& x) {
    return with_class_row(x[0], in[1].detach(), in[2].detach(), spans) *
           with_class_row(x[0], in[1].detach(), in[2].detach(), spans);
  });
  const Tensor y = with_class_row(Tensor::from({1, 2}, {2, 1}), Tensor::from({9}, {1}), Tensor::from({10, 20}, {2, 1}),
                                  Spans::dense(2, 2));
  expect_values(y, {19, 21, 19, 22});
}

TEST(ClassRow, ColumnSlices) {
  const Spans spans = Spans::dense(2, 4);
  const Inputs in{random_leaf({6, 8}, 10), random_leaf({7}, 11), random_leaf({7, 9}, 12)};
  expect_gradients(in, [&](const Inputs& x) {
    return with_class_row(columns(x[0], 1, 6), columns(x[1], 2, 7), columns(x[2], 3, 8), spans);
  });
  const Tensor positions = columns(Tensor::from({10, 0, 20, 0}, {2, 2}), 0, 1);
  expect_values(with_class_row(Tensor::from({1, 2}, {2, 1}), Tensor::from({9}, {1}), positions, Spans::dense(2, 2)),
                {19, 21, 19, 22});
}

TEST(Heads, GainsScaleTheirColumns) {
  const std::vector<float> gains{2, 0, -1};
  const Inputs in{random_leaf({4, 6}, 13)};
  expect_gradients(in, [&](const Inputs& x) { return scale_heads(x[0], gains); });
  expect_values(scale_heads(Tensor::from({1, 2, 3, 4, 5, 6}, {1, 6}), gains), {2, 4, 0, 0, -5, -6});
}

}  // namespace
}  // namespace heed
