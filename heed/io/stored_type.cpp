#include "heed/io/stored_type.h"

#include <array>
#include <bit>

namespace heed {
namespace {

struct TypeFacts {
  std::string_view name;
  int64_t size;
};
// In the order of StoredType.
constexpr std::array<TypeFacts, 13> kTypes = {{{"F64", 8},
                                               {"F32", 4},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"I64", 8},
                                               {"I32", 4},
                                               {"I16", 2},
                                               {"I8", 1},
                                               {"U64", 8},
                                               {"U32", 4},
                                               {"U16", 2},
                                               {"U8", 1},
                                               {"BOOL", 1}}};

}  // namespace

int64_t size_of(StoredType type) { return kTypes[static_cast<size_t>(type)].size; }

std::string_view name_of(StoredType type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<StoredType> stored_type_named(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<StoredType>(i);
  }
  return std::nullopt;
}

std::string stored_type_names() {
  std::string names;
  for (const TypeFacts& type : kTypes) {
    if (!names.empty()) names += ", ";
    names += type.name;
  }
  return names;
}

// Written with selections instead of branches so that the compiler makes vectors of it; right in every bit whether or
// not the processor flushes subnormal floats.
float f16_to_f32(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t fraction = bits & 0x3FFu;
  constexpr uint32_t kRebias = 127 - 15;
  const uint32_t normal = ((exponent + kRebias) << 23) | (fraction << 13);
  const uint32_t special = 0x7F800000u | (fraction << 13);
  const auto subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(fraction)) * 0x1p-24f);
  const uint32_t magnitude = exponent == 0 ? subnormal : exponent == 31 ? special : normal;
  return std::bit_cast<float>(sign | magnitude);
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace heed
