// How work on rows of C numbers is cut.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heed::kernels {

// Rows that make a chunk worth a thread.
inline int64_t row_grain(int64_t C) { return std::max<int64_t>(1, 8192 / C); }

}  // namespace heed::kernels
