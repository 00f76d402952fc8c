#include <algorithm>
#include <cstring>
#include <vector>

#include "heed/base/error.h"
#include "heed/text/spm_file.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr size_t kMaxReplacement = 1024;  // bytes: a rule must not blow a line up without end
constexpr int kMaxRules = 32;             // that match at one place; SentencePiece has room for so many

// The units of a double-array trie (darts-clone): label, whether a value hangs below, and the offset of the children.
struct Unit {
  uint32_t bits = 0;
  uint32_t label() const { return bits & (0x80000000u | 0xFFu); }
  bool has_value() const { return (bits >> 8 & 1) != 0; }
  uint32_t value() const { return bits & 0x7FFFFFFFu; }
  uint32_t offset() const { return (bits >> 10) << ((bits & 0x200u) >> 6); }
};

class TrieCheck {
 public:
  TrieCheck(std::vector<Unit> units, std::string_view replacements, const std::string& label)
      : units_(std::move(units)), replacements_(replacements), label_(label), states_(units_.size()) {}

  // Depth first, without recursion: every node that a text can reach, once. A node may be shared, but never be its own
  // ancestor.
  void run() {
    if (units_.empty()) damaged();
    enter(0);
    while (!path_.empty()) {
      Visit& top = path_.back();
      if (top.next_label == 256) {
        leave();
        continue;
      }
      const uint32_t byte = top.next_label++, child = children(top.node) ^ byte;
      if (units_[child].label() != byte) continue;
      if (states_[child].open) damaged();
      if (states_[child].rules < 0) {
        enter(child);
      } else {
        count_rules(states_[top.node], states_[child].rules);
      }
    }
  }

 private:
  struct Visit {
    uint32_t node = 0, next_label = 0;
  };
  struct State {
    bool open = false;
    int rules = -1;  // most values on any way down from here, this one's included; -1: not visited
    int own = 0;
  };

  uint32_t children(uint32_t node) const { return node ^ units_[node].offset(); }

  void enter(uint32_t node) {
    if ((children(node) | 0xFFu) >= units_.size()) damaged();
    State& state = states_[node];
    state.open = true;
    // The value of the root would be that of no text at all: nobody asks for it.
    state.own = node != 0 && units_[node].has_value() ? 1 : 0;
    state.rules = state.own;
    if (state.own == 1) check_replacement(units_[children(node)].value());
    path_.push_back({node});
  }

  void leave() {
    const uint32_t node = path_.back().node;
    states_[node].open = false;
    path_.pop_back();
    if (!path_.empty()) count_rules(states_[path_.back().node], states_[node].rules);
  }

  void count_rules(State& parent, int below) {
    parent.rules = std::max(parent.rules, parent.own + below);
    if (parent.rules > kMaxRules) damaged();
  }

  void check_replacement(uint32_t at) const {
    if (at >= replacements_.size()) damaged();
    const std::string_view rest = replacements_.substr(at);
    const size_t length = rest.find('\0');
    if (length == std::string_view::npos || length > kMaxReplacement || !valid_utf8(rest.substr(0, length))) damaged();
  }

  [[noreturn]] void damaged() const {
    fail_file("[tokenizer] {} is damaged: its rules for rewriting characters lead nowhere", label_);
  }

  std::vector<Unit> units_;
  std::string_view replacements_;
  const std::string& label_;
  std::vector<State> states_;
  std::vector<Visit> path_;
};

}  // namespace

// Its size in bytes, the trie, and the replacements, each ended by a zero.
void check_charsmap(std::string_view map, const std::string& label) {
  uint32_t bytes = 0;
  if (map.size() > sizeof bytes) std::memcpy(&bytes, map.data(), sizeof bytes);
  if (bytes == 0 || bytes % sizeof(Unit) != 0 || bytes >= map.size() - sizeof bytes) {
    fail_file("[tokenizer] {} is damaged: its rules for rewriting characters have the wrong size", label);
  }
  std::vector<Unit> units(bytes / sizeof(Unit));
  std::memcpy(units.data(), map.data() + sizeof bytes, bytes);
  TrieCheck(std::move(units), map.substr(sizeof bytes + bytes), label).run();
}

}  // namespace heed::text
