// heed bench attention: forward and backward of attention alone.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "heed/base/buffer.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/cli/bench.h"
#include "heed/cli/measure.h"
#include "heed/tensor/ops.h"

namespace heed::cli {
namespace {

struct Options {
  int64_t length = 0, tokens = 4096, heads = 8, head_size = 64;
  bool all = false;  // keys after the query too
  double seconds = 1;
};

Tensor random_rows(int64_t T, int64_t C, uint64_t seed) {
  Tensor x = Tensor::empty({T, C});
  Random random(seed);
  for (int64_t i = 0; i < x.numel(); ++i) x.data()[i] = random.normal();
  x.set_requires_grad();
  return x;
}

int64_t sequences_of(int64_t length, const Options& o) { return std::max<int64_t>(1, o.tokens / length); }

// q, k, v, upstream, the output and three gradients; the softmax of each row.
int64_t bytes_of(int64_t length, const Options& o) {
  return sequences_of(length, o) * length * o.heads * (8 * o.head_size + 2) * static_cast<int64_t>(sizeof(float));
}

nlohmann::json measure(int64_t length, const Options& o) {
  const int64_t sequences = sequences_of(length, o), T = sequences * length, C = o.heads * o.head_size;
  Tensor q = random_rows(T, C, 1), k = random_rows(T, C, 2), v = random_rows(T, C, 3);
  const Tensor upstream = random_rows(T, C, 4);
  AttentionArgs args;
  args.heads = args.kv_heads = o.heads;
  args.q_spans = args.k_spans = Spans::dense(sequences, length);
  args.causal = !o.all;
  const int64_t before_bytes = pool_stats().bytes_used + 4 * T * C * 4;  // q, k, v, upstream; out and gradients are due
  reset_peak();
  double best = 1e30;
  const double start = now_seconds();
  do {
    const double before = now_seconds();
    attention(q, k, v, args).backward(upstream);
    best = std::min(best, now_seconds() - before);
    for (Tensor* x : {&q, &k, &v}) x->clear_grad();
  } while (now_seconds() - start < o.seconds);
  const double n = static_cast<double>(length);
  const double pairs = static_cast<double>(sequences) * (o.all ? n * n : n * (n + 1) / 2);
  // Two products forward and four backward; that the backward computes the scores again is no useful work.
  const double flops = 6 * 2 * pairs * static_cast<double>(C);
  return {{"bench", "attention"},
          {"length", length},
          {"tokens", T},
          {"heads", o.heads},
          {"head_size", o.head_size},
          {"causal", !o.all},
          {"threads", num_threads()},
          {"ms", 1e3 * best},
          {"gflops", 1e-9 * flops / best},
          {"extra_bytes", std::max<int64_t>(0, pool_stats().peak_used - before_bytes)}};
}

void expect_whole_sequences(std::vector<int64_t>& lengths, const Options& o) {
  const int64_t shortest = lengths.front();
  std::erase_if(lengths, [&](int64_t length) { return length > o.tokens; });
  if (lengths.empty()) fail("[bench attention] --tokens {}: expected at least one sequence of {}", o.tokens, shortest);
}

}  // namespace

void add_bench_attention(CLI::App& bench, const Common& common) {
  CLI::App* app =
      add_command(bench, "attention", "attention alone, forward and backward", "heed bench attention --length 512");
  const auto o = std::make_shared<Options>();
  add_whole(app, "--length", o->length, {1, 1 << 17}, "of a sequence; without it, 64, 128, 512, 4096 and 16384");
  add_whole(app, "--tokens", o->tokens, {1, 1 << 20}, "in all sequences; 4096, or one sequence, without it");
  add_whole(app, "--heads", o->heads, {1, 256}, "8 without it");
  add_whole(app, "--head-size", o->head_size, {1, 1024}, "features of a head; 64 without it");
  add_flag(app, "--all", o->all, "a query sees every key, not only those up to it");
  add_number(app, "--seconds", o->seconds, {0.01, 600}, "for each length; 1 without it");
  on_run(app, [app, o, &common] {
    std::vector<int64_t> lengths = {64, 128, 512, 4096, 16384};
    if (o->length) lengths = {o->length};
    if (given(app, "--tokens")) expect_whole_sequences(lengths, *o);
    for (const int64_t length : lengths) {
      check_room(fmt::format("[bench attention] --length {} --tokens {} --heads {} --head-size {}", length, o->tokens,
                             o->heads, o->head_size),
                 bytes_of(length, *o));
    }
    if (!common.json) {
      print(fmt::format("attention forward and backward, {} heads of {}, {}, {} threads\n", o->heads, o->head_size,
                        o->all ? "all keys" : "causal", num_threads()));
    }
    for (const int64_t length : lengths) {
      const nlohmann::json j = measure(length, *o);
      print(common.json ? j.dump() + "\n"
                        : fmt::format("  sequences of {:>6}  {:9.2f} ms  {:7.1f} GFLOP/s  {:7.1f} MiB\n", length,
                                      j["ms"].get<double>(), j["gflops"].get<double>(),
                                      j["extra_bytes"].get<double>() / (1 << 20)));
    }
  });
}

}  // namespace heed::cli
