// heed bench product: matrix products of the shapes that training meets, or of one shape.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/cli/bench.h"
#include "heed/cli/measure.h"

namespace heed::cli {
namespace {

struct Options {
  int64_t M = 0, N = 512, K = 512;
  std::string precision = "f32";
  double seconds = 0.3;
};

struct Case {
  const char* what;
  int64_t M, N, K;
};

// Tokens by features of the models that `heed bench train` knows.
const Case kCases[] = {{"tiny: attention", 4096, 128, 128},     {"tiny: feed-forward", 4096, 256, 128},
                       {"vit: attention", 12800, 64, 64},       {"base: attention", 4096, 512, 512},
                       {"base: feed-forward", 4096, 2048, 512}, {"base: and back", 4096, 512, 2048},
                       {"chargpt: attention", 4096, 384, 384},  {"gpt2: feed-forward", 256, 3072, 768},
                       {"vocabulary", 256, 10000, 512}};

}  // namespace

void add_bench_product(CLI::App& bench, const Common& common) {
  CLI::App* app = add_command(bench, "product", "matrix products alone", "heed bench product --m 4096 --n 512 --k 512");
  const auto o = std::make_shared<Options>();
  add_whole(app, "--m", o->M, {1, 1 << 20}, "rows; without it, a list of shapes that training meets");
  add_whole(app, "--n", o->N, {1, 1 << 20}, "columns; 512 without it");
  add_whole(app, "--k", o->K, {1, 1 << 20}, "what is summed over; 512 without it");
  add_choice(app, "--precision", o->precision, {"f32", "bf16"}, "f32 without it");
  add_number(app, "--seconds", o->seconds, {0.01, 600}, "for each shape; 0.3 without it");
  on_run(app, [app, o, &common] {
    std::vector<Case> cases(std::begin(kCases), std::end(kCases));
    if (o->M) {
      cases = {{"as asked", o->M, o->N, o->K}};
    } else {
      expect_absent(app, {"--n", "--k"}, "the list of shapes: expected --m too");
    }
    for (const Case& c : cases) {
      check_room(fmt::format("[bench product] --m {} --n {} --k {}", c.M, c.N, c.K),
                 (c.M * c.K + c.K * c.N + c.M * c.N) * static_cast<int64_t>(sizeof(float)));
    }
    if (!common.json) print(fmt::format("products in {}, {} threads\n", o->precision, num_threads()));
    for (const Case& c : cases) {
      const double speed = product_speed(c.M, c.N, c.K, o->precision == "bf16", o->seconds);
      const nlohmann::json j = {
          {"bench", "product"},       {"m", c.M},       {"n", c.N}, {"k", c.K}, {"precision", o->precision},
          {"threads", num_threads()}, {"gflops", speed}};
      print(common.json
                ? j.dump() + "\n"
                : fmt::format("  {:20} {:>6} x {:>5} x {:>4}  {:8.1f} GFLOP/s\n", c.what, c.M, c.N, c.K, speed));
    }
  });
}

}  // namespace heed::cli
