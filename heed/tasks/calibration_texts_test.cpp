#include "heed/tasks/calibration_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "heed/base/threads.h"
#include "heed/text/tokenizer_files.h"

namespace heed::tasks {
namespace {

models::Decoder small_model(int32_t start, int64_t context = 40) {
  models::ModelConfig config;
  config.family = models::Family::kDecoder;
  config.decoder.layers = 1;
  config.decoder.d_model = 32;
  config.decoder.heads = 2;
  config.decoder.d_ff = 32;
  config.decoder.positions.kind = nn::PositionKind::kLearned;
  config.decoder.positions.max_length = context;
  config.vocabulary = 259;
  config.tokens = {.start = start, .eos = -1, .unk = -1, .pad = -1};
  return models::Decoder(config, 5);
}

int64_t tokens_of(const std::vector<std::vector<int32_t>>& texts) {
  return std::accumulate(texts.begin(), texts.end(), int64_t{0},
                         [](int64_t sum, const auto& text) { return sum + static_cast<int64_t>(text.size()); });
}

TEST(CalibrationTexts, PiecesComeFromAllOfTheText) {
  const auto tokenizer = text::byte_tokenizer();
  std::string text(1000, 'a');
  text += std::string(1000, 'b');
  for (const int32_t start : {-1, 1}) {
    const models::Decoder model = small_model(start);
    const GeneratorView view{model, tokenizer.get()};
    const auto whole = calibration_pieces(view, text);
    EXPECT_EQ(tokens_of(whole), 2000 + (start < 0 ? 0 : static_cast<int64_t>(whole.size())));
    const auto some = calibration_pieces(view, text, {.tokens = 400, .longest = 20});
    EXPECT_GE(tokens_of(some), 400);
    EXPECT_LE(tokens_of(some), 440);
    for (const auto& piece : some) {
      EXPECT_LE(piece.size(), 20u);
      EXPECT_TRUE(start < 0 || piece[0] == start);
    }
    EXPECT_NE(some.front().back(), some.back().back());
    EXPECT_TRUE(calibration_pieces(view, "").empty());
  }
}

TEST(CalibrationTexts, AModelDrawsTheSameTextsAtAnyNumberOfThreads) {
  for (const int32_t start : {-1, 1}) {
    const models::Decoder model = small_model(start);
    const int before = num_threads();
    double share = 0;
    set_num_threads(1);
    const auto texts = drawn_texts(model, {.tokens = 1500}, [&](double s) { share = s; });
    set_num_threads(3);
    EXPECT_EQ(drawn_texts(model, {.tokens = 1500}), texts);
    set_num_threads(before);
    EXPECT_NE(drawn_texts(model, {.tokens = 1500, .seed = 3}), texts);
    EXPECT_GE(tokens_of(texts), 1500);
    EXPECT_LT(tokens_of(texts), 1540);
    EXPECT_GT(share, 0.9);
    const std::set<std::vector<int32_t>> different(texts.begin(), texts.end());
    EXPECT_EQ(different.size(), texts.size());
    for (const auto& text : texts) {
      EXPECT_LE(text.size(), 40u);
      EXPECT_TRUE(start < 0 || text[0] == start);
    }
  }
}

TEST(CalibrationTexts, AModelWithoutNumbersDrawsNone) {
  const models::Decoder model = small_model(1);
  std::fill_n(model.parameters.values(), model.parameters.arena_size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(drawn_texts(model).empty());
  EXPECT_TRUE(drawn_texts(small_model(1, 1)).empty());  // no room for a second token
}

}  // namespace
}  // namespace heed::tasks
