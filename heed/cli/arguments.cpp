#include "heed/cli/arguments.h"

#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostNumbers = 1 << 20;       // of one matrix
constexpr size_t kMostBytes = size_t{1} << 24;  // of one matrix file

int64_t parse_whole(const std::string& where, const std::string& text, Range range) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() && !text.empty();
  if (whole && error == std::errc() && value >= range.least && value <= range.most) return value;
  if (range.most == INT64_MAX) fail("{} '{}': expected a whole number of at least {}", where, text, range.least);
  fail("{} '{}': expected a whole number from {} to {}", where, text, range.least, range.most);
}

std::string flag_place(const CLI::App* app, const std::string& flag) {
  return fmt::format("{} {}", place(app), flag.substr(0, flag.find(',')));
}

std::string read_text(const std::string& where, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) fail_file("{} {}: {}", where, path, std::strerror(errno));
  std::string text(kMostBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) fail_file("{} {}: {}", where, path, std::strerror(errno));
  if (text.size() > kMostBytes) fail_file("{} {}: expected at most {} bytes", where, path, kMostBytes);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark
  return text;
}

void parse_row(const std::string& where, std::string_view row, Matrix& matrix) {
  const char* blanks = " \t\r,";
  int64_t columns = 0;
  for (size_t at = row.find_first_not_of(blanks); at != row.npos; at = row.find_first_not_of(blanks, at)) {
    const size_t end = std::min(row.find_first_of(blanks, at), row.size());
    const std::string here = fmt::format("{} row {}, column {}:", where, matrix.rows + 1, columns + 1);
    const double value = parse_number(here, std::string(row.substr(at, end - at)));
    if (std::abs(value) > FLT_MAX)
      fail("{} {}: expected a number within +-3.4e38", here, in_quotes(row.substr(at, end - at)));
    matrix.values.push_back(static_cast<float>(value));
    if (static_cast<int64_t>(matrix.values.size()) > kMostNumbers) {
      fail("{} more than {} numbers", where, with_commas(kMostNumbers));
    }
    ++columns;
    at = end;
  }
  ++matrix.rows;
  if (columns == 0) fail("{} row {} is empty", where, matrix.rows);
  if (matrix.rows == 1) matrix.columns = columns;
  if (columns != matrix.columns) {
    fail("{} row {} has {} numbers: expected {} as in row 1", where, matrix.rows, columns, matrix.columns);
  }
}

Matrix parse_rows(const std::string& where, std::string text) {
  // The end of the last row may be written or not.
  while (!text.empty() && std::strchr(" \t\r\n;", text.back()) != nullptr) text.pop_back();
  if (text.empty()) fail("{} empty matrix: expected rows of numbers such as \"1 0; 0 1\"", where);
  Matrix matrix;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(";\n", begin), text.size());
    parse_row(where, std::string_view(text).substr(begin, end - begin), matrix);
    // The end of a line behind a semicolon ends the same row.
    const size_t line = std::min(text.find_first_not_of(" \t\r", end + 1), text.size());
    begin = end < text.size() && text[end] == ';' && text[line] == '\n' ? line + 1 : end + 1;
  }
  return matrix;
}

// Numbers in rows, however many.
bool are_numbers(const std::string& text) {
  const char* between = " \t\r\n,;";
  bool some = false;
  for (size_t at = text.find_first_not_of(between); at != text.npos; at = text.find_first_not_of(between, at)) {
    const size_t end = std::min(text.find_first_of(between, at), text.size());
    if (!looks_like_a_number(text.substr(at, end - at))) return false;
    some = true;
    at = end;
  }
  return some;
}

}  // namespace

std::string place(const CLI::App* app) {
  std::string path;
  for (; app != nullptr && app->get_parent() != nullptr; app = app->get_parent()) {
    path.insert(0, app->get_name() + (path.empty() ? "" : " "));
  }
  return fmt::format("[{}]", path.empty() ? "heed" : path);
}

void add_text(CLI::App* app, const std::string& name, std::string& value, const std::string& help,
              const std::string& type, Need need) {
  CLI::Option* option = app->add_option(name, value, help)->required(need == Need::kRequired);
  if (!type.empty()) option->type_name(type);
}

void add_texts(CLI::App* app, const std::string& name, std::vector<std::string>& values, const std::string& help,
               const std::string& type, Need need) {
  CLI::Option* option = app->add_option(name, values, help)->required(need == Need::kRequired);
  if (!type.empty()) option->type_name(type);
}

void add_flag(CLI::App* app, const std::string& flag, bool& value, const std::string& help) {
  app->add_flag(flag, value, help)->disable_flag_override();
}

bool given(const CLI::App* app, const std::string& flag) { return app->count(flag) > 0; }

void expect_absent(const CLI::App* app, const std::vector<std::string>& flags, const std::string& where_not) {
  for (const std::string& flag : flags) {
    if (given(app, flag)) fail("{} {} has no say in {}", place(app), flag, where_not);
  }
}

void on_run(CLI::App* app, std::function<void()> run) { app->callback(std::move(run)); }

void add_whole(CLI::App* app, const std::string& flag, int64_t& value, Range range, const std::string& help) {
  app->add_option_function<std::string>(
         flag, [=, &value](const std::string& text) { value = parse_whole(flag_place(app, flag), text, range); }, help)
      ->type_name("N");
}

void add_number(CLI::App* app, const std::string& flag, double& value, RealRange range, const std::string& help) {
  const auto set = [=, &value](const std::string& text) {
    value = parse_number(flag_place(app, flag), text);
    if (value < range.least || value > range.most) {
      fail("{} '{}': expected {} to {}", flag_place(app, flag), text, range.least, range.most);
    }
  };
  app->add_option_function<std::string>(flag, set, help)->type_name("X");
}

void add_choice(CLI::App* app, const std::string& flag, std::string& value, const std::vector<std::string>& choices,
                const std::string& help) {
  const auto set = [=, &value](const std::string& text) {
    for (const std::string& choice : choices) {
      if (choice == text) return void(value = text);
    }
    const std::string near = nearest(text, choices);
    if (!near.empty()) fail("{} unknown '{}': did you mean '{}'?", flag_place(app, flag), text, near);
    fail("{} unknown '{}': expected {}", flag_place(app, flag), text, fmt::join(choices, ", "));
  };
  app->add_option_function<std::string>(flag, set, fmt::format("{}: {}", help, fmt::join(choices, "|")))
      ->type_name("KIND");
}

void add_wholes(CLI::App* app, const std::string& flag, std::vector<int64_t>& values, Range range,
                const std::string& help) {
  const auto set = [=, &values](const std::string& text) {
    values.clear();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find_first_of(", ", begin), text.size());
      values.push_back(parse_whole(flag_place(app, flag), text.substr(begin, end - begin), range));
      begin = end + 1;
    }
  };
  app->add_option_function<std::string>(flag, set, help)->type_name("N,N,...");
}

bool looks_like_a_number(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return false;
  if (text.find_first_of("xX") != text.npos) return false;  // strtod also reads 0x10, which people do not mean
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size();
}

double parse_number(const std::string& where, const std::string& text) {
  if (!looks_like_a_number(text)) fail("{} {} is no number", where, in_quotes(text));
  const double value = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(value)) fail("{} {}: expected a finite number", where, in_quotes(text));
  return value;
}

Matrix parse_matrix(const std::string& where, const std::string& text_or_file) {
  // A file that is named like numbers is ./5, so that what lies in the folder does not change what 5 means.
  if (are_numbers(text_or_file)) return parse_rows(where, text_or_file);
  const bool several = text_or_file.find_first_of(" ;,\n") != std::string::npos;
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(text_or_file, ignored);
  if (!is_file && (several || text_or_file.empty())) return parse_rows(where, text_or_file);
  if (!is_file && text_or_file.find_first_of("./") == std::string::npos) {
    fail("{} {}: expected rows of numbers such as \"1 0; 0 1\", or a file of them", where, in_quotes(text_or_file));
  }
  const std::string in_file = fmt::format("{} {}:", where, text_or_file);
  try {
    return parse_rows(in_file, read_text(where, text_or_file));
  } catch (const FileError&) {
    throw;
  } catch (const Error& e) {
    throw FileError(e.what());
  }
}

}  // namespace heed::cli
