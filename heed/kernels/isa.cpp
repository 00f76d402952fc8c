#include "heed/kernels/isa.h"

#include <hwy/highway.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "heed/base/error.h"

namespace heed::kernels {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"baseline", "avx2", "avx512"};

// Empty where it is not set.
std::string_view limit() {
  const char* text = std::getenv("HEED_MAX_ISA");
  return text ? text : "";
}

// Nothing where the limit is no name of an instruction set.
std::optional<Isa> wanted_isa() {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == limit()) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

}  // namespace

Isa isa() {
  if (!limit().empty() && !wanted_isa()) {
    fail("[isa] HEED_MAX_ISA is '{}': expected baseline, avx2 or avx512", limit());
  }
  // In Highway's numbers a wider target is a lower bit.
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  if (targets & (HWY_AVX2 - 1)) return Isa::kAvx512;
  return targets & HWY_AVX2 ? Isa::kAvx2 : Isa::kBaseline;
}

bool limit_isa() {
  const std::optional<Isa> wanted = wanted_isa();
  if (!wanted || *wanted == Isa::kAvx512) return false;
  hwy::DisableTargets((*wanted == Isa::kAvx2 ? HWY_AVX2 : HWY_EMU128) - 1);
  return true;
}

}  // namespace heed::kernels
