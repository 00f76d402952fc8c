#include "heed/cli/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/io/printable.h"
#include "heed/kernels/isa.h"

namespace heed::cli {

#define HEED_COMMAND(name) void add_##name(CLI::App& parent, const Common& common);
#include "heed/cli/commands.inc"
#undef HEED_COMMAND

namespace {

// Whoever read the output has gone, as `| head` does. No error: an end without a word.
struct ReaderGone {};

constexpr const char* kEverywhere =
    "Everywhere: --threads N  --seed N  --json (full precision)  --quiet  --verbose  --help";

const CLI::App* deepest_named(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::vector<std::string> child_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* child : app->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(child->get_name());
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// What CLI11 could not place: an unknown flag, verb or kind, or one argument too many.
std::string explain_extra(const CLI::App* app, const std::string& extra) {
  const std::string where = place(app);
  const std::string name = extra.substr(0, extra.find('='));
  const bool is_flag = name.size() > 1 && name[0] == '-';
  if (is_flag && looks_like_a_number(extra)) return fmt::format("{} '{}': expected a finite number", where, extra);
  const std::vector<std::string> known = is_flag ? flag_names(app) : child_names(app);
  const char* what = is_flag ? "unknown flag" : app->get_parent() == nullptr ? "unknown command" : "unknown kind";
  if (known.empty()) return fmt::format("{} unexpected argument '{}'", where, extra);
  const std::string near = nearest(name, known);
  if (near == name && !name.empty()) return fmt::format("{} unexpected '--' before '{}'", where, name);
  if (!near.empty()) return fmt::format("{} {} '{}': did you mean '{}'?", where, what, name, near);
  if (is_flag) return fmt::format("{} {} '{}': see --help", where, what, name);
  return fmt::format("{} {} '{}': expected {}", where, what, name, fmt::join(known, ", "));
}

// CLI11's "--beam: 1 required N missing" and "--beam: At Most 1 required but received 2" in plain words.
std::string explain_count(const std::string& message) {
  const std::string flag = message.substr(0, message.find(':'));
  const size_t received = message.find("required but received ");
  if (received != message.npos) {
    return fmt::format("{} is given {} times, expected once", flag, message.substr(message.rfind(' ') + 1));
  }
  return message.ends_with("missing") ? fmt::format("{} has no value, expected one", flag) : message;
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return printable(text);
}

int complain(int status, const std::string& line) {
  say(fmt::format("heed: {}\n", one_line(line)));
  return status;
}

std::string overview(const CLI::App& app) {
  std::string text = fmt::format(
      "heed {} - the Transformer as one native system: train it, run it, look inside.\n\nUsage: heed COMMAND ...\n\n",
      HEED_VERSION);
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    text += fmt::format("  {:10} {}\n", child->get_name(), child->get_description());
  }
  return text + fmt::format("\nTry: heed show attention\n{}\n", kEverywhere);
}

void add_everywhere(CLI::App& app, Common& common) {
  add_whole(
      &app, "--threads", common.threads, {1, 1024},
      "threads to use; without it, as many as this process may use (SentencePiece learns its pieces on 4, always)");
  add_whole(&app, "--seed", common.seed, {0, INT64_MAX}, "seed of everything random");
  app.add_flag("--quiet", common.quiet, "no messages")->disable_flag_override();
  app.add_flag("--verbose", common.verbose, "more messages")->disable_flag_override();
  app.add_flag("--json", common.json, "one JSON object a line, numbers with full precision")->disable_flag_override();
}

// "heed help train" and "heed version" are what people try first; -.5 is a number, which CLI11 takes for a flag.
std::vector<std::string> words_as_meant(int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "version" && argc == 2) words[1] = "--version";
  if (first == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  for (std::string& word : words) {
    if (first == "show" && word.starts_with("-.") && looks_like_a_number(word)) word.insert(1, "0");
  }
  return words;
}

std::string help_of(const CLI::App* app) {
  std::string parents;
  for (const CLI::App* up = app->get_parent(); up != nullptr; up = up->get_parent()) {
    parents.insert(0, up->get_name() + (parents.empty() ? "" : " "));
  }
  return app->help(parents);
}

int parse_and_run(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
    return 0;
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = deepest_named(&app);
    print(asked == &app ? overview(app) : help_of(asked));
    return 0;
  } catch (const CLI::CallForVersion&) {
    print(fmt::format("heed {}\n", HEED_VERSION));
    return 0;
  } catch (const CLI::ParseError& e) {
    const std::vector<std::string> extras = app.remaining(true);
    const CLI::App* asked = deepest_named(&app);
    if (!extras.empty()) return complain(2, explain_extra(asked, extras.front()));
    const std::string text = e.what();
    if (const size_t end = text.find(" was given a disallowed flag override"); end != text.npos) {
      return complain(2, fmt::format("{} --{} takes no value", place(asked), text.substr(0, end)));
    }
    return complain(2, fmt::format("{} {}", place(asked), explain_count(text)));
  }
}

}  // namespace

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::string& example) {
  CLI::App* app = parent.add_subcommand(name, summary);
  app->fallthrough();
  app->require_subcommand(0, 1);
  app->footer(fmt::format("Example:\n  {}\n\n{}\n", example, kEverywhere));
  return app;
}

void print_help_alone(CLI::App* app) {
  app->callback([app] {
    if (app->get_subcommands().empty()) print(help_of(app));
  });
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (errno == EPIPE) throw ReaderGone();
    fail_file("[stdout] cannot write: {}", std::strerror(errno));
  }
}

void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void message(const Common& common, std::string_view line) {
  if (!common.quiet) say(fmt::format("heed: {}\n", line));
}

int run_program(int argc, const char* const* argv) {
  const auto start = std::chrono::steady_clock::now();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of write(), as a full disk is
  std::signal(SIGPIPE, SIG_IGN);  // of `2>&1 | tee log` Ctrl-C ends tee first: what trains must live to save
  Common common;
  CLI::App app("", "heed");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", [] { return std::string(HEED_VERSION); });
  add_everywhere(app, common);
  app.parse_complete_callback([&] {
    common.seed_given = app.count("--seed") > 0;
    kernels::isa();  // an error where HEED_MAX_ISA makes no sense
    if (common.threads > 0) set_num_threads(static_cast<int>(common.threads));
  });
#define HEED_COMMAND(name) add_##name(app, common);
#include "heed/cli/commands.inc"
#undef HEED_COMMAND
  app.final_callback([&] {
    if (app.get_subcommands().empty()) print(overview(app));
  });
  try {
    const int status = parse_and_run(app, words_as_meant(argc, argv));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (status == 0 && common.verbose) message(common, fmt::format("done in {:.1f} ms", took.count()));
    return status;
  } catch (const ReaderGone&) {
    return 128 + SIGPIPE;
  } catch (const FileError& e) {
    return complain(1, e.what());
  } catch (const MemoryError& e) {
    return complain(1, e.what());
  } catch (const Failure& e) {
    return complain(1, e.what());
  } catch (const Error& e) {
    return complain(2, e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(1, fmt::format("[files] {}: {}", in_quotes(e.path1().string()), e.code().message()));
  } catch (const std::bad_alloc&) {
    return complain(1, "[memory] out of memory");
  } catch (const std::exception& e) {
    return complain(1, e.what());
  }
}

}  // namespace heed::cli
