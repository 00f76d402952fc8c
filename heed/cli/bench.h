// The kinds of `heed bench`, one file each.
#pragma once

#include <cstdint>
#include <string>

#include "heed/cli/program.h"

namespace heed::cli {

void add_bench_train(CLI::App& bench, const Common& common);
void add_bench_product(CLI::App& bench, const Common& common);
void add_bench_attention(CLI::App& bench, const Common& common);
void add_bench_translate(CLI::App& bench, const Common& common);
void add_bench_generate(CLI::App& bench, const Common& common);

// An error where so many bytes are not free; `asked` are the flags that ask for them.
void check_room(const std::string& asked, int64_t bytes);

}  // namespace heed::cli
