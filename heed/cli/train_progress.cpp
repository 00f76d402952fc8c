#include "heed/cli/train_progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "heed/cli/arguments.h"
#include "heed/cli/terminal.h"
#include "heed/io/printable.h"

namespace heed::cli {
namespace {

// Line by line, as it was written.
std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    out += (out.empty() ? "         " : "\n         ") + printable(line);
  }
  return out;
}

// A line that wraps could not be written over.
std::string cut_to_terminal(const std::string& line) {
  const int64_t columns = terminal_columns(2);
  return columns < 2 ? line : line.substr(0, static_cast<size_t>(columns - 1));
}

}  // namespace

std::string duration_text(double seconds) {
  const auto s = static_cast<int64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

TrainProgress::TrainProgress(const Common& common) : common_(common), terminal_(::isatty(2) == 1) {}

bool TrainProgress::due(double seconds) {
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - last_).count() < seconds) return false;
  last_ = now;
  return true;
}

void TrainProgress::live(const std::string& line) {
  say("\r\033[K" + cut_to_terminal(line));
  std::fflush(stderr);
  line_open_ = true;
}

void TrainProgress::plain(const std::string& line) {
  end_line();
  say(line + "\n");
}

void TrainProgress::end_line() {
  if (line_open_) say("\n");
  line_open_ = false;
}

// A log begins with what wrote it, but a refusal stays one line: it comes before anything is told.
void TrainProgress::introduce() {
  if (common_.quiet || introduced_) return;
  introduced_ = true;
  plain(train::this_writer());
}

void TrainProgress::on_step(const train::StepReport& r) {
  if (common_.quiet || !due(terminal_ ? 0.2 : 10)) return;
  const std::string left = r.seconds_left >= 0 ? "  " + duration_text(r.seconds_left) + " left" : "";
  const std::string line = fmt::format("epoch {} {:2.0f}%  step {}  loss {:.3f}  ppl {:.2f}  lr {:.2e}  {:.0f} tok/s{}",
                                       r.epoch, 100.0 * static_cast<double>(r.batch) / static_cast<double>(r.batches),
                                       r.step, r.loss, r.perplexity, r.learning_rate, r.tokens_per_second, left);
  terminal_ ? live(line) : plain(line);
}

void TrainProgress::on_validation(const train::ValidationReport& r) {
  if (common_.quiet) return;
  // The columns that every task has, and those of the one at hand.
  const bool text = r.bits_per_byte >= 0, images = r.bits_per_dim >= 0;
  if (!table_started_) {
    const std::string own = text     ? fmt::format(" {:>9}", "bits/byte")
                            : images ? fmt::format(" {:>8}", "bits/dim")
                                     : fmt::format(" {:>7} {:>7}", "BLEU", "chrF");
    plain(fmt::format("{:>8} {:>6} {:>8} {:>11}{}", "step", "epoch", "loss", "perplexity", own));
  }
  table_started_ = true;
  const auto score = [](double value) { return value < 0 ? std::string("-") : fmt::format("{:.2f}", value); };
  const std::string own = text     ? fmt::format(" {:>9.4f}", r.bits_per_byte)
                          : images ? fmt::format(" {:>8.4f}", r.bits_per_dim)
                                   : fmt::format(" {:>7} {:>7}", score(r.bleu), score(r.chrf));
  plain(fmt::format("{:>8} {:>6} {:>8.4f} {:>11.2f}{}{}", r.step, r.epoch, r.loss, r.perplexity, own,
                    r.best ? "  best" : ""));
  for (const std::string& sample : r.texts) plain(indented(sample));
  for (const train::SampleTranslation& s : r.samples) {
    plain(fmt::format("         {}\n      -> {}\n       = {}", printable(s.source), printable(s.translation),
                      printable(s.reference)));
  }
}

void TrainProgress::on_message(const std::string& text) {
  introduce();
  end_line();
  message(common_, text);
}

void TrainProgress::on_progress(const std::string& stage, double share) {
  if (stage != stage_) stage_ = stage, stage_started_ = Clock::now();
  if (common_.quiet || !due(terminal_ ? 0.2 : 5)) return;
  introduce();
  const double spent = std::chrono::duration<double>(Clock::now() - stage_started_).count();
  const std::string left = share > 0.02 ? ", " + duration_text(spent / share * (1 - share)) + " left" : "";
  const std::string line = fmt::format("{} {:.0f} %{}", stage, 100 * share, left);
  terminal_ ? live(line) : plain(line);
}

void TrainProgress::started(const train::TrainConfig& config, const train::Forecast& f) {
  const std::string time = !std::isfinite(f.seconds)
                               ? "until it is stopped"
                               : fmt::format("about {} left{}", duration_text(f.seconds),
                                             train::validates(config) ? " besides validations" : "");
  const train::TrainConfig::Model& m = config.model;
  const std::string what = m.adapts()        ? fmt::format("LoRA of rank {}, alpha {}, beside {} of '{}'", m.lora,
                                                           m.lora_alpha, fmt::join(m.lora_modules, ", "), m.from)
                           : !m.from.empty() ? in_quotes(m.from)
                                             : m.preset;
  on_message(fmt::format("{}: {} parameters, {}", what, with_commas(f.parameters), f.data));
  on_message(fmt::format("{:.0f} tokens/s in {}, {:.0f} MB of memory, {}", f.tokens_per_second, config.train.precision,
                         static_cast<double>(f.memory_bytes) * 1e-6, time));
}

}  // namespace heed::cli
