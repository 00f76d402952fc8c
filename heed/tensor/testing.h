// What the tests of tensors share: random leaves, bits, gradients and messages.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/tensor/grad_check.h"
#include "heed/tensor/ops.h"

namespace heed::testing {

using Inputs = std::vector<Tensor>;

inline Tensor random_tensor(const Shape& shape, uint64_t seed, float size = 1) {
  Random random(seed);
  Tensor x = Tensor::empty(shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.data()[i] = size * random.normal();
  return x;
}

inline Tensor random_leaf(const Shape& shape, uint64_t seed, float size = 1) {
  return random_tensor(shape, seed, size).set_requires_grad();
}

inline void expect_same_bits(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape().str(), expected.shape().str());
  const std::vector<float> a = found.to_vector(), b = expected.to_vector();
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i]))
        << "at " << i << ": " << a[i] << ", " << b[i];
  }
}

inline void expect_values(const Tensor& found, const std::vector<float>& expected, float tolerance = 0) {
  const std::vector<float> values = found.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], tolerance) << "at " << i;
}

inline void expect_gradients(const std::vector<Tensor>& inputs, const Differentiable& f, const GradCheck& how = {}) {
  EXPECT_EQ(grad_check(f, inputs, how), "");
}

// The message of the error that f must throw: one line.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "no error";
}

}  // namespace heed::testing
