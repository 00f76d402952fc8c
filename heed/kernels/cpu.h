// What this CPU is and has, in words for people.
#pragma once

#include <string>
#include <vector>

namespace heed::kernels {

// The name the CPU gives itself; "" where it has none.
std::string cpu_name();
// What it has of what matters here, used or not: "AVX2", "AVX-512", "VNNI", "BF16", "AMX".
std::vector<std::string> cpu_features();
// "AVX-512", "AVX2" or "baseline": what the kernels run with.
std::string isa_name();

}  // namespace heed::kernels
