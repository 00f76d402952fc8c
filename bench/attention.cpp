// Attention forward and backward: useful GFLOP/s (two products forward, four backward, of the pairs that a causal mask
// leaves: that the backward computes the scores again is no useful work) and the extra memory it takes. One JSON object
// a line.
//   attention [threads] [name of a case]
#include "heed/kernels/attention.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "heed/base/buffer.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"

namespace {

using heed::kernels::Attention;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Shape {
  std::string name;
  std::vector<int> lengths;
  int64_t heads, size;
  bool causal;
  float dropout;
};

struct Times {
  double forward = 1e9, both = 1e9;
};

// The best of as many runs as fit in a second and a half, at least two.
template <class Forward, class Backward>
Times best_of(Forward&& forward, Backward&& backward) {
  Times best;
  const auto begin = Clock::now();
  for (int run = 0; run < 3 || seconds_since(begin) < 1.5; ++run) {
    const auto start = Clock::now();
    forward();
    const double half = seconds_since(start);
    backward();
    best.forward = std::min(best.forward, half);
    best.both = std::min(best.both, seconds_since(start));
  }
  return best;
}

void measure(const Shape& s) {
  std::vector<int32_t> offsets{0};
  double pairs = 0;
  for (int n : s.lengths) {
    offsets.push_back(offsets.back() + n);
    pairs += s.causal ? n * (n + 1.0) / 2 : static_cast<double>(n) * n;
  }
  const int64_t T = offsets.back(), C = s.heads * s.size;
  const auto random = [n = static_cast<size_t>(T * C)](uint64_t seed) {
    heed::Random source(seed);
    std::vector<float> x(n);
    for (float& v : x) v = source.uniform() * 2 - 1;
    return x;
  };
  const std::vector<float> q = random(1), k = random(2), v = random(3), dout = random(4);
  std::vector<heed::kernels::SoftmaxRow> softmax(static_cast<size_t>(T * s.heads));
  std::vector<float> out(q.size()), dq(q.size()), dk(q.size()), dv(q.size());
  Attention a{};
  a.sequences = static_cast<int64_t>(s.lengths.size());
  a.q_offsets = a.k_offsets = offsets.data();
  a.heads = a.kv_heads = s.heads;
  a.D = a.Dv = s.size;
  a.scale = 1.0f / std::sqrt(static_cast<float>(s.size));
  a.causal = s.causal;
  a.dropout = {s.dropout, 1};
  heed::release_unused();
  heed::reset_peak();
  const Times t = best_of(
      [&] {
        heed::kernels::attention(a, {{q.data(), C}, {k.data(), C}, {v.data(), C}, out.data(), C, softmax.data()});
      },
      [&] {
        heed::kernels::attention_backward(a, {{q.data(), C},
                                              {k.data(), C},
                                              {v.data(), C},
                                              {out.data(), C},
                                              {dout.data(), C},
                                              softmax.data(),
                                              {dq.data(), C, false},
                                              {dk.data(), C, false},
                                              {dv.data(), C, false}});
      });
  const double product = 2.0 * pairs * static_cast<double>(C);
  fmt::print(
      "{{\"case\": \"{}\", \"threads\": {}, \"milliseconds\": {:.3f}, \"forward_milliseconds\": {:.3f}, \"gflops\": "
      "{:.1f}, "
      "\"forward_gflops\": {:.1f}, \"extra_megabytes\": {:.1f}}}\n",
      s.name, heed::num_threads(), t.both * 1e3, t.forward * 1e3, 6 * product / t.both * 1e-9,
      2 * product / t.forward * 1e-9, static_cast<double>(heed::pool_stats().peak_used) * 1e-6);
  std::fflush(stdout);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (int n : {64, 128, 512, 4096})
    all.push_back({"causal " + std::to_string(n), std::vector<int>(static_cast<size_t>(4096 / n), n), 8, 64, true, 0});
  all.push_back({"causal 16384", {16384}, 8, 64, true, 0});
  std::vector<int> ragged;
  heed::Random random(5);
  for (int64_t total = 0; total < 4096; total += ragged.back())
    ragged.push_back(5 + static_cast<int>(random.below(10) + random.below(10)));
  all.push_back({"ragged 14", ragged, 4, 32, false, 0.1f});
  all.push_back({"vit 50", std::vector<int>(256, 50), 4, 16, false, 0});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) heed::set_num_threads(std::atoi(argv[1]));
  for (const Shape& s : shapes()) {
    if (argc < 3 || s.name == argv[2]) measure(s);
  }
}
