#include "heed/cli/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#include "heed/kernels/elementwise.h"
#include "heed/kernels/gemm.h"

namespace heed::cli {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

double product_speed(int64_t M, int64_t N, int64_t K, bool bf16, double seconds) {
  const Buffer a(M * K), b(K * N), c(M * N);
  kernels::fill(a.data(), 0.5f, M * K);
  kernels::fill(b.data(), 0.25f, K * N);
  const kernels::Gemm product{.M = M,
                              .N = N,
                              .K = K,
                              .a = {a.data(), K},
                              .b = {b.data(), N},
                              .c = c.data(),
                              .ldc = N,
                              .precision = bf16 ? kernels::Precision::kBf16 : kernels::Precision::kF32};
  kernels::gemm(product);
  double best = 0;
  const double start = now_seconds();
  do {
    const double before = now_seconds();
    kernels::gemm(product);
    best = std::max(best, 2e-9 * static_cast<double>(M * N * K) / (now_seconds() - before));
  } while (now_seconds() - start < seconds);
  return best;
}

double product_peak(double seconds, bool bf16) {
  double best = 0;
  for (const auto& [M, N, K] :
       {std::array<int64_t, 3>{2048, 512, 512}, {1024, 1024, 256}, {4096, 128, 128}, {960, 960, 960}}) {
    best = std::max(best, product_speed(M, N, K, bf16, seconds / 4));
  }
  return best;
}

// Four places at once: one stream alone does not keep the memory busy.
void read_once(std::span<const std::byte> bytes) {
  constexpr int64_t kChunk = 1 << 17, kStreams = 4, kStream = kChunk / kStreams;
  using Line = std::array<uint64_t, 8>;
  parallel_for(static_cast<int64_t>(bytes.size()) / kChunk, 1, [&](int64_t begin, int64_t end) {
    Line sum = {};
    for (const std::byte* chunk = bytes.data() + begin * kChunk; chunk != bytes.data() + end * kChunk;
         chunk += kChunk) {
      for (int64_t at = 0; at < kStream; at += sizeof(Line)) {
        for (int64_t s = 0; s < kStreams; ++s) {
          const std::byte* place = chunk + s * kStream + at;
          __builtin_prefetch(place + 8 * sizeof(Line));
          Line line;
          std::memcpy(line.data(), place, sizeof(line));  // a file aligns nothing
          for (size_t j = 0; j < line.size(); ++j) sum[j] += line[j];
        }
      }
    }
    volatile uint64_t total = std::accumulate(sum.begin(), sum.end(), uint64_t{0});
    static_cast<void>(total);  // needed, as far as the compiler knows
  });
}

}  // namespace heed::cli
