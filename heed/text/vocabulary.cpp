#include "heed/text/vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr uint64_t kMaxGaps = 100'000;  // ids that no piece has

using Entries = std::unordered_map<std::string, uint64_t>;

// One flat object of names and whole numbers; nothing else is stored, so nesting and size cost nothing.
class EntryReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit EntryReader(const std::string& label) : label_(label) {}
  Entries take() && { return std::move(entries_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { unexpected(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (!open_) unexpected(std::to_string(value));
    if (!entries_.emplace(name_, value).second) fail_file("[tokenizer] {}: {} appears twice", label_, in_quotes(name_));
    return true;
  }
  bool number_float(number_float_t, const string_t& spelling) override { unexpected(printable(spelling, 40)); }
  bool string(string_t& value) override { unexpected("text " + in_quotes(value)); }
  bool binary(binary_t&) override { unexpected("binary"); }
  bool start_object(size_t) override {
    if (open_) unexpected("an object");
    return open_ = true;
  }
  bool key(string_t& name) override {
    name_ = std::move(name);
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(size_t) override { unexpected("a list"); }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail_file("[tokenizer] {}: not valid JSON at its byte {}", label_, position);
  }

 private:
  [[noreturn]] void unexpected(const std::string& found) const {
    if (!open_) fail_file("[tokenizer] {}: {}, expected an object of pieces and ids", label_, found);
    fail_file("[tokenizer] {}: the id of {} is {}, expected a whole number from 0", label_, in_quotes(name_), found);
  }

  const std::string& label_;
  Entries entries_;
  std::string name_;
  bool open_ = false;
};

}  // namespace

Vocabulary Vocabulary::parse(std::string_view json, const std::string& label) {
  if (json.size() > kMaxBytes) {
    fail_file("[tokenizer] {}: {} bytes, expected at most {}", label, json.size(), kMaxBytes);
  }
  EntryReader reader(label);
  nlohmann::json::sax_parse(json, &reader);
  const Entries entries = std::move(reader).take();
  uint64_t largest = 0;
  for (const auto& [piece, id] : entries) {
    largest = std::max(largest, id);
    if (piece.empty()) fail_file("[tokenizer] {}: the piece of id {} is empty", label, id);
  }
  if (!entries.empty() && largest >= entries.size() + kMaxGaps) {
    fail_file("[tokenizer] {}: id {} for {} pieces, expected ids without gaps", label, largest, entries.size());
  }
  std::vector<std::string> pieces(entries.empty() ? 0 : largest + 1);
  for (const auto& [piece, id] : entries) {
    std::string& place = pieces[id];
    if (!place.empty()) {
      // Named in one order, whatever the order of the table.
      const auto [first, second] = std::minmax(place, piece);
      fail_file("[tokenizer] {}: {} and {} have the same id {}", label, in_quotes(first), in_quotes(second), id);
    }
    place = piece;
  }
  return Vocabulary(std::move(pieces), label);
}

Vocabulary::Vocabulary(std::vector<std::string> pieces, const std::string& label) : pieces_(std::move(pieces)) {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].empty()) ids_.emplace(pieces_[i], static_cast<int32_t>(i));
  }
  const auto take_special = [&](const char* name) {
    const auto found = ids_.find(name);
    if (found == ids_.end()) fail_file("[tokenizer] {}: lacks '{}'", label, name);
    const int32_t id = found->second;
    ids_.erase(found);
    return id;
  };
  special_.eos = take_special("</s>");
  special_.unk = take_special("<unk>");
  special_.pad = take_special("<pad>");
}

std::string Vocabulary::json() const {
  std::string out;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].empty()) continue;
    out += fmt::format("{}  {}: {}", out.empty() ? "{\n" : ",\n", nlohmann::json(pieces_[i]).dump(-1, ' ', true), i);
  }
  return out + "\n}\n";
}

int32_t Vocabulary::id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? special_.unk : found->second;
}

const std::string& Vocabulary::piece(int32_t id) const {
  if (id < 0 || id >= size()) fail("[tokenizer] id {} is outside of the vocabulary of {}", id, size());
  return pieces_[static_cast<size_t>(id)];
}

}  // namespace heed::text
