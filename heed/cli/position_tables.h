// What `heed show positions` tells of a kind: its table, what two positions have in common, and the shift.
#pragma once

#include <string>
#include <vector>

#include "heed/cli/render.h"
#include "heed/nn/positions.h"

namespace heed::cli {

struct PositionAsk {
  std::string kind = "sinusoidal";
  int64_t length = 10, dim = 8, heads = 8, shift = 1, buckets = 32, max_distance = 128;
  uint64_t seed = 0;
};

struct PositionTables {
  Grid table;    // (length, dim): what is added, or the turns; empty for a bias on scores
  Grid between;  // (length, length): dot products, or the bias of the first head, or the buckets
  std::string between_title, between_note;
  std::vector<nn::Turn> turns;  // of the shift, where there is one
  double shift_error = 0;       // max |M_k PE(p) - PE(p + k)| over all p and features
  std::vector<float> slopes;    // of ALiBi
  std::string words;            // one line: what the kind does
};

PositionTables position_tables(const PositionAsk& ask);

}  // namespace heed::cli
