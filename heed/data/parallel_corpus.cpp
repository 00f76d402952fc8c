#include "heed/data/parallel_corpus.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"

namespace heed::data {
namespace {

constexpr size_t kPlacesToName = 3;

// UTF-16 and binary files are full of NUL.
bool is_text(std::string_view line) { return line.find('\0') == std::string_view::npos && text::valid_utf8(line); }

std::string names_of(const std::vector<std::string>& files) {
  return files.size() == 1 ? printable(files[0]) : fmt::format("{} and {} more", printable(files[0]), files.size() - 1);
}

std::vector<LineReader> open_sides(const CorpusConfig& config) {
  std::vector<LineReader> readers;
  if (!config.tsv.empty()) {
    if (!config.src.empty() || !config.tgt.empty())
      fail("[corpus] both TSV and source or target files are named, expected one");
    // Two columns and their tab; what a further column adds may be cut.
    readers.emplace_back(config.tsv, LineLimit{2 * config.max_bytes + 2});
    return readers;
  }
  if (config.src.empty() || config.tgt.empty()) {
    fail("[corpus] no {} file is named, expected one or more of each side", config.src.empty() ? "source" : "target");
  }
  const auto from_stdin = [](const std::vector<std::string>& files) {
    return std::count(files.begin(), files.end(), "-");
  };
  if (from_stdin(config.src) + from_stdin(config.tgt) > 1)
    fail("[corpus] standard input can be read once, found '-' twice");
  readers.emplace_back(config.src, LineLimit{config.max_bytes});
  readers.emplace_back(config.tgt, LineLimit{config.max_bytes});
  return readers;
}

}  // namespace

std::string describe(const BadLineCount& bad, std::string_view what) {
  std::string places;
  for (const std::string& place : bad.first) places += (places.empty() ? "" : ", ") + place;
  if (bad.count > static_cast<int64_t>(bad.first.size())) places += ", ...";
  return fmt::format("{} {} ({})", with_commas(bad.count), what, places);
}

void count_bad_line(BadLineCount& kind, std::string place) {
  ++kind.count;
  if (kind.first.size() < kPlacesToName) kind.first.push_back(std::move(place));
}

std::string CorpusReport::text() const {
  std::string skipped;
  const auto add = [&](const BadLineCount& bad, std::string_view what) {
    if (bad.count > 0) skipped += (skipped.empty() ? "; skipped " : ", ") + describe(bad, what);
  };
  add(empty, "empty");
  add(too_long, "too long");
  add(not_utf8, "not UTF-8");
  add(no_tab, "without a tab");
  return fmt::format("{} pair{}{}", with_commas(pairs), pairs == 1 ? "" : "s", skipped);
}

ParallelCorpus::ParallelCorpus(CorpusConfig config) : config_(std::move(config)) {
  if (config_.max_bytes < 1) fail("[corpus] max_bytes is {}, expected at least 1", config_.max_bytes);
  readers_ = open_sides(config_);
}

bool ParallelCorpus::next(SentencePair& pair) {
  while (next_lines(pair)) {
    if (readers_.size() == 1 && !split_columns(pair)) continue;
    if (!good(pair.source, kSource) || !good(pair.target, kTarget)) continue;
    ++report_.pairs;
    return true;
  }
  return false;
}

bool ParallelCorpus::next_lines(SentencePair& pair) {
  const bool more = readers_[0].next(pair.source);
  if (readers_.size() > 1 && readers_[1].next(pair.target) != more) {
    LineReader& longer = more ? readers_[0] : readers_[1];
    int64_t longer_lines = lines_ + 1;
    for (std::string rest; longer.next(rest);) ++longer_lines;
    more ? unequal(longer_lines, lines_) : unequal(lines_, longer_lines);
  }
  lines_ += more;
  return more;
}

void ParallelCorpus::unequal(int64_t source_lines, int64_t target_lines) const {
  fail_file("[corpus] unequal numbers of lines: {} in {}, {} in {}", with_commas(source_lines), names_of(config_.src),
            with_commas(target_lines), names_of(config_.tgt));
}

bool ParallelCorpus::split_columns(SentencePair& pair) {
  const size_t tab = pair.source.find('\t');
  if (tab == std::string::npos) {
    if (text::is_blank(pair.source)) {
      bad(report_.empty, "is empty", kSource);
    } else if (readers_[0].cut()) {
      bad(report_.too_long, "is too long", kSource);
    } else {
      bad(report_.no_tab, "has no tab between source and target", kSource);
    }
    return false;
  }
  const size_t end = std::min(pair.source.find('\t', tab + 1), pair.source.size());
  if (readers_[0].cut() && end == pair.source.size()) {  // the second column lost its end, however long it seems
    bad(report_.too_long, "is too long", kTarget);
    return false;
  }
  pair.target.assign(pair.source, tab + 1, end - tab - 1);
  pair.source.resize(tab);
  return true;
}

bool ParallelCorpus::good(const std::string& sentence, Side side) {
  const bool cut = readers_.size() > 1 && readers_[side].cut();
  if (cut || static_cast<int64_t>(sentence.size()) > config_.max_bytes) {
    bad(report_.too_long, "is too long", side);
  } else if (text::is_blank(sentence)) {
    bad(report_.empty, "is empty", side);
  } else if (!is_text(sentence)) {
    bad(report_.not_utf8, "is not UTF-8 text", side);
  } else {
    return true;
  }
  return false;
}

void ParallelCorpus::bad(BadLineCount& kind, const char* what, Side side) {
  if (config_.bad_lines == BadLines::kRefuse) {
    const std::string limit = &kind == &report_.too_long ? fmt::format(" (more than {} bytes)", config_.max_bytes) : "";
    fail_file("[corpus] {} {}{}", place(side), what, limit);
  }
  count_bad_line(kind, place(side));
}

std::string ParallelCorpus::place(Side side) const { return readers_[readers_.size() > 1 ? side : 0].place(); }

double ParallelCorpus::progress() const {
  double sum = 0;
  for (const LineReader& reader : readers_) sum += reader.progress();
  return sum / static_cast<double>(readers_.size());
}

}  // namespace heed::data
