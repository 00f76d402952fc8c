// Linear maps in both layouts, several of one input, and the feed-forward as one op.
#include <cmath>
#include <utility>

#include "heed/kernels/gemm.h"
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using namespace testing;

constexpr auto kOutIn = WeightLayout::kOutIn;
constexpr auto kInOut = WeightLayout::kInOut;

TEST(Linear, BothLayoutsAndRanks) {
  for (const WeightLayout layout : {kOutIn, kInOut}) {
    const Shape shape = layout == kOutIn ? Shape{5, 4} : Shape{4, 5};
    const Inputs in{random_leaf({2, 3, 4}, 1), random_leaf(shape, 2), random_leaf({5}, 3)};
    expect_gradients(in, [&](const Inputs& x) { return linear(x[0], {x[1], x[2], layout}); });
    expect_gradients({in[0], in[1]}, [&](const Inputs& x) { return linear(x[0], {x[1], Tensor(), layout}); });
    for (const Activation act : {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
      expect_gradients(in, [&](const Inputs& x) { return linear(x[0], {x[1], x[2], layout}, act); });
    }
    expect_gradients({in[2]}, [&](const Inputs& x) { return linear(in[0].detach(), {in[1].detach(), x[0], layout}); });
  }
  const Tensor x = Tensor::from({1, 2}, {1, 2}), w = Tensor::from({1, 2, 3, 4}, {2, 2}),
               b = Tensor::from({10, 20}, {2});
  expect_values(linear(x, {w, b, kOutIn}), {15, 31});
  expect_values(linear(x, {w, b, kInOut}), {17, 30});
}

TEST(Linear, LayoutsAgreeToTheBit) {
  const Tensor x = random_tensor({7, 20}, 4), w = random_tensor({33, 20}, 5), b = random_tensor({33}, 6);
  expect_same_bits(linear(x, {w, b, kOutIn}), linear(x, {transpose(w, 0, 1), b, kInOut}));
}

TEST(Linear, TheActivationInTheSamePassGivesTheSameBits) {
  const Tensor x = random_tensor({7, 20}, 4), w = random_tensor({33, 20}, 5), b = random_tensor({33}, 6),
               up = random_tensor({7, 33}, 7);
  for (const Activation act : {Activation::kRelu, Activation::kGelu, Activation::kSilu}) {
    std::vector<Tensor> gradients[2];
    for (const bool fused : {false, true}) {
      Tensor xs = x.detach().set_requires_grad(), ws = w.detach().set_requires_grad(),
             bs = b.detach().set_requires_grad();
      const LinearWeight map{ws, bs};
      const Tensor y = fused ? linear(xs, map, act) : activate(linear(xs, map), act);
      gradients[fused] = {y.detach()};
      y.backward(up);
      for (const Tensor& t : {xs, ws, bs}) gradients[fused].push_back(t.grad());
    }
    for (size_t i = 0; i < 4; ++i) expect_same_bits(gradients[1][i], gradients[0][i]);
  }
}

// dx = dy w and dw = dy^T x of the numbers rounded to bf16, also where the scope has ended before the backward.
TEST(Linear, BackwardIsInThePrecisionOfItsForward) {
  constexpr int64_t kRows = 7, kIn = 20, kOut = 33;
  const Tensor x = random_tensor({kRows, kIn}, 4), w = random_tensor({kOut, kIn}, 5),
               dy = random_tensor({kRows, kOut}, 6);
  const auto gradients = [&](Precision precision) {
    const Tensor xs = x.detach().set_requires_grad(), ws = w.detach().set_requires_grad();
    Tensor y;
    {
      const PrecisionScope scope(precision);
      y = linear(xs, {ws, Tensor()});
    }
    y.backward(dy);
    return std::pair(xs.grad().to_vector(), ws.grad().to_vector());
  };
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    std::vector<float> dx(kRows * kIn), dw(kOut * kIn);
    kernels::gemm_reference({.M = kRows,
                             .N = kIn,
                             .K = kOut,
                             .a = {dy.data(), kOut},
                             .b = {w.data(), kIn},
                             .c = dx.data(),
                             .ldc = kIn,
                             .precision = precision});
    kernels::gemm_reference({.M = kOut,
                             .N = kIn,
                             .K = kRows,
                             .a = {dy.data(), kOut, true},
                             .b = {x.data(), kIn},
                             .c = dw.data(),
                             .ldc = kIn,
                             .precision = precision});
    const auto found = gradients(precision);
    // The baseline rounds each product by itself.
    expect_values(Tensor::from(found.first, {kRows, kIn}), dx, 1e-5f);
    expect_values(Tensor::from(found.second, {kOut, kIn}), dw, 1e-5f);
  }
  const auto f32 = gradients(Precision::kF32), bf16 = gradients(Precision::kBf16);
  EXPECT_GT(std::abs(f32.first[0] - bf16.first[0]), 1e-4f);
  EXPECT_GT(std::abs(f32.second[0] - bf16.second[0]), 1e-4f);
}

TEST(Linear, SlicesGoInAsTheyLie) {
  const Inputs in{random_leaf({3, 9}, 8), random_leaf({5, 4}, 9), random_leaf({2, 4}, 10)};
  expect_gradients(in, [](const Inputs& x) {
    const Tensor a = linear(columns(x[0], 1, 5), {x[1], Tensor()}), b = linear(columns(x[0], 3, 7), {x[2], Tensor()});
    return matmul(transpose(a, 0, 1), b);
  });
}

TEST(Linear, AWeightUsedTwice) {
  const Inputs in{random_leaf({3, 4}, 11), random_leaf({4, 4}, 12), random_leaf({4}, 13)};
  expect_gradients(in, [](const Inputs& x) {
    const LinearWeight w{x[1], x[2]};
    return linear(linear(x[0], w), w);
  });
}

// Maps whose weights lie in one arena, as parameters do, or each on its own.
struct Maps {
  std::vector<LinearWeight> maps;
  Buffer gradients;
  static Maps adjacent(const std::vector<int64_t>& outs, int64_t in, bool bias) {
    int64_t total = 0, row = 0;
    for (const int64_t out : outs) total += out;
    const Buffer values(total * in), biases(total);
    Maps all{.maps = {}, .gradients = Buffer(total * (in + 1))};
    for (const int64_t out : outs) {
      LinearWeight w{Tensor::view_of(values, row * in, {out, in}).set_requires_grad(), Tensor()};
      w.weight.set_grad_storage(all.gradients, row * in);
      if (bias) {
        w.bias = Tensor::view_of(biases, row, {out}).set_requires_grad();
        w.bias.set_grad_storage(all.gradients, total * in + row);
      }
      all.maps.push_back(w);
      row += out;
    }
    return all;
  }
  static Maps separate(const std::vector<int64_t>& outs, int64_t in, bool bias) {
    Maps all;
    for (const int64_t out : outs) {
      all.maps.push_back(
          {Tensor::empty({out, in}).set_requires_grad(), bias ? Tensor::empty({out}).set_requires_grad() : Tensor()});
    }
    return all;
  }
  void fill(uint64_t seed) const {
    for (const LinearWeight& w : maps) {
      for (const Tensor& t : {w.weight, w.bias}) {
        if (!t) continue;
        const Tensor r = random_tensor(t.shape(), seed++);
        std::copy_n(r.data(), r.numel(), t.data());
      }
    }
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> tensors;
    for (const LinearWeight& w : maps) {
      tensors.push_back(w.weight);
      if (w.bias) tensors.push_back(w.bias);
    }
    return tensors;
  }
};

TEST(SideBySide, OneArenaOrSeparateWeightsGiveTheSameBits) {
  for (const bool bias : {true, false}) {
    const std::vector<int64_t> outs{16, 5, 24};
    const Maps one = Maps::adjacent(outs, 12, bias), apart = Maps::separate(outs, 12, bias);
    one.fill(20), apart.fill(20);
    Tensor x1 = random_leaf({9, 12}, 21), x2 = random_leaf({9, 12}, 21);
    const Tensor up = random_tensor({9, 45}, 22);
    for (int round = 0; round < 2; ++round) {  // the second adds
      const Tensor y1 = linear_side_by_side(x1, one.maps), y2 = linear_side_by_side(x2, apart.maps);
      expect_same_bits(y1, y2);
      expect_same_bits(columns(y1, 16, 21).detach(), linear(x1, one.maps[1]));
      y1.backward(up), y2.backward(up);
      expect_same_bits(x1.grad(), x2.grad());
      for (size_t i = 0; i < one.all().size(); ++i) expect_same_bits(one.all()[i].grad(), apart.all()[i].grad());
    }
  }
}

TEST(SideBySide, Gradients) {
  for (const Maps& m :
       {Maps::adjacent({3, 2}, 4, true), Maps::separate({3, 2}, 4, true), Maps::separate({3, 2, 1}, 4, false)}) {
    m.fill(30);
    Inputs in{random_leaf({3, 4}, 31)};
    for (const Tensor& t : m.all()) in.push_back(t);
    expect_gradients(
        in, [&](const Inputs& x) { return linear_side_by_side(x[0], m.maps) * linear_side_by_side(x[0], m.maps); });
  }
}

// A parameter that someone wrote to before the others of its group.
TEST(SideBySide, UnevenHistory) {
  const Maps m = Maps::adjacent({3, 2}, 4, true);
  m.fill(40);
  Inputs in{random_leaf({5, 4}, 41)};
  for (const Tensor& t : m.all()) in.push_back(t);
  expect_gradients(in, [&](const Inputs& x) {
    return sum(linear_side_by_side(x[0], m.maps) * linear_side_by_side(x[0], m.maps)) +
           sum(linear(x[0], m.maps[1]) * linear(x[0], m.maps[1]));
  });
}

// A parameter of which someone wrote some columns before, in memory that is not clean.
TEST(SideBySide, HistoryOfColumns) {
  const Maps m = Maps::adjacent({3, 2, 4}, 4, false);
  m.fill(45);
  std::fill_n(m.gradients.data(), 9 * 4, 7.0f);
  Inputs in{random_leaf({5, 4}, 46)};
  for (const Tensor& t : m.all()) in.push_back(t);
  for (const LinearWeight& part : m.maps) {
    expect_gradients(in, [&](const Inputs& x) {
      const Tensor y = linear_side_by_side(x[0], m.maps);
      return sum(y * y) + sum(columns(part.weight, 0, 2));
    });
  }
}

struct Parts {
  Tensor x, up, up_bias, down, down_bias;
  std::vector<Tensor> all() const { return {x, up, up_bias, down, down_bias}; }
};

Parts feed_forward_parts(uint64_t seed, int64_t rows, int64_t C, int64_t F) {
  return {random_leaf({rows, C}, seed), random_leaf({F, C}, seed + 1, 0.5f), random_leaf({F}, seed + 2),
          random_leaf({C, F}, seed + 3, 0.5f), random_leaf({C}, seed + 4)};
}

TEST(FeedForward, Gradients) {
  const std::vector<int64_t> lengths{2, 3};
  const Spans spans(lengths, 7);
  for (const float p : {0.0f, 0.3f}) {
    for (const Activation act : {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu, Activation::kRelu}) {
      const Parts parts = feed_forward_parts(50, 5, 4, 6);
      if (act == Activation::kRelu) {  // far from the kink: units that are always on or always off
        for (int64_t i = 0; i < 6; ++i) parts.up_bias.data()[i] = i % 2 ? 9.0f : -9.0f;
      }
      expect_gradients(parts.all(), [&](const Inputs& x) {
        return feed_forward(x[0], {{x[1], x[2]}, {x[3], x[4]}, act, {p, 5}}, spans);
      });
    }
  }
}

TEST(FeedForward, TheSameBitsAsItsParts) {
  const Spans spans = Spans::dense(3, 7);
  for (const float p : {0.0f, 0.1f, 0.5f}) {
    for (const Activation act : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
      SCOPED_TRACE(::testing::Message() << "p " << p << ", activation " << static_cast<int>(act));
      std::vector<Tensor> results[2];
      for (const bool whole : {false, true}) {
        const Parts t = feed_forward_parts(60, 21, 24, 70);
        const LinearWeight up{t.up, t.up_bias}, down{t.down, t.down_bias};
        const Dropout drop{p, 99};
        const Tensor y = whole ? feed_forward(t.x, {up, down, act, drop}, spans)
                               : linear(dropout(linear(t.x, up, act), spans, drop), down);
        results[whole] = {y.detach()};
        y.backward(random_tensor({21, 24}, 61));
        for (const Tensor& leaf : t.all()) results[whole].push_back(leaf.grad());
      }
      for (size_t i = 0; i < results[0].size(); ++i) expect_same_bits(results[1][i], results[0][i]);
    }
  }
}

TEST(FeedForward, BothLayouts) {
  const Tensor x = random_tensor({5, 4}, 70), up = random_tensor({6, 4}, 71), down = random_tensor({4, 6}, 72);
  const Tensor a = feed_forward(x, {{up, Tensor()}, {down, Tensor()}, Activation::kGelu, {}}, Spans());
  const Tensor b = feed_forward(
      x, {{transpose(up, 0, 1), Tensor(), kInOut}, {transpose(down, 0, 1), Tensor(), kInOut}, Activation::kGelu, {}},
      Spans());
  expect_same_bits(a, b);
}

}  // namespace
}  // namespace heed
