#include "heed/kernels/numbers.h"

#include <algorithm>

#include "heed/base/half.h"
#include "heed/kernels/quantised.h"

namespace heed::kernels {
namespace {

template <class T>
void copy_numbers(float* to, const NumberTable& table, int64_t row) {
  const T* from = static_cast<const T*>(table.data) + row * table.ld;
  std::transform(from, from + table.columns, to, [](T x) { return to_f32(x); });
}

}  // namespace

const char* name(NumberType type) {
  constexpr const char* kNames[] = {"f32", "f16", "bf16", "int8", "int4"};
  return kNames[static_cast<size_t>(type)];
}

void copy_row(float* to, const NumberTable& table, int64_t row) {
  switch (table.type) {
    case NumberType::kF32:
      return copy_numbers<float>(to, table, row);
    case NumberType::kF16:
      return copy_numbers<StoredF16>(to, table, row);
    case NumberType::kBf16:
      return copy_numbers<StoredBf16>(to, table, row);
    case NumberType::kInt8:
    case NumberType::kInt4:
      return dequantise_row(to, {table.data, table.columns, table.type}, row);
  }
}

}  // namespace heed::kernels
