#include "heed/kernels/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "heed/base/error.h"

namespace heed::kernels {
namespace {

TEST(Isa, IsNeverWiderThanTheLimit) {
  const char* set = std::getenv("HEED_MAX_ISA");
  const std::string limit = set ? set : "";
  EXPECT_EQ(isa_was_limited, limit == "avx2" || limit == "baseline");  // nothing is wider than avx512
  if (isa_was_limited) {
    EXPECT_LE(isa(), limit == "avx2" ? Isa::kAvx2 : Isa::kBaseline);
  } else {
    __builtin_cpu_init();
    EXPECT_EQ(isa() >= Isa::kAvx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  }
}

class IsaLimit : public ::testing::Test {
 protected:
  void TearDown() override { before_ ? setenv("HEED_MAX_ISA", kept_.c_str(), 1) : unsetenv("HEED_MAX_ISA"); }

 private:
  const char* before_ = std::getenv("HEED_MAX_ISA");
  const std::string kept_ = before_ ? before_ : "";
};

TEST_F(IsaLimit, AnUnknownOneIsOneClearLine) {
  setenv("HEED_MAX_ISA", "avx3", 1);
  try {
    isa();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[isa] HEED_MAX_ISA is 'avx3': expected baseline, avx2 or avx512");
  }
}

TEST_F(IsaLimit, AnEmptyOneIsNone) {
  const Isa before = isa();
  setenv("HEED_MAX_ISA", "", 1);
  EXPECT_EQ(isa(), before);
}

}  // namespace
}  // namespace heed::kernels
