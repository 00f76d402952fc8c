// heed bench train: whole training steps (forward, loss, backward, clip, optimizer), dropout on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "heed/base/buffer.h"
#include "heed/base/memory.h"
#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/cli/bench.h"
#include "heed/cli/bench_workload.h"
#include "heed/cli/measure.h"
#include "heed/kernels/gemm.h"

namespace heed::cli {
namespace {

struct Options {
  std::string preset = "tiny", precision = "f32";
  double seconds = 10;
  bool recompute = false;
};

struct Result {
  std::vector<double> rate, seconds, gflops;
  double first_loss = 0, last_loss = 0, peak = 0;
};

Result run(const Workload& w, const Options& options, uint64_t seed) {
  const Precision precision = options.precision == "bf16" ? Precision::kBf16 : Precision::kF32;
  const PrecisionScope scope(precision);
  train::Optimizer optimizer(*w.parameters, w.optimizer);
  Result r;
  // Between steps, again and again: a load that comes and goes meets steps and products alike.
  double looked = now_seconds();
  const auto look_at_peak = [&](double seconds) {
    r.peak = std::max(r.peak, product_peak(seconds, precision == Precision::kBf16));
    looked = now_seconds();
  };
  double start = now_seconds();
  // A few batches, the last of the round, warm the buffers up and are not counted.
  const size_t warm = std::min<size_t>(w.count.size(), 4);
  for (uint64_t step = 0; step < warm + 3 || now_seconds() - start < options.seconds; ++step) {
    const size_t batch = (step + w.count.size() - warm) % w.count.size();
    const double before = now_seconds();
    const LossResult loss =
        w.loss(batch, {.training = true, .seed = seed, .step = step, .recompute = options.recompute});
    loss.loss.backward();
    optimizer.step(w.learning_rate);
    const double spent = now_seconds() - before;
    r.last_loss = loss.loss.item();
    if (step == 0) r.first_loss = r.last_loss;
    if (step < warm) {
      start = now_seconds();
      continue;
    }
    r.rate.push_back(w.count[batch] / spent);
    r.seconds.push_back(spent);
    r.gflops.push_back(1e-9 * w.flops[batch] / spent);
    if (now_seconds() - looked > 1) look_at_peak(0.1);
  }
  look_at_peak(0.5);
  return r;
}

nlohmann::json to_json(const Result& r, const Workload& w, const Options& options) {
  const auto best = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  return {
      {"bench", "train"},
      {"preset", options.preset},
      {"precision", options.precision},
      {"activation_checkpointing", options.recompute},
      {"threads", num_threads()},
      {w.unit + "_per_second", {{"best", best(r.rate)}, {"median", median(r.rate)}}},
      {"ms_per_step",
       {{"best", 1e3 * *std::min_element(r.seconds.begin(), r.seconds.end())}, {"median", 1e3 * median(r.seconds)}}},
      {"gflops", {{"best", best(r.gflops)}, {"median", median(r.gflops)}}},
      {"peak_gflops", r.peak},
      {"share_of_peak", {{"best", best(r.gflops) / r.peak}, {"median", median(r.gflops) / r.peak}}},
      {"steps", r.rate.size()},
      {"parameters", w.parameters->count()},
      {"loss", {{"first", r.first_loss}, {"last", r.last_loss}}},
      {"peak_memory_bytes", peak_memory()},
      {"buffers", {{"peak_used_bytes", pool_stats().peak_used}, {"held_bytes", pool_stats().bytes_held}}}};
}

std::string to_text(const nlohmann::json& j, const std::string& unit) {
  const auto& rate = j[unit + "_per_second"];
  return fmt::format(
      "{} training, {}, {} threads, {} parameters\n"
      "  {:>12.0f} {}/s best, {:.0f} median   ({:.1f} ms a step, {} steps)\n"
      "  {:>12.1f} GFLOP/s of useful arithmetic, {:.0f} % of the {:.1f} that products reach here\n"
      "  {:>12.1f} MiB at most\n",
      j["preset"].get<std::string>(), j["precision"].get<std::string>(), j["threads"].get<int>(),
      with_commas(j["parameters"].get<int64_t>()), rate["best"].get<double>(), unit, rate["median"].get<double>(),
      j["ms_per_step"]["median"].get<double>(), j["steps"].get<int>(), j["gflops"]["best"].get<double>(),
      100 * j["share_of_peak"]["best"].get<double>(), j["peak_gflops"].get<double>(),
      j["peak_memory_bytes"].get<double>() / (1 << 20));
}

}  // namespace

void add_bench_train(CLI::App& bench, const Common& common) {
  CLI::App* app =
      add_command(bench, "train", "whole training steps of a preset", "heed bench train --preset tiny --json");
  const auto options = std::make_shared<Options>();
  add_choice(app, "--preset", options->preset, workload_names(), "tiny without it");
  add_choice(app, "--precision", options->precision, {"f32", "bf16"}, "f32 without it");
  add_number(app, "--seconds", options->seconds, {0.1, 3600}, "how long to measure; 10 without it");
  add_flag(app, "--activation-checkpointing", options->recompute,
           "compute blocks twice instead of keeping their inside");
  on_run(app, [options, &common] {
    const uint64_t seed = static_cast<uint64_t>(common.seed);
    if (options->precision == "bf16" && !kernels::has_native_bf16()) {
      message(common, "this CPU has no bf16 products: they are computed slowly, to the same rounding");
    }
    const Workload w = training_workload(options->preset, seed);
    const nlohmann::json result = to_json(run(w, *options, seed), w, *options);
    print(common.json ? result.dump() + "\n" : to_text(result, w.unit));
  });
}

}  // namespace heed::cli
