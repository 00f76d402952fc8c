// Flags whose wrong values are one line with the place; numbers and matrices as people type them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/cli/program.h"
#include "heed/io/printable.h"

namespace heed::cli {

// "[show attention]", for messages.
std::string place(const CLI::App* app);

struct Range {
  int64_t least, most;
};
struct RealRange {
  double least, most;
};
enum class Need { kOptional, kRequired };
// A name without dashes is a word by its place.
void add_text(CLI::App* app, const std::string& name, std::string& value, const std::string& help,
              const std::string& type = "", Need need = Need::kOptional);
void add_texts(CLI::App* app, const std::string& name, std::vector<std::string>& values, const std::string& help,
               const std::string& type = "", Need need = Need::kOptional);
void add_flag(CLI::App* app, const std::string& flag, bool& value, const std::string& help);
bool given(const CLI::App* app, const std::string& flag);
// Error where one of them was given though it has no say there: `where_not` as in "--kind paper".
void expect_absent(const CLI::App* app, const std::vector<std::string>& flags, const std::string& where_not);
// What the command does, once the whole line is understood.
void on_run(CLI::App* app, std::function<void()> run);

void add_whole(CLI::App* app, const std::string& flag, int64_t& value, Range range, const std::string& help);
void add_number(CLI::App* app, const std::string& flag, double& value, RealRange range, const std::string& help);
void add_choice(CLI::App* app, const std::string& flag, std::string& value, const std::vector<std::string>& choices,
                const std::string& help);
// "--lengths 5,3,4": whole numbers, at most `most_count` of them.
void add_wholes(CLI::App* app, const std::string& flag, std::vector<int64_t>& values, Range range,
                const std::string& help);

// True for what a person means as a number, also "nan", "-inf" and "1e999".
bool looks_like_a_number(const std::string& text);
// A finite number, or Error with `where` in front.
double parse_number(const std::string& where, const std::string& text);

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
};
// Rows end with ';' or a new line, numbers are apart by blanks or commas: "1 0; 0 1". Text without numbers names a file
// of the same form. Every row is as long as the first, and every number finite.
Matrix parse_matrix(const std::string& where, const std::string& text_or_file);

}  // namespace heed::cli
