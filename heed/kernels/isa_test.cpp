#include "heed/kernels/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "heed/base/error.h"

namespace heed::kernels {
namespace {

TEST(Isa, IsNeverWiderThanTheLimit) {
  const char* limit = std::getenv("HEED_MAX_ISA");
  if (limit == nullptr) {
    EXPECT_FALSE(isa_was_limited);
    __builtin_cpu_init();
    EXPECT_EQ(isa() >= Isa::kAvx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  } else {
    EXPECT_TRUE(isa_was_limited);
    EXPECT_LE(isa(), std::string(limit) == "avx2" ? Isa::kAvx2 : Isa::kBaseline);
  }
}

TEST(Isa, AnUnknownLimitIsOneClearLine) {
  const char* before = std::getenv("HEED_MAX_ISA");
  const std::string kept = before ? before : "";
  setenv("HEED_MAX_ISA", "avx3", 1);
  try {
    isa();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[isa] HEED_MAX_ISA is 'avx3': expected baseline, avx2 or avx512");
  }
  if (before) {
    setenv("HEED_MAX_ISA", kept.c_str(), 1);
  } else {
    unsetenv("HEED_MAX_ISA");
  }
}

}  // namespace
}  // namespace heed::kernels
