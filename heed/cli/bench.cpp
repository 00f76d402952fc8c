#include "heed/cli/bench.h"

#include <fmt/format.h>

#include "heed/base/error.h"
#include "heed/base/memory.h"

namespace heed::cli {

void check_room(const std::string& asked, int64_t bytes) {
  constexpr double kGiB = 1 << 30;
  const int64_t free = available_memory();
  if (bytes <= free) return;
  fail("{} would take {:.1f} GiB: {:.1f} are free", asked, static_cast<double>(bytes) / kGiB,
       static_cast<double>(free) / kGiB);
}

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
