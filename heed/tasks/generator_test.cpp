// Text in, text out: whole characters, stop strings wherever tokens cut them, order, limits; and scores of texts.
#include "heed/tasks/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/tasks/score.h"
#include "heed/tasks/text_stream.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/unicode.h"

namespace heed::tasks {
namespace {

std::string random_text(Random& random, size_t length) {
  static const std::string kinds[] = {"a", "b", "c", " ", "é", "고", "😀", "\xFF", "\xE2\x82", "\n"};
  std::string text;
  for (size_t i = 0; i < length; ++i) text += kinds[random.below(std::size(kinds))];
  return text;
}

// Where a text ends: before the stop string that is whole first.
std::string before_stop(const std::string& text, const std::vector<std::string>& stops, bool& stopped) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t begin = std::string::npos;
    for (const std::string& stop : stops) {
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        begin = std::min(begin, end - stop.size());
      }
    }
    if (begin != std::string::npos) return stopped = true, text.substr(0, begin);
  }
  return stopped = false, text;
}

TEST(GrowingText, IsTheWholeHoweverItIsCut) {
  Random random(4);
  const std::vector<std::vector<std::string>> all_stops = {
      {}, {"ab"}, {"aab", "abc", "bc"}, {"고 ", "😀"}, {"\n\n", "c\n"}, {"aaaaab"}, {"\xEF\xBF\xBD"}};
  for (int round = 0; round < 3000; ++round) {
    const std::string bytes = random_text(random, 1 + random.below(30));
    const std::vector<std::string>& stops = all_stops[random.below(all_stops.size())];
    GrowingText growing(stops);
    std::string text;
    for (size_t at = 0; at < bytes.size() && !growing.stopped();) {
      const size_t n = 1 + random.below(4);
      const std::string more = growing.add(std::string_view(bytes).substr(at, n));
      EXPECT_TRUE(text::valid_utf8(more));
      text += more;
      at += n;
    }
    text += growing.finish();
    bool stopped = false;
    EXPECT_EQ(text, before_stop(text::replace_invalid(bytes), stops, stopped));
    EXPECT_EQ(growing.stopped(), stopped);
  }
}

models::Decoder small_model(int64_t context = 64, int64_t vocabulary = 259) {
  models::ModelConfig config;
  config.family = models::Family::kDecoder;
  config.decoder.layers = 1;
  config.decoder.d_model = 32;
  config.decoder.heads = 2;
  config.decoder.d_ff = 32;
  config.decoder.positions.kind = nn::PositionKind::kRotary;
  config.decoder.positions.max_length = context;
  config.vocabulary = vocabulary;
  config.tokens = {.start = 1, .eos = 0, .unk = -1, .pad = -1};
  models::Decoder model(config, 5);
  for (int64_t i = 0; i < model.parameters.arena_size(); ++i) model.parameters.values()[i] *= 2;
  return model;
}

std::shared_ptr<const text::Tokenizer> bytes() { return text::byte_tokenizer(); }

std::vector<Prompt> prompts(const std::vector<std::string>& texts) {
  std::vector<Prompt> all;
  all.reserve(texts.size());
  for (const std::string& text : texts) all.push_back({.text = text});
  return all;
}

TEST(Generate, StreamedTextIsTheTextAndNeverBroken) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  std::map<std::pair<int64_t, int64_t>, std::string> streamed;
  const auto on_text = [&](int64_t number, int64_t sample, std::string_view text) {
    EXPECT_TRUE(text::valid_utf8(text));
    EXPECT_FALSE(text.empty());
    streamed[{number, sample}] += text;
  };
  const GenerateConfig config{.settings = {.sampling = {.temperature = 1.5}, .max_tokens = 40}, .samples = 3};
  const std::vector<Generated> all =
      generate_all({model, tokenizer.get()}, config, prompts({"one", "", "two 고", "three"}), on_text);
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, static_cast<int64_t>(i));
    ASSERT_EQ(all[i].texts.size(), 3u);
    EXPECT_NE(all[i].texts[0].written.ids, all[i].texts[1].written.ids);
    for (size_t s = 0; s < 3; ++s) {
      const GeneratedText& text = all[i].texts[s];
      const std::string heard = streamed[{all[i].number, static_cast<int64_t>(s)}];
      EXPECT_EQ(text.text, heard);
      EXPECT_EQ(text.text, tokenizer->decode(text.written.ids));
    }
  }
}

// A decoder that leaves out two blanks at the start leaves them out of the stream, whichever ids they come in.
TEST(Generate, StreamedTextBeginsAsTheWhole) {
  const auto tokenizer = text::load_tokenizer(HEED_SOURCE_DIR "/tests/golden/language_tokenizers/llama_strip_two");
  const models::Decoder model = small_model(64, tokenizer->size());
  GenerateConfig config{.settings = {.max_tokens = 12}};
  for (int32_t id = 0; id < tokenizer->size(); ++id) {
    if (tokenizer->bytes(id) == " ") config.settings.sampling.bias.push_back({id, 1e6f});
  }
  std::string streamed;
  const auto on_text = [&](int64_t, int64_t, std::string_view text) { streamed += text; };
  const std::vector<Generated> all = generate_all({model, tokenizer.get()}, config, prompts({""}), on_text);
  EXPECT_EQ(tokenizer->decode(all[0].texts[0].written.ids), std::string(10, ' '));
  EXPECT_EQ(streamed, std::string(10, ' '));
}

TEST(Generate, APromptAloneAndAmongOthersGetsTheSameText) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  const GenerateConfig config{.settings = {.sampling = {.temperature = 0.9}, .max_tokens = 20}, .samples = 2};
  const std::vector<std::string> texts = {"a b c", "the start", "x"};
  const std::vector<Generated> all = generate_all({model, tokenizer.get()}, config, prompts(texts));
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<Generated> alone = generate_all({model, tokenizer.get()}, config, prompts({texts[i]}));
    for (size_t s = 0; s < 2; ++s) EXPECT_EQ(alone[0].texts[s].written.ids, all[i].texts[s].written.ids);
  }
}

TEST(Generate, TheBatchChangesNothing) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  GenerateConfig config{.settings = {.sampling = {.temperature = 0.9}, .max_tokens = 20}, .samples = 2};
  const std::vector<std::string> texts = {"a b c", "", "a b c", "the start of a longer one", "the start of one", "x"};
  const std::vector<Generated> whole = generate_all({model, tokenizer.get()}, config, prompts(texts));
  const int before = num_threads();
  for (const auto& [batch, threads] : std::vector<std::pair<int64_t, int>>{{1, 1}, {100, 2}, {100000, 1}}) {
    set_num_threads(threads);
    config.stream = {.batch_tokens = batch, .window = batch};
    config.limits.kept_rows = batch;
    const std::vector<Generated> other = generate_all({model, tokenizer.get()}, config, prompts(texts));
    ASSERT_EQ(other.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      for (size_t s = 0; s < 2; ++s) EXPECT_EQ(other[i].texts.at(s).text, whole[i].texts.at(s).text);
    }
  }
  set_num_threads(before);
}

// The context bounds what a text can cost, however many tokens are allowed.
TEST(Generate, ALargeLimitDoesNotKeepPromptsApart) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  const GenerateConfig config{.settings = {.sampling = {.temperature = 0, .ban = {0}}, .max_tokens = 1 << 20},
                              .stream = {.batch_tokens = 200, .window = 8}};
  std::vector<int64_t> heard;
  const auto on_text = [&](int64_t number, int64_t, std::string_view) { heard.push_back(number); };
  generate_all({model, tokenizer.get()}, config, prompts({"one", "two", "three"}), on_text);
  const auto last_of_first = std::find(heard.rbegin(), heard.rend(), 0).base();
  EXPECT_NE(std::find(heard.begin(), last_of_first, 2), last_of_first);
}

TEST(Generate, WhatComesBeforeARefusedPromptIsAnswered) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  const GenerateConfig config{.settings = {.sampling = {.temperature = 0}, .max_tokens = 8}, .samples = 2};
  const std::vector<std::string> texts = {"one", "two", std::string(70, 'x'), "never read"};
  size_t at = 0;
  const auto next = [&](Prompt& prompt, bool) { return prompt.text = texts.at(at++), decode::Input::kReady; };
  std::vector<Generated> given;
  const auto give = [&](const Generated& g) { given.push_back(g); };
  std::string message;
  try {
    generate_text({model, tokenizer.get()}, config, next, give);
  } catch (const FileError& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "[generate] prompt 3 has 70 tokens: the context of the model is 64 (--window keeps their end)");
  EXPECT_EQ(at, 3u);
  ASSERT_EQ(given.size(), 2u);
  const std::vector<Generated> alone = generate_all({model, tokenizer.get()}, config, prompts({"one", "two"}));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(given[i].texts.at(1).text, alone[i].texts.at(1).text);
}

TEST(Generate, APromptAsLongAsTheContextIsKept) {
  const GenerateConfig config;
  EXPECT_EQ(config.limits_for(small_model(3000).config).kept_rows, 3000);
  EXPECT_EQ(config.limits_for(small_model(64).config).kept_rows, config.limits.kept_rows);
  const GenerateConfig none{.limits = {.kept_rows = 0}};
  EXPECT_EQ(none.limits_for(small_model(3000).config).kept_rows, 0);
}

TEST(Generate, WhereAllIsBannedThatIsSaid) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  GenerateConfig config{.settings = {.sampling = {}, .max_tokens = 8}};
  for (int32_t id = 0; id < 259; ++id) config.settings.sampling.ban.push_back(id);
  std::string message;
  try {
    generate_all({model, tokenizer.get()}, config, prompts({"a"}));
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "[generate] no token is allowed (--ban)");
  config.settings.sampling.ban.pop_back();
  const std::vector<int32_t> ids =
      generate_all({model, tokenizer.get()}, config, prompts({"a"}))[0].texts[0].written.ids;
  EXPECT_EQ(ids, std::vector<int32_t>(8, 258));
}

TEST(Generate, AStopStringEndsTheTextBeforeIt) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  GenerateConfig config{.settings = {.sampling = {.temperature = 0, .ban = {0}}, .max_tokens = 60}};
  const std::string text = generate_all({model, tokenizer.get()}, config, prompts({"go"}))[0].texts[0].text;
  ASSERT_GE(text.size(), 20u);
  // Greedy text repeats: the first place where its tenth to fourteenth characters are.
  const std::u32string characters = text::to_code_points(text);
  const std::string stop = text::to_utf8(characters.substr(10, 4));
  config.stops = {"never said", stop};
  const GeneratedText cut = generate_all({model, tokenizer.get()}, config, prompts({"go"}))[0].texts[0];
  EXPECT_EQ(cut.text, text.substr(0, text.find(stop)));
  EXPECT_EQ(cut.written.reason, decode::StopReason::kStop);
  EXPECT_LT(cut.written.ids.size(), 60u);
}

TEST(Generate, IdsGoInAndOutWithoutATokenizer) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  GenerateConfig config{.settings = {.sampling = {.temperature = 0}, .max_tokens = 10}};
  const Generated by_text = generate_all({model, tokenizer.get()}, config, prompts({"hello"}))[0];
  const Generated by_ids =
      generate_all({model, nullptr}, config, {{.text = "", .ids = tokenizer->encode("hello"), .by_ids = true}})[0];
  EXPECT_EQ(by_ids.texts[0].written.ids, by_text.texts[0].written.ids);
  EXPECT_EQ(by_ids.texts[0].text, "");
  EXPECT_EQ(by_ids.prompt_tokens, 5);
  EXPECT_EQ(generate_all({model, nullptr}, config, {{.text = "", .by_ids = true}})[0].prompt_tokens, 1);
  EXPECT_THROW(generate_all({model, nullptr}, config, prompts({"text"})), Error);
  config.stops = {"x"};
  EXPECT_THROW(generate_all({model, nullptr}, config, {{.text = "", .by_ids = true}}), Error);
}

TEST(Generate, IdsThatNoPieceHasAreNotSaid) {
  const models::Decoder model = small_model(64, 4000);
  const auto tokenizer = bytes();
  const GenerateConfig config{.settings = {.sampling = {.temperature = 3}, .max_tokens = 30}, .samples = 5};
  const std::vector<Generated> all = generate_all({model, tokenizer.get()}, config, prompts({"a"}));
  for (const GeneratedText& text : all[0].texts) {
    for (const int32_t id : text.written.ids) EXPECT_LT(id, tokenizer->size());
  }
}

TEST(Generate, ASearchGivesTheBestOfItsTexts) {
  const models::Decoder model = small_model();
  const auto tokenizer = bytes();
  GenerateConfig config{.settings = {.max_tokens = 8, .beam = 4, .nbest = 3}};
  const Generated best = generate_all({model, tokenizer.get()}, config, prompts({"hello"}))[0];
  ASSERT_EQ(best.texts.size(), 3u);
  for (const GeneratedText& text : best.texts) EXPECT_EQ(text.text, tokenizer->decode(text.written.ids));
  EXPECT_GE(best.texts[0].written.score, best.texts[1].written.score);
  config.samples = 2;
  EXPECT_THROW(generate_all({model, tokenizer.get()}, config, prompts({"hello"})), Error);
  config.samples = 1, config.stops = {"x"};
  EXPECT_THROW(generate_all({model, tokenizer.get()}, config, prompts({"hello"})), Error);
  config.settings.beam = 1, config.settings.nbest = 1, config.stops = {""};
  EXPECT_THROW(generate_all({model, tokenizer.get()}, config, prompts({"hello"})), Error);
}

// Each token under all that is before it in its window: plain loops over one window at a time.
Score slow_score(const models::Decoder& model, const std::vector<int32_t>& ids, int64_t stride) {
  const NoGrad no_grad;
  const int64_t context = decode::context_length(model.config), steps = static_cast<int64_t>(ids.size()) - 1;
  Score score;
  for (int64_t begin = 0, counted = 0; counted < steps; begin += stride) {
    const int64_t end = std::min(steps, begin + context);
    const std::vector<int32_t> window(ids.begin() + begin, ids.begin() + end);
    const Tensor logs = log_softmax(model.logits({window, Spans::dense(1, end - begin)}, {}));
    for (; counted < end; ++counted, ++score.tokens) {
      score.log_probability +=
          double{logs.data()[(counted - begin) * logs.cols() + ids[static_cast<size_t>(counted) + 1]]};
    }
  }
  return score;
}

TEST(ScoreTexts, WindowsCountEveryTokenOnce) {
  const models::Decoder model = small_model(16);
  const auto tokenizer = bytes();
  Random random(6);
  std::vector<std::string> texts = {"", "a", "ab"};
  for (int i = 0; i < 12; ++i) texts.push_back(text::replace_invalid(random_text(random, 1 + random.below(40))));
  for (const int64_t stride : {1, 5, 8, 16}) {
    const std::vector<Score> scores =
        score_texts({model, tokenizer.get()}, texts, {.stride = stride, .batch_tokens = 100, .with_end = true});
    ASSERT_EQ(scores.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<int32_t> ids = tokenizer->encode(texts[i]);
      EXPECT_EQ(scores[i].tokens, static_cast<int64_t>(ids.size()) + 1);
      ids.insert(ids.begin(), 1);
      ids.push_back(0);
      const Score slow = slow_score(model, ids, stride);
      EXPECT_EQ(scores[i].tokens, slow.tokens);
      EXPECT_NEAR(scores[i].log_probability, slow.log_probability, 1e-4);
      // The same bits whatever stands beside it.
      const Score alone = score_sequences(model, {ids}, {.stride = stride})[0];
      EXPECT_EQ(scores[i].log_probability, alone.log_probability);
    }
  }
  EXPECT_EQ(score_texts({model, tokenizer.get()}, {"ab"})[0].tokens, 2);
  EXPECT_EQ(score_sequences(model, {{}, {3}})[1].tokens, 0);
  EXPECT_THROW(score_sequences(model, {{3, 4}}, {.stride = 17}), Error);
  EXPECT_THROW(score_sequences(model, {{3, 4}}, {.stride = -1}), Error);
}

// What is generated has the log-probability that a score gives it.
TEST(ScoreTexts, AgreesWithGeneration) {
  const models::Decoder model = small_model(100);
  const auto tokenizer = bytes();
  const GenerateConfig config{.settings = {.sampling = {.temperature = 1.3, .ban = {0}}, .max_tokens = 50}};
  const Generated g = generate_all({model, tokenizer.get()}, config, prompts({"hello"}))[0];
  std::vector<int32_t> ids = tokenizer->encode("hello");
  const Score prompt = score_sequences(model, {ids})[0];
  ids.insert(ids.end(), g.texts[0].written.ids.begin(), g.texts[0].written.ids.end());
  const Score whole = score_sequences(model, {ids}, {.stride = 100})[0];
  EXPECT_NEAR(whole.log_probability - prompt.log_probability, g.texts[0].written.log_probability, 1e-4);
}

}  // namespace
}  // namespace heed::tasks
