// d_model = heads * d_k, or one line that says what would fit.
#pragma once

#include <cstdint>
#include <string>

#include "heed/base/error.h"

namespace heed::cli {

inline int64_t head_size(const std::string& where, int64_t d_model, int64_t heads) {
  if (d_model % heads == 0) return d_model / heads;
  const int64_t below = d_model / heads * heads;
  if (below == 0) fail("{} {} features by {} heads: expected at least {} features", where, d_model, heads, heads);
  fail("{} {} features by {} heads: expected a multiple of {}, such as {} or {}", where, d_model, heads, heads, below,
       below + heads);
}

}  // namespace heed::cli
