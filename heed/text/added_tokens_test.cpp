// Texts of added tokens: the leftmost, the longest of those, at a cost that their number has no part in.
#include "heed/text/added_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heed/base/random.h"
#include "heed/io/test_files.h"

namespace heed::text {
namespace {

using Ids = std::vector<int32_t>;

std::string random_text(Random& random, size_t most) {
  std::string text;
  for (uint64_t n = 1 + random.below(most); n > 0; --n) text += static_cast<char>('a' + random.below(3));
  return text;
}

TEST(AddedTokens, TheLeftmostAndOfThoseTheLongest) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<AddedToken> tokens(6);
    for (int32_t id = 0; id < 6; ++id) tokens[static_cast<size_t>(id)] = {random_text(random, 4), id, true};
    const std::string text = random_text(random, 30);
    Ids expected;
    for (size_t at = 0; at < text.size();) {
      const AddedToken* best = nullptr;
      for (const AddedToken& token : tokens) {
        const bool longer = best == nullptr || token.text.size() > best->text.size();
        if (text.compare(at, token.text.size(), token.text) == 0 && longer) best = &token;
      }
      if (best) expected.push_back(best->id);
      at += best ? best->text.size() : 1;
    }
    Ids found;
    for (const AddedTokens::Part& part : AddedTokens(tokens).split(text)) {
      if (part.id >= 0) found.push_back(part.id);
    }
    EXPECT_EQ(found, expected) << text;
  }
}

// A hundred thousand texts of all lengths: a place costs what some of them have in common with it.
TEST(AddedTokens, ManyCostNoMoreThanFew) {
  std::vector<std::string> texts(100'000);
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = "<" + std::string(i % 1000, 'x') + std::to_string(i);
  std::sort(texts.begin(), texts.end());
  const SortedTexts sorted({texts.begin(), texts.end()});
  std::string text;
  for (int i = 0; i < 200; ++i) text += "some words < and a sign <" + texts[static_cast<size_t>(i)].substr(1, 3) + " ";
  size_t bytes = 0;
  for (size_t at = 0; at < text.size(); ++at) bytes += sorted.walk(std::string_view(text).substr(at), [](size_t) {});
  EXPECT_LT(bytes, 2 * text.size());
  std::vector<size_t> found;
  EXPECT_LE(sorted.walk(texts[5] + "!", [&](size_t i) { found.push_back(i); }), texts[5].size() + 1);
  EXPECT_EQ(found.back(), 5u);
}

TEST(AddedTokens, AVeryLongOneIsRefused) {
  std::vector<std::string> pieces;
  EXPECT_NE(message_of([&] {
              name_added(pieces, {std::string(1025, 'x'), 0, true}, "F");
            }).find("has 1025 bytes, expected at most 1024"),
            std::string::npos);
}

}  // namespace
}  // namespace heed::text
