#include "heed/cli/attention_steps.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "heed/base/error.h"
#include "heed/kernels/attention.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostWeights = 1 << 22;

Grid grid_of(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<size_t>(rows * columns)), {}, {}};
}

// The columns of one head.
Grid slice(const Matrix& matrix, int64_t head, int64_t heads) {
  Grid grid = grid_of(matrix.rows, matrix.columns / heads);
  for (int64_t r = 0; r < grid.rows; ++r) {
    for (int64_t c = 0; c < grid.columns; ++c) {
      grid.values[static_cast<size_t>(r * grid.columns + c)] =
          matrix.values[static_cast<size_t>(r * matrix.columns + head * grid.columns + c)];
    }
  }
  return grid;
}

// a b, or a b^T.
Grid product(const Grid& a, const Grid& b, bool transposed) {
  Grid out = grid_of(a.rows, transposed ? b.rows : b.columns);
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.columns; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < a.columns; ++x) sum += a.at(i, x) * (transposed ? b.at(j, x) : b.at(x, j));
      out.values[static_cast<size_t>(i * out.columns + j)] = sum;
    }
  }
  return out;
}

// A row of nothing but -inf gives zeros.
Grid softmax_of_rows(const Grid& x) {
  Grid out = grid_of(x.rows, x.columns);
  for (int64_t r = 0; r < x.rows; ++r) {
    const auto row = x.values.begin() + r * x.columns;
    const auto to = out.values.begin() + r * x.columns;
    const double most = *std::max_element(row, row + x.columns);
    if (std::isinf(most)) continue;
    double sum = 0;
    for (int64_t c = 0; c < x.columns; ++c) sum += to[c] = std::exp(row[c] - most);
    for (int64_t c = 0; c < x.columns; ++c) to[c] /= sum;
  }
  return out;
}

}  // namespace

void check_attention(const std::string& where, const AttentionAsk& ask) {
  const Matrix &q = ask.q, &k = ask.k, &v = ask.v;
  if (q.columns != k.columns) {
    fail("{} Q has {} columns and K has {}: expected as many", where, q.columns, k.columns);
  }
  if (k.rows != v.rows) fail("{} K has {} rows and V has {}: expected as many", where, k.rows, v.rows);
  if (q.columns % ask.heads != 0) {
    fail("{} {} columns of Q and K by {} heads: expected a multiple of {}", where, q.columns, ask.heads, ask.heads);
  }
  if (v.columns % ask.heads != 0) {
    fail("{} {} columns of V by {} heads: expected a multiple of {}", where, v.columns, ask.heads, ask.heads);
  }
  // The engine divides by the sum of the weights last.
  const float most = FLT_MAX / static_cast<float>(v.rows);
  for (const float value : v.values) {
    if (std::abs(value) > most)
      fail("{} V has {:g}: expected a number within +-{:.4g} with {} keys", where, value, most, v.rows);
  }
  if (q.rows * k.rows > kMostWeights / ask.heads) {
    fail("{} {} queries by {} keys with {} heads: expected at most {} weights", where, q.rows, k.rows, ask.heads,
         with_commas(kMostWeights));
  }
}

std::vector<HeadSteps> attention_steps(const AttentionAsk& ask) {
  std::vector<HeadSteps> heads;
  for (int64_t h = 0; h < ask.heads; ++h) {
    HeadSteps s{slice(ask.q, h, ask.heads), slice(ask.k, h, ask.heads), slice(ask.v, h, ask.heads), {}, {}, {}, {}, {}};
    s.scores = product(s.q, s.k, true);
    s.scaled = s.scores;
    const double scale = ask.scaled ? 1 / std::sqrt(static_cast<double>(s.q.columns)) : 1;
    for (double& value : s.scaled.values) {
      if (std::abs(value) > FLT_MAX)
        fail("[show attention] a score overflows single precision: expected smaller Q and K");
      value *= scale;
    }
    s.masked = s.scaled;
    for (size_t i = 0; i < ask.keep.size(); ++i) {
      if (ask.keep[i] == 0) s.masked.values[i] = -std::numeric_limits<double>::infinity();
    }
    s.weights = softmax_of_rows(s.masked);
    s.output = product(s.weights, s.v, false);
    heads.push_back(std::move(s));
  }
  return heads;
}

std::vector<float> attention_by_kernel(const AttentionAsk& ask) {
  const int32_t q_offsets[] = {0, static_cast<int32_t>(ask.q.rows)},
                k_offsets[] = {0, static_cast<int32_t>(ask.k.rows)};
  kernels::Attention a{};
  a.sequences = 1;
  a.q_offsets = q_offsets;
  a.k_offsets = k_offsets;
  a.heads = a.kv_heads = ask.heads;
  a.D = ask.q.columns / ask.heads;
  a.Dv = ask.v.columns / ask.heads;
  a.scale = ask.scaled ? 1 / std::sqrt(static_cast<float>(a.D)) : 1;
  if (!ask.keep.empty()) {
    a.mask.keep = ask.keep.data();
    a.mask.stride_row = ask.k.rows;
  }
  std::vector<float> out(static_cast<size_t>(ask.q.rows * ask.v.columns));
  kernels::attention(a, {.q = {ask.q.values.data(), ask.q.columns},
                         .k = {ask.k.values.data(), ask.k.columns},
                         .v = {ask.v.values.data(), ask.v.columns},
                         .out = out.data(),
                         .out_ld = ask.v.columns,
                         .softmax = nullptr});
  return out;
}

}  // namespace heed::cli
