// The kinds of `heed bench`, one file each.
#pragma once

#include "heed/cli/program.h"

namespace heed::cli {

void add_bench_train(CLI::App& bench, const Common& common);
void add_bench_product(CLI::App& bench, const Common& common);
void add_bench_attention(CLI::App& bench, const Common& common);
void add_bench_translate(CLI::App& bench, const Common& common);
void add_bench_generate(CLI::App& bench, const Common& common);

}  // namespace heed::cli
