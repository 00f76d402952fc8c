#include "heed/cli/bench.h"

namespace heed::cli {

void add_bench(CLI::App& parent, const Common& common) {
  CLI::App* bench = add_command(parent, "bench", "how fast this machine trains, translates and generates",
                                "heed bench train --preset tiny");
  add_bench_train(*bench, common);
  add_bench_product(*bench, common);
  add_bench_attention(*bench, common);
  add_bench_translate(*bench, common);
  add_bench_generate(*bench, common);
  print_help_alone(bench);
}

}  // namespace heed::cli
