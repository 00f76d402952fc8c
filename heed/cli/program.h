// The frame of the program: one file a command, one line in commands.inc to add it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heed/base/error.h"

// Only arguments.cpp, program.cpp and train.cpp read CLI11 itself, which takes ten times as long to compile as a command.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heed::cli {

// What every command takes.
struct Common {
  int64_t threads = 0;  // 0: as many as this process may use
  int64_t seed = 0;
  bool seed_given = false;
  bool quiet = false, verbose = false, json = false;
};

// What was asked for was done, and the answer is no: status 1.
class Failure : public Error {
 public:
  using Error::Error;
};

// Adds a command under `parent`, with an example for its --help. The command file adds flags and a callback, which
// runs once the whole line is understood and throws Error or FileError when it cannot go on.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::string& example);

// A command that only has others below it: alone, it prints its help.
void print_help_alone(CLI::App* app);

// Standard output, checked: a full disk is a FileError. Messages go to standard error, unless --quiet.
void print(std::string_view text);
void message(const Common& common, std::string_view line);
// Standard error as it is; where that cannot be written, there is nobody to tell.
void say(std::string_view text);

// The whole program; returns the exit status: 0, 2 for a wrong request, 1 for a failure.
int run_program(int argc, const char* const* argv);

}  // namespace heed::cli
