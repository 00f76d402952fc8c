// Weights that stay where a file has them.
#include <bit>
#include <cstring>
#include <memory>

#include "heed/base/half.h"
#include "heed/kernels/quantised.h"
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using namespace testing;

constexpr auto kInOut = WeightLayout::kInOut;

// Weights that stay in a file: the same bits as the f32 they stand for, in both layouts, alone and side by side.
struct StoredCase {
  kernels::NumberType type;
  WeightLayout layout;
};

// Numbers in memory that someone owns, as a file's would be.
struct StoredPair {
  StoredPair(const StoredCase& c, int64_t in, int64_t out) {
    const Shape shape = c.layout == WeightLayout::kOutIn ? Shape{out, in} : Shape{in, out};
    const Tensor values = random_tensor(shape, 80, 0.1f);
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(out * in * 4 + 65536));
    plain = Tensor::empty(shape);
    const kernels::NumberTable table{bytes->data(), shape[1], shape[1], c.type};
    auto* halves = reinterpret_cast<uint16_t*>(bytes->data());
    if (kernels::is_quantised(c.type)) {
      kernels::quantise(reinterpret_cast<uint8_t*>(bytes->data()), c.type, values.data(), out, in);
    } else if (c.type == kernels::NumberType::kF32) {
      std::memcpy(bytes->data(), values.data(), static_cast<size_t>(out * in) * sizeof(float));
    } else {
      for (int64_t i = 0; i < out * in; ++i) {
        const bool f16 = c.type == kernels::NumberType::kF16;
        halves[i] =
            f16 ? f32_to_f16(values.data()[i]) : static_cast<uint16_t>(std::bit_cast<uint32_t>(values.data()[i]) >> 16);
      }
    }
    for (int64_t r = 0; r < shape[0]; ++r) kernels::copy_row(plain.data() + r * shape[1], table, r);
    stored = Tensor::view_of(Buffer(), 0, shape);
    stored.set_stored({bytes->data(), shape[1], c.type, bytes});
  }
  Tensor plain, stored;
};

constexpr StoredCase kStoredCases[] = {
    {kernels::NumberType::kF32, WeightLayout::kOutIn},  {kernels::NumberType::kF32, kInOut},
    {kernels::NumberType::kF16, WeightLayout::kOutIn},  {kernels::NumberType::kF16, kInOut},
    {kernels::NumberType::kBf16, WeightLayout::kOutIn}, {kernels::NumberType::kBf16, kInOut}};

TEST(StoredLinear, TheSameBitsAsInMemory) {
  for (const StoredCase& c : kStoredCases) {
    const StoredPair w(c, 40, 56);
    for (const int64_t rows : {1, 3, 30}) {
      SCOPED_TRACE(::testing::Message() << name(c.type) << ", rows " << rows);
      const Tensor bias = random_tensor({56}, 81);
      const Tensor a = random_leaf({rows, 40}, 82), b = random_leaf({rows, 40}, 82);
      const Tensor ya = linear(a, {w.stored, bias, c.layout}, Activation::kGelu);
      const Tensor yb = linear(b, {w.plain, bias, c.layout}, Activation::kGelu);
      expect_same_bits(ya.detach(), yb.detach());
      // What comes before them can be trained.
      ya.backward(random_tensor({rows, 56}, 83));
      yb.backward(random_tensor({rows, 56}, 83));
      expect_same_bits(a.grad(), b.grad());
      const std::vector<int32_t> targets(static_cast<size_t>(rows), 7);
      const NoGrad no_grad;
      EXPECT_EQ(vocabulary_loss(a, {w.stored, bias, c.layout}, targets).nll,
                vocabulary_loss(a, {w.plain, bias, c.layout}, targets).nll);
    }
  }
}

TEST(StoredLinear, PartsOfOneMatrixAreOneProduct) {
  const NoGrad no_grad;
  std::vector<StoredCase> cases(std::begin(kStoredCases), std::end(kStoredCases));
  cases.push_back({kernels::NumberType::kInt8, WeightLayout::kOutIn});
  cases.push_back({kernels::NumberType::kInt4, WeightLayout::kOutIn});
  for (const StoredCase& c : cases) {
    SCOPED_TRACE(name(c.type));
    const int64_t in = 64, part = 32;
    const StoredPair whole(c, in, 3 * part);
    const bool out_in = c.layout == WeightLayout::kOutIn;
    const auto* first = static_cast<const std::byte*>(whole.stored.stored()->data);
    const int64_t size = c.type == kernels::NumberType::kF32 ? 4 : 2;
    const int64_t step =
        kernels::is_quantised(c.type) ? kernels::quantised_bytes(c.type, part, in) : size * part * (out_in ? in : 1);
    for (const bool swapped : {false, true}) {
      std::vector<LinearWeight> maps;
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t at = swapped ? (i + 1) % 3 : i;
        Tensor w = Tensor::view_of(Buffer(), 0, out_in ? Shape{part, in} : Shape{in, part});
        w.set_stored({first + at * step, whole.stored.stored()->ld, c.type, whole.stored.stored()->owner});
        maps.push_back({w, Tensor(), c.layout});
      }
      const Tensor x = random_tensor({5, in}, 84), y = linear_side_by_side(x, maps);
      const Tensor all = linear(x, {whole.stored, Tensor(), c.layout});
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t at = swapped ? (i + 1) % 3 : i;
        expect_same_bits(contiguous(columns(y, i * part, (i + 1) * part)),
                         contiguous(columns(all, at * part, (at + 1) * part)));
      }
    }
  }
}

TEST(StoredLinear, QuantisedIsNearItsNumbers) {
  const NoGrad no_grad;
  for (const kernels::NumberType type : {kernels::NumberType::kInt8, kernels::NumberType::kInt4}) {
    const StoredPair w({type, WeightLayout::kOutIn}, 96, 40);
    const Tensor x = random_tensor({3, 96}, 85);
    const Tensor a = linear(x, {w.stored, Tensor()}), b = linear(x, {w.plain, Tensor()});
    for (int64_t i = 0; i < a.numel(); ++i) EXPECT_NEAR(a.data()[i], b.data()[i], 0.05);
    const std::vector<int32_t> ids = {39, 0, 17};
    EmbeddingArgs args;
    args.scale = 3;
    expect_same_bits(embedding(w.stored, ids, args), embedding(w.plain, ids, args));
  }
}

TEST(StoredLinear, WhatCannotBeIsOneLine) {
  const StoredPair w({kernels::NumberType::kInt8, WeightLayout::kOutIn}, 32, 16);
  EXPECT_EQ(message_of([&] { w.stored.data(); }),
            "[tensor] the numbers of shape (16,32) are stored as int8: only products and embeddings read them");
  EXPECT_EQ(message_of([&] {
              linear(random_leaf({1, 32}, 1), {w.stored, Tensor()});
            }),
            "[linear] no gradient passes through weights of int8");
  EXPECT_EQ(message_of([&] {
              linear(random_tensor({1, 16}, 1), {w.stored, Tensor(), kInOut});
            }),
            "[linear] weights of int8: expected (out, in)");
  EXPECT_NE(message_of([&] { Tensor(w.stored).set_requires_grad(); }), "no error");
  EXPECT_NE(message_of([&] { columns(w.stored, 0, 4); }), "no error");
}

}  // namespace
}  // namespace heed
