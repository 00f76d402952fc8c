// The products of one token through GPT-2 small's shape, its weights in each form that files have them and mapped from a
// file, beside a pure read of the same bytes: what memory allows.
//   weights [rows ...]    how many sequences at once; 1 and 16 without it
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "heed/base/buffer.h"
#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/cli/measure.h"
#include "heed/io/mapped_file.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/quantised.h"

namespace {

using heed::kernels::Gemm;
using Clock = std::chrono::steady_clock;

struct Layer {
  int64_t out, in;
};

std::vector<Layer> gpt2() {
  std::vector<Layer> all;
  for (int i = 0; i < 12; ++i) all.insert(all.end(), {{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}});
  all.push_back({50257, 768});
  return all;
}

double best_of(int runs, const auto& f) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

using heed::kernels::NumberType;

int64_t bytes_of(NumberType type, const Layer& l) {
  if (heed::kernels::is_quantised(type)) return heed::kernels::quantised_bytes(type, l.out, l.in);
  return l.out * l.in * (type == NumberType::kF32 ? 4 : 2);
}

void run(const std::vector<Layer>& layers, const std::byte* weights, NumberType type, bool out_in, int64_t rows,
         const float* x, float* y) {
  for (const Layer& l : layers) {
    Gemm g{};
    g.M = rows, g.N = l.out, g.K = l.in;
    g.a = {x, l.in};
    // The table of tokens is always (out, in).
    const bool turned = out_in || l.out == 50257;
    g.b = {weights, turned ? l.in : l.out, turned, type};
    g.c = y, g.ldc = l.out;
    g.halves = !turned;
    heed::kernels::gemm(g);
    weights += bytes_of(type, l);
  }
}

// Memory as programs have weights: pages of a file, which is gone once it is mapped.
heed::MappedFile small_numbers(int64_t bytes) {
  struct Removed {
    std::string path = std::filesystem::temp_directory_path() / fmt::format("heed-bench-weights-{}", getpid());
    ~Removed() { std::filesystem::remove(path); }
  } const file;
  const std::string megabyte(1 << 20, 0x2E);  // 0x2E2E2E2E is a small number in every type
  std::ofstream out(file.path, std::ios::binary);
  for (int64_t at = 0; at < bytes; at += 1 << 20) out << megabyte;
  out.close();
  if (!out) heed::fail_file("{}: no room for {} bytes", file.path, bytes);
  return heed::MappedFile(file.path);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> rows;
  for (int i = 1; i < argc; ++i) rows.push_back(std::clamp(std::atoi(argv[i]), 1, 256));
  if (rows.empty()) rows = {1, 16};
  const int64_t most = *std::max_element(rows.begin(), rows.end());
  const std::vector<Layer> layers = gpt2();
  int64_t numbers = 0;
  for (const Layer& l : layers) numbers += l.out * l.in;
  const heed::MappedFile memory = small_numbers(4 * numbers);
  const heed::Buffer x(3072 * most), y(50257 * most);
  heed::Random random(1);
  for (int64_t i = 0; i < 3072 * most; ++i) x.data()[i] = random.normal();
  const std::byte* bytes = memory.bytes().data();
  fmt::print("GPT-2 small's {} weights, {} threads\n", numbers, heed::num_threads());
  for (const NumberType type :
       {NumberType::kF32, NumberType::kF16, NumberType::kBf16, NumberType::kInt8, NumberType::kInt4}) {
    int64_t size = 0;
    for (const Layer& l : layers) size += bytes_of(type, l);
    const heed::cli::Bytes all(bytes, static_cast<size_t>(size));
    for (const bool out_in : {true, false}) {
      if (!out_in && heed::kernels::is_quantised(type)) continue;
      double read = 1e9, one = 0;
      for (const int64_t m : rows) {
        double best = 1e9;
        // Turns are taken, so that a busy moment of the machine hits both alike.
        for (int turn = 0; turn < 5; ++turn) {
          for (int i = 0; i < 2; ++i) read = std::min(read, heed::cli::read_seconds({&all, 1}));
          best = std::min(best, best_of(2, [&] { run(layers, bytes, type, out_in, m, x.data(), y.data()); }));
        }
        if (one == 0) one = static_cast<double>(m) / best;
        fmt::print(
            "{:4} {} {:>3} rows: {:7.2f} ms, {:5.1f} GB/s, {:5.1f} % of a read ({:.1f} GB/s), {:7.1f} rows/s, {:4.1f} "
            "x\n",
            name(type), out_in ? "(out, in)" : "(in, out)", m, 1e3 * best, 1e-9 * static_cast<double>(size) / best,
            100 * read / best, 1e-9 * static_cast<double>(size) / read, static_cast<double>(m) / best,
            static_cast<double>(m) / best / one);
      }
    }
  }
}
