#include "heed/cli/attention_steps.h"

#include <cmath>
#include <limits>

#include "heed/base/error.h"
#include "heed/kernels/softmax.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostWeights = 1 << 22;

Grid grid_of(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<float>(static_cast<size_t>(rows * columns)), {}, {}};
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

// a b, or a b^T: f32 products summed in double.
Grid product(const Grid& a, const Grid& b, bool transposed) {
  Grid out = grid_of(a.rows, transposed ? b.rows : b.columns);
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.columns; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < a.columns; ++x) sum += double{a.at(i, x)} * (transposed ? b.at(j, x) : b.at(x, j));
      out.values[static_cast<size_t>(i * out.columns + j)] = static_cast<float>(sum);
    }
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
    const float scale = ask.scaled ? 1 / std::sqrt(static_cast<float>(s.q.columns)) : 1;
    for (float& value : s.scaled.values) {
      if (!std::isfinite(value)) fail("[show attention] a score overflows single precision: expected smaller Q and K");
      value *= scale;
    }
    s.masked = s.scaled;
    for (size_t i = 0; i < ask.keep.size(); ++i) {
      if (ask.keep[i] == 0) s.masked.values[i] = -std::numeric_limits<float>::infinity();
    }
    s.weights = grid_of(s.masked.rows, s.masked.columns);
    kernels::softmax(s.weights.values.data(), s.masked.values.data(), s.masked.rows, s.masked.columns);
    s.output = product(s.weights, s.v, false);
    heads.push_back(std::move(s));
  }
  return heads;
}

}  // namespace heed::cli
