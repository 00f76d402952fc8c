// Matrix products of the shapes that train Transformers, heed against oneDNN at its best, in one run.
//   product [bf16] [threads ...] [part of a row's name ...]    e.g. product 1 2 TN
// In bf16 oneDNN's operands are rounded before the clock starts; heed reads f32 and rounds on the way. In f32 a row below
// the bar is a failure.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "heed/base/buffer.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/kernels/gemm.h"

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Shape {
  int64_t M, N, K;
  char a, b;  // 'N' or 'T'
};

struct Data {
  explicit Data(int64_t n) : values(n) {
    heed::Random random(7, static_cast<uint64_t>(n));
    for (int64_t i = 0; i < n; ++i) values[i] = random.uniform() - 0.5f;
  }
  heed::Scratch<float> values;
};

// The packed matmul primitive of oneDNN; its weights are packed, and both operands rounded, before the clock starts.
class PackedMatmul {
 public:
  using memory = dnnl::memory;
  PackedMatmul(const Shape& s, memory::data_type type, float* a, float* b, float* c)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const auto f32 = memory::data_type::f32;
    const auto tag = [](char t) { return t == 'T' ? memory::format_tag::ba : memory::format_tag::ab; };
    const memory::desc a_desc({s.M, s.K}, type, tag(s.a)), b_any({s.K, s.N}, type, memory::format_tag::any);
    const memory::desc c_desc({s.M, s.N}, f32, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a_desc, b_any, c_desc), engine_);
    matmul_ = dnnl::matmul(description);
    arguments_ = {
        {DNNL_ARG_SRC, ready(memory({{s.M, s.K}, f32, tag(s.a)}, engine_, a), a_desc)},
        {DNNL_ARG_WEIGHTS, ready(memory({{s.K, s.N}, f32, tag(s.b)}, engine_, b), description.weights_desc())},
        {DNNL_ARG_DST, memory(c_desc, engine_, c)}};
  }
  void run() {
    matmul_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  memory ready(memory from, const memory::desc& wanted) {
    if (from.get_desc() == wanted) return from;
    memory to(wanted, engine_);
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul matmul_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

struct Times {
  double heed = 1e9, sgemm = 1e9, matmul = 1e9;
};

template <class F>
void take_best(double& best, F&& f) {
  const auto start = Clock::now();
  f();
  best = std::min(best, seconds_since(start));
}

Times measure(const Shape& s, heed::kernels::Precision precision, double seconds) {
  const Data a(s.M * s.K), b(s.K * s.N), c(s.M * s.N);
  float* const pa = a.values.data();
  float* const pb = b.values.data();
  float* const pc = c.values.data();
  const bool accumulate = s.a == 'T';
  const int64_t lda = s.a == 'T' ? s.M : s.K, ldb = s.b == 'T' ? s.K : s.N;
  heed::kernels::Gemm g{};
  g.M = s.M, g.N = s.N, g.K = s.K;
  g.a = {pa, lda, s.a == 'T'};
  g.b = {pb, ldb, s.b == 'T'};
  g.c = pc, g.ldc = s.N, g.accumulate = accumulate;
  g.precision = precision;
  const bool f32 = precision == heed::kernels::Precision::kF32;
  using Type = dnnl::memory::data_type;
  PackedMatmul packed(s, f32 ? Type::f32 : Type::bf16, pa, pb, pc);
  Times best;
  const auto start = Clock::now();
  // Turns are taken, so that a busy moment of the machine hits all alike.
  for (int round = 0; round < 3 || seconds_since(start) < seconds; ++round) {
    for (int i = 0; i < 3; ++i) take_best(best.heed, [&] { heed::kernels::gemm(g); });
    for (int i = 0; f32 && i < 3; ++i) {
      take_best(best.sgemm, [&] {
        dnnl_sgemm(s.a, s.b, s.M, s.N, s.K, 1.0f, pa, lda, pb, ldb, accumulate ? 1.0f : 0.0f, pc, s.N);
      });
    }
    for (int i = 0; i < 3; ++i) take_best(best.matmul, [&] { packed.run(); });
    omp_pause_resource_all(omp_pause_soft);  // its threads would go on spinning through heed's turn
  }
  return best;
}

constexpr double kBar = 0.9;  // of the best that oneDNN shows

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  struct Layer {
    int64_t tokens, out, in;
  };
  const std::vector<Layer> layers = {{4096, 128, 128},  {8192, 128, 128},  {4096, 256, 128},  {4096, 128, 256},
                                     {12800, 64, 64},   {12800, 128, 64},  {12800, 192, 64},  {4096, 512, 512},
                                     {4096, 2048, 512}, {4096, 512, 2048}, {4096, 384, 384},  {4096, 1536, 384},
                                     {256, 768, 768},   {256, 2304, 768},  {256, 3072, 768},  {256, 768, 3072},
                                     {256, 10000, 128}, {512, 10000, 128}, {256, 10000, 512}, {256, 50257, 768}};
  for (const Layer& l : layers) {
    all.push_back({l.tokens, l.out, l.in, 'N', 'T'});  // y = x W^T
    all.push_back({l.tokens, l.in, l.out, 'N', 'N'});  // dx = dy W
    all.push_back({l.out, l.in, l.tokens, 'T', 'N'});  // dW += dy^T x
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> counts;
  std::vector<std::string> wanted;
  auto precision = heed::kernels::Precision::kF32;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "bf16") == 0) {
      precision = heed::kernels::Precision::kBf16;
    } else if (std::atoi(argv[i]) > 0 && !std::strchr(argv[i], 'x')) {
      counts.push_back(std::atoi(argv[i]));
    } else {
      wanted.emplace_back(argv[i]);
    }
  }
  if (counts.empty()) counts = {1, heed::num_threads()};
  const char* slow = std::getenv("HEED_BENCH_SECONDS");
  const double seconds = slow ? std::atof(slow) : 0.15;
  int below = 0;
  for (const int threads : counts) {
    heed::set_num_threads(threads);
    omp_set_num_threads(threads);
    fmt::print("{} thread(s), GFLOP/s: heed, oneDNN (better of sgemm and packed matmul), ratio\n", threads);
    int behind = 0, level = 0, rows = 0;
    for (const Shape& s : shapes()) {
      const std::string name = fmt::format("{}{} {}x{}x{}", s.a, s.b, s.M, s.N, s.K);
      const auto matches = [&](const std::string& part) { return name.find(part) != std::string::npos; };
      if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), matches)) continue;
      ++rows;
      const Times t = measure(s, precision, seconds);
      const double flops = 2e-9 * static_cast<double>(s.M) * static_cast<double>(s.N) * static_cast<double>(s.K);
      const double ratio = std::min(t.sgemm, t.matmul) / t.heed;
      behind += ratio < kBar;
      level += ratio >= 1;
      fmt::print("{:<20} {:7.1f}  {:7.1f} ({})  {:5.1f} %\n", name, flops / t.heed, flops / std::min(t.sgemm, t.matmul),
                 t.sgemm < t.matmul ? "sgemm " : "matmul", 100 * ratio);
      std::fflush(stdout);
    }
    fmt::print("{} of {} at {:.0f} % or more, {} at 100 % or more\n", rows - behind, rows, 100 * kBar, level);
    below += behind;
  }
  return precision == heed::kernels::Precision::kF32 && below > 0 ? 1 : 0;
}
