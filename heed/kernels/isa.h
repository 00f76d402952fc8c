// The instructions the kernels are run with: the widest this CPU has, or less where HEED_MAX_ISA says so
// (avx512, avx2 or baseline). The bits of f32 results do not depend on it from avx2 up.
#pragma once

namespace heed::kernels {

enum class Isa { kBaseline, kAvx2, kAvx512 };

// What is in use. An error where HEED_MAX_ISA is set to something else.
Isa isa();

// Tells Highway once, before the first kernel runs: every kernel includes this header, so the limit cannot be missed.
bool limit_isa();
inline const bool isa_was_limited = limit_isa();

}  // namespace heed::kernels
