#include "heed/data/text_corpus.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/data/byte_source.h"
#include "heed/data/lines.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"

namespace heed::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr uint64_t kDraw = uint64_t{0xD0C5} << 48;  // away from the streams of other uses of the seed

bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// At or before `at`, where a character begins.
size_t character_border(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && continues_character(text[at])) --at;
  return at;
}

// Where no ids follow from it: before the last blank behind a letter or sign, at the end of a line if there is one.
size_t cut_of_piece(std::string_view text) {
  const auto stands_alone = [&](size_t at) { return text[at - 1] > ' ' && text[at - 1] < 0x7F; };
  for (const char blank : {'\n', ' '}) {
    for (size_t at = text.rfind(blank); at != text.npos && at > text.size() / 2; at = text.rfind(blank, at - 1)) {
      if (stands_alone(at)) return at;
    }
  }
  return character_border(text, text.size() - 1);
}

// The last place of a text where it may be cut; 0 where there is none near its end. The very end is not looked at: what
// stands there may go on.
size_t last_cut(std::string_view text, const std::function<bool(std::string_view text, size_t at)>& may_cut) {
  constexpr size_t kEnd = 4096, kTries = 1 << 16;
  const size_t last = text.size() - std::min(text.size() / 4, kEnd);
  for (size_t at = last; at > text.size() / 2 && last - at < kTries; --at) {
    if (!continues_character(text[at]) && may_cut(text, at)) return at;
  }
  return 0;
}

bool is_text(std::string_view text) { return text.find('\0') == text.npos && text::valid_utf8(text); }

// Without holding more of the file than a block.
bool is_text_file(const std::string& path) {
  ByteSource source(path);
  std::string block;
  std::vector<char> buffer(1 << 16);
  for (size_t size = source.read(buffer); size > 0; size = source.read(buffer)) {
    block.append(buffer.data(), size);
    // A character that the block cuts is left for the next one.
    size_t whole = block.size();
    for (size_t back = 1; back <= std::min<size_t>(3, block.size()); ++back) {
      if (continues_character(block[block.size() - back])) continue;
      if (static_cast<uint8_t>(block[block.size() - back]) >= 0xC0) whole = block.size() - back;
      break;
    }
    if (!is_text(std::string_view(block).substr(0, whole))) return false;
    block.erase(0, whole);
  }
  return is_text(block);
}

// Links to folders are not followed: they may lead back.
void add_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) entries.push_back(*it);
  if (error) fail_file("[read] cannot read the folder '{}': {}", printable(folder.string()), error.message());
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (fs::is_directory(entry.symlink_status(error))) {
      add_folder(entry.path(), files);
    } else if (entry.is_regular_file(error)) {
      files.push_back(entry.path().string());
    }
  }
}

}  // namespace

std::vector<std::string> files_under(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;  // a name that cannot be looked at is told when it is opened
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    add_folder(path, files);
    if (files.size() == before) fail_file("[read] the folder '{}' holds no file", printable(path));
  }
  return files;
}

bool TextPart::held_out(int64_t document) const {
  return Random(seed, kDraw + static_cast<uint64_t>(document)).uniform() < share;
}

std::string TextReport::text() const {
  std::string skipped;
  const auto add = [&](const BadLineCount& bad, std::string_view what) {
    if (bad.count > 0) skipped += (skipped.empty() ? "; skipped " : ", ") + describe(bad, what);
  };
  add(empty, "empty");
  add(too_long, "too long");
  add(not_utf8, "not UTF-8");
  return fmt::format("{} document{} of {} bytes{}", with_commas(documents), documents == 1 ? "" : "s",
                     with_commas(bytes), skipped);
}

struct TextCorpus::State {
  explicit State(TextConfig how) : config(std::move(how)) {
    if (config.files.empty()) fail("[read] no file is named, expected at least one");
    for (const std::string& file : config.files) {
      sizes.push_back(check_readable(file));
      all_bytes += sizes.back();
    }
    if (config.documents != Documents::kFile) lines.emplace(config.files, LineLimit{config.max_bytes});
  }

  void bad(BadLineCount& kind, const char* what, const std::string& place) {
    if (config.bad == BadLines::kRefuse) fail_file("[corpus] {} {}", place, what);
    count_bad_line(kind, place);
  }

  // --- Files ---

  bool open_next() {
    if (source) done_bytes += sizes[index++];
    source.reset();
    for (; index < config.files.size(); done_bytes += sizes[index++]) {
      const std::string& file = config.files[index];
      const std::string place = printable(file);
      if (!is_text_file(file)) {
        bad(report.not_utf8, "is not UTF-8 text", place);
        continue;
      }
      source.emplace(file);
      fill();
      if (held.starts_with(kByteOrderMark)) held.erase(0, kByteOrderMark.size());
      if (text::is_blank(held) && source_ended) {
        bad(report.empty, "is empty", place);
        source.reset();
        continue;
      }
      return true;
    }
    return false;
  }

  void fill() {
    source_ended = false;
    read_up_to(static_cast<size_t>(config.piece_bytes));
  }

  void read_up_to(size_t bytes) {
    while (held.size() < bytes && !source_ended) {
      const size_t size = source->read(buffer);
      held.append(buffer.data(), size);
      source_ended = size == 0;
    }
  }

  size_t next_cut() {
    if (!config.may_cut) return source_ended ? held.size() : cut_of_piece(held);
    while (!source_ended) {
      if (const size_t cut = last_cut(held, config.may_cut); cut > 0) return cut;
      if (held.size() >= static_cast<size_t>(config.most_bytes)) return cut_of_piece(held);
      read_up_to(2 * held.size());
    }
    return held.size();
  }

  bool next_of_files(TextPiece& piece) {
    if (!source || (source_ended && held.empty())) {
      held.clear();
      if (!open_next()) return false;
      piece.place = printable(config.files[index]);
    }
    const size_t cut = next_cut();
    piece.text = held.substr(0, cut);
    held.erase(0, cut);
    if (!source_ended) fill();
    piece.ends = source_ended && held.empty();
    return true;
  }

  // --- Lines and paragraphs ---

  bool next_of_lines(TextPiece& piece) {
    piece.ends = true;
    while (config.documents == Documents::kLine ? next_line(piece.text) : next_paragraph(piece.text)) {
      if (too_long) {
        bad(report.too_long, "is too long", line_place);
      } else if (text::is_blank(piece.text)) {
        bad(report.empty, "is empty", line_place);
      } else if (!is_text(piece.text)) {
        bad(report.not_utf8, "is not UTF-8 text", line_place);
      } else {
        piece.place = line_place;
        return true;
      }
    }
    return false;
  }

  bool next_line(std::string& text) {
    if (!lines->next(text)) return false;
    too_long = lines->cut();
    line_place = lines->place();
    return true;
  }

  bool next_paragraph(std::string& text) {
    text.clear();
    too_long = false;
    std::string line;
    while (waiting || lines->next(line)) {
      if (waiting) line = *std::exchange(waiting, std::nullopt);
      const bool blank = text::is_blank(line) && !lines->cut(),
                 other_file = !text.empty() && lines->file() != line_file;
      if (other_file) {
        waiting = std::move(line);
        break;
      }
      if (blank && text.empty()) continue;
      if (blank) break;
      if (text.empty()) line_place = lines->place(), line_file = lines->file();
      if (static_cast<int64_t>(text.size() + line.size()) > config.max_bytes || lines->cut()) {
        too_long = true;
        continue;
      }
      text += (text.empty() ? "" : "\n") + line;
    }
    return !text.empty() || too_long;
  }

  // --- The part that was asked for ---

  bool belongs_to_part() {
    const TextPart& p = config.part;
    if (p.kind == TextPart::kAll) return true;
    const bool held_out = p.random ? p.held_out(document) : position >= end_begins();
    return held_out == (p.kind == TextPart::kValid);
  }
  int64_t end_begins() const {
    return static_cast<int64_t>((1 - config.part.share) * static_cast<double>(config.part.all_bytes));
  }

  // Only files are cut by the border; lines and paragraphs stay whole.
  bool take_part(TextPiece& piece) {
    const TextPart& p = config.part;
    const int64_t begin = position, size = static_cast<int64_t>(piece.text.size());
    const bool cuts = p.kind != TextPart::kAll && !p.random && config.documents == Documents::kFile &&
                      begin < end_begins() && begin + size > end_begins();
    const bool keep = cuts || belongs_to_part();
    position += size;
    document += piece.ends;
    // What is held out begins with the next piece.
    if (keep && p.kind == TextPart::kTrain && !p.random && position >= end_begins()) piece.ends = true;
    if (!cuts) return keep;
    auto at = static_cast<size_t>(end_begins() - begin);
    while (at < piece.text.size() && continues_character(piece.text[at])) ++at;  // the character stays whole
    if (p.kind == TextPart::kTrain) {
      piece.text.resize(at);
    } else {
      piece.text.erase(0, at);
    }
    return !piece.text.empty();
  }

  TextConfig config;
  std::vector<int64_t> sizes;
  int64_t all_bytes = 0, done_bytes = 0;
  TextReport report;
  bool goes_on = false;                // a document that was begun
  int64_t position = 0, document = 0;  // of the next piece: bytes and documents before it
  // Files.
  size_t index = 0;
  std::optional<ByteSource> source;
  bool source_ended = false;
  std::string held;
  std::vector<char> buffer = std::vector<char>(1 << 16);
  // Lines.
  std::optional<LineReader> lines;
  std::optional<std::string> waiting;  // the first line of the next file
  std::string line_place, line_file;   // where the document begins
  bool too_long = false;
};

TextCorpus::TextCorpus(TextConfig config) : state_(std::make_unique<State>(std::move(config))) {}
TextCorpus::~TextCorpus() = default;

bool TextCorpus::next(TextPiece& piece) {
  State& s = *state_;
  while (s.config.documents == Documents::kFile ? s.next_of_files(piece) : s.next_of_lines(piece)) {
    if (!s.take_part(piece)) continue;
    s.report.bytes += static_cast<int64_t>(piece.text.size());
    s.report.documents += piece.ends;
    piece.begins = !std::exchange(s.goes_on, !piece.ends);
    return true;
  }
  return false;
}

const TextReport& TextCorpus::report() const { return state_->report; }

double TextCorpus::progress() const {
  const State& s = *state_;
  if (s.lines) return s.lines->progress();
  if (!s.source || s.all_bytes == 0) return s.index == s.config.files.size() ? 1.0 : 0.0;
  return static_cast<double>(s.done_bytes + std::min(s.source->consumed(), s.sizes[s.index])) /
         static_cast<double>(s.all_bytes);
}

}  // namespace heed::data
