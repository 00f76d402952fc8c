#include "heed/io/stored_type.h"

#include <array>

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

}  // namespace heed
