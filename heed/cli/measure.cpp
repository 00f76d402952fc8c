#include "heed/cli/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

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

// A word of each line brings all of it.
constexpr size_t kLine = 64;
uint64_t word_of(const std::byte* place) {
  uint64_t word;
  std::memcpy(&word, place, sizeof(word));  // a file aligns nothing
  return word;
}

// Some CPUs fetch one stream of each thread fastest, others several at once, asked for some lines before.
uint64_t read_one_stream(Bytes chunk) {
  uint64_t sum = 0;
  for (size_t at = 0; at + kLine <= chunk.size(); at += kLine) sum += word_of(chunk.data() + at);
  return sum;
}

uint64_t read_four_streams(Bytes chunk) {
  constexpr size_t kStreams = 4;
  const size_t stream = chunk.size() / kStreams / kLine * kLine;
  uint64_t sum = read_one_stream(chunk.subspan(kStreams * stream));
  for (size_t at = 0; at < stream; at += kLine) {
    for (size_t s = 0; s < kStreams; ++s) {
      __builtin_prefetch(chunk.data() + s * stream + at + 8 * kLine);
      sum += word_of(chunk.data() + s * stream + at);
    }
  }
  return sum;
}

// Seconds of one read, in chunks that threads take in order.
double time_of_read(std::span<const Bytes> chunks, uint64_t (*read)(Bytes)) {
  const double start = now_seconds();
  parallel_for(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      volatile uint64_t sum = read(chunks[static_cast<size_t>(i)]);
      static_cast<void>(sum);  // needed, as far as the compiler knows
    }
  });
  return now_seconds() - start;
}

}  // namespace

double read_seconds(std::span<const Bytes> pieces) {
  constexpr size_t kChunk = 1 << 21;  // long: CPUs fetch ahead of streams that go on
  std::vector<Bytes> chunks;
  for (const Bytes piece : pieces) {
    for (size_t at = 0; at < piece.size(); at += kChunk)
      chunks.push_back(piece.subspan(at, std::min(kChunk, piece.size() - at)));
  }
  return std::min(time_of_read(chunks, read_one_stream), time_of_read(chunks, read_four_streams));
}

}  // namespace heed::cli
