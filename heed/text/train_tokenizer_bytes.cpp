#include "heed/text/train_tokenizer_bytes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <tuple>

#include "heed/base/threads.h"
#include "heed/text/byte_letters.h"
#include "heed/text/gpt2_words.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr std::array<char32_t, 256> kLetters = byte_letters();

// The bytes in the order of their letters: the ids that everything starts with.
std::array<uint8_t, 256> bytes_by_letter() {
  std::array<uint8_t, 256> bytes{};
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  std::sort(bytes.begin(), bytes.end(), [](uint8_t a, uint8_t b) { return kLetters[a] < kLetters[b]; });
  return bytes;
}

struct Word {
  std::vector<int32_t> ids;
  int64_t count;
};

uint64_t key_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

// What the queue says of a pair may be old: the table knows.
struct Candidate {
  int64_t count;
  uint64_t pair;
  bool operator<(const Candidate& other) const { return std::tie(count, other.pair) < std::tie(other.count, pair); }
};

class Learner {
 public:
  explicit Learner(const WordCounts& counts) {
    std::array<int32_t, 256> id{};
    const std::array<uint8_t, 256> bytes = bytes_by_letter();
    for (size_t i = 0; i < 256; ++i) {
      id[bytes[i]] = static_cast<int32_t>(i);
      learned_.pieces.push_back(to_utf8(std::u32string(1, kLetters[bytes[i]])));
    }
    for (const auto& [text, count] : counts) {
      Word word{{}, count};
      for (const char c : text) word.ids.push_back(id[static_cast<uint8_t>(c)]);
      words_.push_back(std::move(word));
    }
    for (size_t w = 0; w < words_.size(); ++w) {
      const std::vector<int32_t>& ids = words_[w].ids;
      for (size_t i = 0; i + 1 < ids.size(); ++i) add(key_of(ids[i], ids[i + 1]), words_[w].count, w);
    }
    for (const auto& [pair, seen] : pairs_) queue_.push({seen.count, pair});
  }

  LearnedPairs learn(int64_t merges) {
    while (static_cast<int64_t>(learned_.merges.size()) < merges && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t count = pairs_[best.pair].count;
      if (count < 2) continue;
      if (count != best.count) {
        queue_.push({count, best.pair});
      } else {
        merge(best.pair);
      }
    }
    return std::move(learned_);
  }

 private:
  struct Seen {
    int64_t count = 0;
    std::vector<uint32_t> words;  // that held it when it was counted, some of them twice
  };

  void add(uint64_t pair, int64_t count, size_t word) {
    Seen& seen = pairs_[pair];
    seen.count += count;
    if (seen.words.empty() || seen.words.back() != word) seen.words.push_back(static_cast<uint32_t>(word));
  }

  void merge(uint64_t pair) {
    const auto left = static_cast<int32_t>(pair >> 32), right = static_cast<int32_t>(pair & 0xFFFFFFFF);
    const auto merged = static_cast<int32_t>(learned_.pieces.size());
    learned_.pieces.push_back(learned_.pieces[static_cast<size_t>(left)] + learned_.pieces[static_cast<size_t>(right)]);
    learned_.merges.emplace_back(left, right);
    std::vector<uint32_t> words = std::move(pairs_[pair].words);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    grown_.clear();
    for (const uint32_t w : words) merge_in(w, left, right, merged);
    pairs_.erase(pair);
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (const uint64_t grown : grown_) queue_.push({pairs_[grown].count, grown});
  }

  // The pairs of a word are taken out of the counts and, once it is merged, put back. Words are short.
  void merge_in(uint32_t number, int32_t left, int32_t right, int32_t merged) {
    Word& word = words_[number];
    std::vector<int32_t>& ids = word.ids;
    for (size_t i = 0; i + 1 < ids.size(); ++i) pairs_[key_of(ids[i], ids[i + 1])].count -= word.count;
    size_t to = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool here = i + 1 < ids.size() && ids[i] == left && ids[i + 1] == right;
      ids[to++] = here ? merged : ids[i];
      i += here;
    }
    ids.resize(to);
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const uint64_t pair = key_of(ids[i], ids[i + 1]);
      if (ids[i] == merged || ids[i + 1] == merged) {
        add(pair, word.count, number);
        grown_.push_back(pair);
      } else {
        pairs_[pair].count += word.count;
      }
    }
  }

  LearnedPairs learned_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, Seen> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<uint64_t> grown_;  // pairs that the merge at hand made
};

}  // namespace

void count_words(WordCounts& counts, std::string_view text) {
  for (const std::string_view word : gpt2_words(text)) ++counts[std::string(word)];
}

void count_words(WordCounts& counts, const std::vector<std::string>& texts) {
  std::vector<WordCounts> each(texts.size());
  parallel_for(static_cast<int64_t>(texts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) count_words(each[static_cast<size_t>(i)], texts[static_cast<size_t>(i)]);
  });
  for (const WordCounts& one : each) {
    for (const auto& [word, count] : one) counts[word] += count;
  }
}

LearnedPairs learn_byte_pairs(const WordCounts& counts, int64_t merges) { return Learner(counts).learn(merges); }

}  // namespace heed::text
