// Numbers as files have them.
#pragma once

#include <cstdint>

namespace heed::kernels {

// Those of 16 bits are multiplied as the f32 they stand for; those of 8 and 4 are explained in quantised.h.
enum class NumberType : uint8_t { kF32, kF16, kBf16, kInt8, kInt4 };
const char* name(NumberType type);  // "f32", ..., "int4"
inline bool is_quantised(NumberType type) { return type == NumberType::kInt8 || type == NumberType::kInt4; }

// A matrix of `rows` by `columns` numbers. Row r starts at element r * ld; quantised ones are in tiles and have no ld.
struct NumberTable {
  const void* data;
  int64_t columns, ld;
  NumberType type = NumberType::kF32;
};
// One row as f32.
void copy_row(float* to, const NumberTable& table, int64_t row);

}  // namespace heed::kernels
