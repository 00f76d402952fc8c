#include "heed/kernels/error_feedback.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "heed/base/error.h"
#include "heed/base/half.h"
#include "heed/base/threads.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/quantised.h"

namespace heed::kernels {
namespace {

constexpr int64_t kStrip = 256;
// Of the way back to the outputs of exact inputs. All of it would follow the calibration text too closely.
constexpr float kPull = 0.5f;

// A block of kGroup rows and columns on the diagonal becomes its Cholesky factor; false where it has none.
bool factor_block(float* a, int64_t ld) {
  for (int64_t k = 0; k < kGroup; ++k) {
    for (int64_t i = k; i < kGroup; ++i) {
      double sum = a[i * ld + k];
      for (int64_t j = 0; j < k; ++j) sum -= double{a[i * ld + j]} * a[k * ld + j];
      if (i == k && !(sum > 0 && std::isfinite(sum))) return false;
      a[i * ld + k] = static_cast<float>(i == k ? std::sqrt(sum) : sum / a[k * ld + k]);
    }
  }
  return true;
}

// Rows below a factored block: x of x G^T = a, in place.
void solve_below(float* a, const float* block, int64_t ld, int64_t rows) {
  parallel_for(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = a + i * ld;
      for (int64_t k = 0; k < kGroup; ++k) {
        float sum = row[k];
        for (int64_t j = 0; j < k; ++j) sum -= row[j] * block[k * ld + j];
        row[k] = sum / block[k * ld + k];
      }
    }
  });
}

// a, of which the lower triangle is read, becomes its Cholesky factor there; false where it has none.
bool factor(std::vector<float>& a, int64_t n) {
  std::vector<float> minus(static_cast<size_t>(n * kGroup));
  for (int64_t p = 0; p < n; p += kGroup) {
    float* const block = a.data() + p * n + p;
    if (!factor_block(block, n)) return false;
    const int64_t behind = p + kGroup, rows = n - behind;
    float* const below = block + kGroup * n;
    solve_below(below, block, n, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < kGroup; ++k) minus[static_cast<size_t>(i * kGroup + k)] = -below[i * n + k];
    }
    for (int64_t r = 0; r < rows; r += kStrip) {
      const int64_t height = std::min(kStrip, rows - r);
      gemm({.M = height,
            .N = r + height,
            .K = kGroup,
            .a = {minus.data() + r * kGroup, kGroup},
            .b = {below, n, true},
            .c = below + r * n + kGroup,
            .ldc = n,
            .accumulate = true});
    }
  }
  return true;
}

// H with what is added to its diagonal.
std::vector<float> damped(const InputMoments& m, float share) {
  double trace = 0;
  for (int64_t i = 0; i < m.in; ++i) trace += m.h[static_cast<size_t>(i * m.in + i)];
  const double mean = trace / static_cast<double>(m.in);
  const auto more = static_cast<float>(mean > kLeastMagnitude ? share * mean : 1);
  std::vector<float> h = m.h;
  for (int64_t i = 0; i < m.in; ++i) h[static_cast<size_t>(i * m.in + i)] += more;
  return h;
}

// kPull C (L^T)^-1 D^-1 of C = missing: behind it, the rest of the way to C H^-1 is what the feedback does anyway.
void set_pull(Feedback& f, std::vector<float> missing) {
  const int64_t n = f.in, rows = static_cast<int64_t>(missing.size()) / n;
  for (float& x : missing) x *= kPull;
  for (int64_t g = 0; g < n; g += kGroup) {
    if (g > 0) {
      gemm({.M = rows,
            .N = kGroup,
            .K = g,
            .a = {missing.data(), n},
            .b = {f.minus_l.data() + g * n, n, true},
            .c = missing.data() + g,
            .ldc = n,
            .accumulate = true});
    }
    parallel_for(rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = g; k < g + kGroup; ++k) {
          float& x = missing[static_cast<size_t>(i * n + k)];
          for (int64_t j = g; j < k; ++j) {
            x += missing[static_cast<size_t>(i * n + j)] * f.minus_l[static_cast<size_t>(k * n + j)];
          }
        }
      }
    });
  }
  for (size_t i = 0; i < missing.size(); ++i) missing[i] /= f.d[i % static_cast<size_t>(n)];
  f.pull = std::move(missing);
}

// Scales around the one that lets the largest weight fill the range: one lane each.
constexpr int64_t kLanes = 32;
using Lanes = std::array<float, kLanes>;

// The weights of one group of one output, moved by the errors of all groups behind it.
struct Group {
  Range range;
  const float *moved, *exact;
  const float* minus_l;  // its block on the diagonal
  int64_t ld;
  const float* d;
};

Lanes scales_for(const float* moved, Range range) {
  float largest = 0;
  for (int64_t i = 0; i < kGroup; ++i) largest = std::abs(moved[i]) > std::abs(largest) ? moved[i] : largest;
  Lanes scales;
  for (int64_t c = 0; c < kLanes; ++c) {
    const float steps = range.least * (1 + 0.2f * static_cast<float>(c - kLanes / 2) / (kLanes / 2));
    scales[static_cast<size_t>(c)] = std::abs(largest) < kLeastMagnitude ? 0 : f16_to_f32(f32_to_f16(largest / steps));
  }
  return scales;
}

// To the nearest whole number, ties to even, for what is far below 2^22: a vector instruction where rounding is none.
float rounded(float x) {
  constexpr float kWhole = 12582912;  // 1.5 * 2^23
  return (x + kWhole) - kWhole;
}

// What each scale makes of a group, with the errors inside of it fed back.
struct Tried {
  std::array<Lanes, kGroup> q, error;
  Lanes loss{};

  Tried(const Group& g, const Lanes& scales) {
    Lanes per_unit;
    for (size_t c = 0; c < kLanes; ++c) per_unit[c] = scales[c] == 0 ? 0 : 1 / scales[c];
    for (int64_t k = kGroup - 1; k >= 0; --k) {
      const auto at = static_cast<size_t>(k);
      Lanes x;
      x.fill(g.moved[k]);
      for (int64_t j = k + 1; j < kGroup; ++j) {
        const float back = g.minus_l[j * g.ld + k];
        for (size_t c = 0; c < kLanes; ++c) x[c] += back * error[static_cast<size_t>(j)][c];
      }
      for (size_t c = 0; c < kLanes; ++c) {
        q[at][c] = rounded(std::min(std::max(x[c] * per_unit[c], g.range.least), g.range.most));
        const float value = scales[c] * q[at][c];
        error[at][c] = value - g.exact[k];
        loss[c] += g.d[k] * (x[c] - value) * (x[c] - value);
      }
    }
  }
};

// Writes the group with the best of its scales, and its errors.
void quantise_group(uint8_t* tile, NumberType type, int64_t output, const Group& group, float* errors) {
  const Lanes scales = scales_for(group.moved, group.range);
  const Tried tried(group, scales);
  size_t best = 0;
  for (size_t c = 1; c < kLanes; ++c) best = tried.loss[c] < tried.loss[best] ? c : best;
  if (!std::isfinite(scales[best]) || !std::isfinite(tried.loss[best]))
    fail("[quantise] a weight is not finite, or more than a scale can hold");
  std::array<int8_t, kGroup> q{};
  for (size_t k = 0; k < kGroup; ++k) {
    q[k] = static_cast<int8_t>(tried.q[k][best]);
    errors[k] = tried.error[k][best];
  }
  store_group(tile, type, output, f32_to_f16(scales[best]), q.data());
}

}  // namespace

Feedback feedback_of(InputMoments m) {
  if (m.in % kGroup != 0) fail("[quantise] {} inputs: expected a multiple of {}", m.in, kGroup);
  Feedback f;
  f.in = m.in;
  bool done = false;
  for (float share = 0.01f; !done && share < 20; share *= 10) {
    f.minus_l = damped(m, share);
    done = factor(f.minus_l, m.in);
  }
  if (!done) fail("[quantise] the inputs of a map are not finite, or too large to square");
  for (int64_t i = 0; i < f.in; ++i) {
    const float diagonal = f.minus_l[static_cast<size_t>(i * f.in + i)];
    f.d.push_back(diagonal * diagonal);
    for (int64_t j = i + 1; j < f.in; ++j) f.minus_l[static_cast<size_t>(j * f.in + i)] /= -diagonal;
  }
  f.of_outputs = m.of_outputs;
  if (!m.missing.empty()) set_pull(f, std::move(m.missing));
  return f;
}

void quantise_with_feedback(uint8_t* tiles, NumberType type, const Feedback& f, const float* w, int64_t out) {
  const int64_t in = f.in, bytes = tile_bytes(type), groups = in / kGroup;
  std::fill_n(tiles, quantised_bytes(type, out, in), uint8_t{0});
  std::vector<float> moved(w, w + out * in), errors(moved.size());
  if (f.of_outputs) {
    if (f.pull.size() != moved.size()) fail("[quantise] {} outputs: expected those of the feedback", out);
    for (size_t i = 0; i < moved.size(); ++i) moved[i] += f.pull[i];
  } else if (!f.pull.empty()) {
    gemm({.M = out,
          .N = in,
          .K = in,
          .a = {w, in},
          .b = {f.pull.data(), in},
          .c = moved.data(),
          .ldc = in,
          .accumulate = true});
  }
  for (int64_t g = groups - 1; g >= 0; --g) {
    const int64_t first = g * kGroup, behind = first + kGroup;
    if (behind < in) {
      gemm({.M = out,
            .N = kGroup,
            .K = in - behind,
            .a = {errors.data() + behind, in},
            .b = {f.minus_l.data() + behind * in + first, in},
            .c = moved.data() + first,
            .ldc = in,
            .accumulate = true});
    }
    parallel_for(tiles_across(out), 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * kTileOutputs; row < std::min(end * kTileOutputs, out); ++row) {
        const int64_t at = row * in + first;
        quantise_group(
            tiles + (row / kTileOutputs * groups + g) * bytes, type, row % kTileOutputs,
            {range_of(type), moved.data() + at, w + at, f.minus_l.data() + first * in + first, in, f.d.data() + first},
            errors.data() + at);
      }
    });
  }
}

}  // namespace heed::kernels
