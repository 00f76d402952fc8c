#include "heed/cli/measure.h"

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

namespace {

using Line = std::array<uint64_t, 8>;

void add_line(Line& sum, const std::byte* place) {
  Line line;
  std::memcpy(line.data(), place, sizeof(line));  // a file aligns nothing
  for (size_t j = 0; j < line.size(); ++j) sum[j] += line[j];
}

// Four places at once: one stream alone does not keep the memory busy.
void add_chunk(Line& sum, Bytes chunk) {
  constexpr size_t kStreams = 4;
  const size_t stream = chunk.size() / kStreams / sizeof(Line) * sizeof(Line);
  for (size_t at = 0; at < stream; at += sizeof(Line)) {
    for (size_t s = 0; s < kStreams; ++s) {
      __builtin_prefetch(chunk.data() + s * stream + at + 8 * sizeof(Line));
      add_line(sum, chunk.data() + s * stream + at);
    }
  }
  for (size_t at = kStreams * stream; at + sizeof(Line) <= chunk.size(); at += sizeof(Line))
    add_line(sum, chunk.data() + at);
}

}  // namespace

void read_once(std::span<const Bytes> pieces) {
  constexpr size_t kChunk = 1 << 17;
  std::vector<Bytes> chunks;
  for (const Bytes piece : pieces) {
    for (size_t at = 0; at < piece.size(); at += kChunk)
      chunks.push_back(piece.subspan(at, std::min(kChunk, piece.size() - at)));
  }
  parallel_for(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end) {
    Line sum = {};
    for (int64_t i = begin; i < end; ++i) add_chunk(sum, chunks[static_cast<size_t>(i)]);
    volatile uint64_t total = std::accumulate(sum.begin(), sum.end(), uint64_t{0});
    static_cast<void>(total);  // needed, as far as the compiler knows
  });
}

}  // namespace heed::cli
