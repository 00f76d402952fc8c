// The element types of tensors in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heed/base/half.h"

namespace heed {

enum class StoredType : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

int64_t size_of(StoredType type);           // bytes of one element
std::string_view name_of(StoredType type);  // as files spell it: "BF16"
std::string stored_type_names();            // all of them: "F64, F32, ..."
std::optional<StoredType> stored_type_named(std::string_view name);

}  // namespace heed
