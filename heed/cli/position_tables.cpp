#include "heed/cli/position_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/kernels/rotary.h"

namespace heed::cli {
namespace {

Grid empty_table(const PositionAsk& ask) {
  Grid grid{ask.length, ask.dim, {}, numbered("p", ask.length), {}};
  grid.values.resize(static_cast<size_t>(ask.length * ask.dim));
  return grid;
}

// One number for every pair of positions.
template <class F>
Grid between_positions(const PositionAsk& ask, F f) {
  Grid grid{ask.length, ask.length, {}, numbered("p", ask.length), numbered("p", ask.length)};
  for (int64_t i = 0; i < ask.length; ++i) {
    for (int64_t j = 0; j < ask.length; ++j) grid.values.push_back(static_cast<double>(f(i, j)));
  }
  return grid;
}

void add_dot_products(const PositionAsk& ask, PositionTables& out) {
  out.between = between_positions(ask, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < ask.dim; ++c) sum += out.table.at(i, c) * out.table.at(j, c);
    return sum;
  });
  out.between_title = "dot products PE(p) · PE(q)";
}

// M_k for the table's pairs of columns (sine, cosine), tried on every position that has one k further.
void add_shift(const PositionAsk& ask, PositionTables& out) {
  out.turns = nn::sinusoidal_shift(ask.shift, ask.dim);
  for (int64_t p = 0; p + ask.shift < ask.length; ++p) {
    for (size_t i = 0; i < out.turns.size(); ++i) {
      const nn::Turn t = out.turns[i];
      const auto c = static_cast<int64_t>(2 * i);
      const double s = out.table.at(p, c), o = out.table.at(p, c + 1);
      out.shift_error = std::max({out.shift_error, std::abs(t.cos_ * s + t.sin_ * o - out.table.at(p + ask.shift, c)),
                                  std::abs(-t.sin_ * s + t.cos_ * o - out.table.at(p + ask.shift, c + 1))});
    }
  }
}

PositionTables sinusoidal_tables(const PositionAsk& ask) {
  PositionTables out;
  out.words = "PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)); added to the embedding";
  out.table = empty_table(ask);
  std::vector<float> table(out.table.values.size());
  nn::sinusoidal(table.data(), ask.length, ask.dim);
  out.table.values.assign(table.begin(), table.end());
  for (int64_t c = 0; c < ask.dim; ++c)
    out.table.column_names.push_back(fmt::format("{}{}", c % 2 ? "cos" : "sin", c / 2));
  add_dot_products(ask, out);
  out.between_note = "they depend on the distance p - q alone";
  add_shift(ask, out);
  return out;
}

PositionTables learned_tables(const PositionAsk& ask) {
  PositionTables out;
  out.words =
      "one trained row a position, added to the embedding; before training it is noise (normal, deviation 0.02)";
  out.table = empty_table(ask);
  Random random(ask.seed);
  for (double& value : out.table.values) value = 0.02f * random.normal();
  add_dot_products(ask, out);
  out.between_note = "no order in them until training finds one";
  return out;
}

PositionTables rotary_tables(const PositionAsk& ask) {
  if (ask.dim % 2 != 0)
    fail("[show positions] --dim {}: rotary turns pairs of features, expected an even number", ask.dim);
  PositionTables out;
  out.words = "each pair of a query's and a key's features turns by p / 10000^(2i/d); nothing is added";
  const auto half = static_cast<size_t>(ask.dim / 2), length = static_cast<size_t>(ask.length);
  std::vector<float> cosines(length * half), sines(length * half);
  kernels::rotary_tables(cosines.data(), sines.data(), ask.length, kernels::rotary_frequencies(ask.dim, 10000.0));
  out.table = empty_table(ask);
  for (size_t p = 0; p < length; ++p) {
    for (size_t i = 0; i < half; ++i) {
      out.table.values[2 * (p * half + i)] = sines[p * half + i];
      out.table.values[2 * (p * half + i) + 1] = cosines[p * half + i];
    }
  }
  for (int64_t c = 0; c < ask.dim; ++c)
    out.table.column_names.push_back(fmt::format("{}{}", c % 2 ? "cos" : "sin", c / 2));
  // q = k = (1, ..., 1) / sqrt(d), turned by p and q: the sum of cos((p - q) w_i).
  add_dot_products(ask, out);
  for (double& value : out.between.values) value *= 2.0 / static_cast<double>(ask.dim);
  out.between_title = "score of one unit vector with itself, turned to p and to q";
  out.between_note = "it depends on the distance p - q alone";
  add_shift(ask, out);
  return out;
}

PositionTables alibi_tables(const PositionAsk& ask) {
  PositionTables out;
  out.words = "score -= slope · |p - q|, one slope a head; nothing is added to the embedding";
  out.slopes = nn::alibi_slopes(ask.heads);
  out.between = between_positions(
      ask, [&](int64_t i, int64_t j) { return -out.slopes[0] * static_cast<float>(std::abs(i - j)); });
  out.between_title = fmt::format("bias of head 0, slope {:g}", out.slopes[0]);
  out.between_note = "it depends on the distance alone, and goes on beyond any length seen in training";
  return out;
}

PositionTables t5_tables(const PositionAsk& ask) {
  PositionTables out;
  out.words = fmt::format("score += bias[bucket(q - p)][head], learned; {} buckets, distances up to {}", ask.buckets,
                          ask.max_distance);
  out.between = between_positions(
      ask, [&](int64_t i, int64_t j) { return nn::t5_bucket(j - i, true, ask.buckets, ask.max_distance); });
  out.between_title = "bucket of each query p (row) and key q (column)";
  out.between_note = "near distances have a bucket each, far ones share";
  return out;
}

PositionTables no_tables(const PositionAsk& ask) {
  PositionTables out;
  out.words = "nothing tells positions apart: permuted tokens give permuted outputs, and word order is lost";
  out.table = empty_table(ask);
  add_dot_products(ask, out);
  return out;
}

}  // namespace

PositionTables position_tables(const PositionAsk& ask) {
  if (ask.kind == "sinusoidal") return sinusoidal_tables(ask);
  if (ask.kind == "learned") return learned_tables(ask);
  if (ask.kind == "rotary") return rotary_tables(ask);
  if (ask.kind == "alibi") return alibi_tables(ask);
  if (ask.kind == "t5") return t5_tables(ask);
  return no_tables(ask);
}

}  // namespace heed::cli
