#include "heed/kernels/isa.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "heed/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/isa.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h: once per target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// In Highway's numbers a wider target is a lower one.
Isa own_isa() {
  if (HWY_TARGET < HWY_AVX2) return Isa::kAvx512;
  return HWY_TARGET == HWY_AVX2 ? Isa::kAvx2 : Isa::kBaseline;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
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

HWY_EXPORT(own_isa);

// The kernel that runs says it. Highway's SupportedTargets() must not be asked: it leaves the widest target chosen, whatever
// was disabled.
Isa isa() {
  if (!limit().empty() && !wanted_isa()) {
    fail("[isa] HEED_MAX_ISA is '{}': expected baseline, avx2 or avx512", limit());
  }
  return HWY_DYNAMIC_DISPATCH(own_isa)();
}

bool limit_isa() {
  const std::optional<Isa> wanted = wanted_isa();
  if (!wanted || *wanted == Isa::kAvx512) return false;
  hwy::DisableTargets((*wanted == Isa::kAvx2 ? HWY_AVX2 : HWY_EMU128) - 1);
  return true;
}

}  // namespace heed::kernels
#endif
