#include "heed/kernels/cpu.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "heed/kernels/gemm.h"
#include "heed/kernels/isa.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace heed::kernels {
namespace {

struct CpuId {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

CpuId cpu_id([[maybe_unused]] uint32_t leaf, [[maybe_unused]] uint32_t subleaf) {
  CpuId id;
#if HWY_ARCH_X86
  __get_cpuid_count(leaf, subleaf, &id.a, &id.b, &id.c, &id.d);
#endif
  return id;
}

bool bit(uint32_t word, int i) { return (word >> i & 1) != 0; }

}  // namespace

bool has_native_bf16() {
  // Asked once: CPUID traps in virtual machines.
  static const bool native = isa() == Isa::kAvx512 && bit(cpu_id(7, 1).a, 5);
  return native;
}

bool has_native_int8() {
  static const bool native = isa() == Isa::kAvx512 && bit(cpu_id(7, 0).c, 11);
  return native;
}

std::string isa_name() {
  switch (isa()) {
    case Isa::kAvx512:
      return "AVX-512";
    case Isa::kAvx2:
      return "AVX2";
    case Isa::kBaseline:
      break;
  }
  return "baseline";
}

std::vector<std::string> cpu_features() {
  const CpuId leaf7 = cpu_id(7, 0);
  const bool avx512 = bit(leaf7.b, 16);
  std::vector<std::string> features;
  if (bit(leaf7.b, 5)) features.emplace_back("AVX2");
  if (avx512) features.emplace_back("AVX-512");
  if (avx512 && bit(leaf7.c, 11)) features.emplace_back("VNNI");
  if (avx512 && bit(cpu_id(7, 1).a, 5)) features.emplace_back("BF16");
  if (bit(leaf7.d, 24)) features.emplace_back("AMX");
  return features;
}

std::string cpu_name() {
  char name[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    const CpuId id = cpu_id(0x80000002 + i, 0);
    const uint32_t words[4] = {id.a, id.b, id.c, id.d};
    std::memcpy(name + 16 * i, words, sizeof words);
  }
  const std::string_view text(name);
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

}  // namespace heed::kernels
