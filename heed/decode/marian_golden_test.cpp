// Directories that transformers wrote, translated: the ids that its own generate() gives.
#include <gtest/gtest.h>

#include "heed/decode/stream.h"
#include "heed/models/golden.h"
#include "heed/models/test_directories.h"

namespace heed::decode {
namespace {

using heed::testing::Golden;

std::vector<Request> requests_of(const Golden& golden) {
  const std::vector<int32_t> ids = golden.ints("input.source");
  std::vector<Request> requests;
  auto at = ids.begin();
  for (const int32_t length : golden.ints("input.lengths")) {
    requests.push_back({.number = static_cast<int64_t>(requests.size()), .source = {at, at + length}});
    at += length;
  }
  return requests;
}

void expect_their_ids(const Golden& golden, const std::string& kind, const std::vector<Answer>& answers) {
  const std::vector<int32_t> ids = golden.ints(kind + ".ids"), lengths = golden.ints(kind + ".lengths"),
                             ended = golden.ints(kind + ".ended");
  ASSERT_EQ(answers.size(), lengths.size());
  auto at = ids.begin();
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::vector<int32_t> expected(at, at + lengths[i]);
    at += lengths[i];
    EXPECT_EQ(answers[i].best.at(0).ids, expected) << kind << " " << i;
    EXPECT_EQ(answers[i].best.at(0).ended, ended[i] != 0) << kind << " " << i;
  }
}

TEST(MarianGolden, GreedyAndBeamAreTheirs) {
  for (const std::string& name : models::kGoldenMarians) {
    SCOPED_TRACE(name);
    const Golden golden("marian/" + name + "/expected");
    const models::EncoderDecoder model = models::load_translator(models::golden_marian(name), {.for_running = true});
    const SearchConfig greedy{.beam = 1, .max_length = 24}, beam{.beam = 4, .length_penalty = 1, .max_length = 24};
    expect_their_ids(golden, "greedy", translate_all(model, {.search = greedy}, requests_of(golden)));
    expect_their_ids(golden, "beam", translate_all(model, {.search = beam}, requests_of(golden)));
  }
}

}  // namespace
}  // namespace heed::decode
