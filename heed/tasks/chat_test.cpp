#include "heed/tasks/chat.h"

#include <gtest/gtest.h>

#include "heed/base/error.h"
#include "heed/decode/prefixes.h"
#include "heed/text/tokenizer_files.h"

namespace heed::tasks {
namespace {

models::Decoder small_model(int64_t context) {
  models::ModelConfig config = models::preset("llama");
  config.decoder.layers = 1, config.decoder.d_model = 16, config.decoder.d_ff = 16;
  config.decoder.heads = 2, config.decoder.kv_heads = 2;
  config.decoder.positions.max_length = context;
  config.vocabulary = 259;
  config.tokens = {.start = 2, .eos = 0, .unk = 1, .pad = 2};
  return models::Decoder(config, 5);
}

std::shared_ptr<const text::ChatTemplate> short_template() {
  return std::make_shared<const text::ChatTemplate>(
      "{% for m in messages %}{{ m.role[0] ~ ':' ~ m.content ~ ';\n' }}{% endfor %}{{ 'a:' if add_generation_prompt }}",
      text::ValueDict{}, "T");
}

TEST(Chat, EveryPromptGoesOnFromTheAnswerBefore) {
  const models::Decoder model = small_model(400);
  const auto tokenizer = text::byte_tokenizer();
  Chat chat({model, tokenizer.get()}, short_template(), "be kind");
  GenerateConfig config{.settings = {.sampling = {.temperature = 0}, .max_tokens = 12}};
  chat.prepare(config);
  EXPECT_EQ(config.stops, std::vector<std::string>{";"});
  EXPECT_TRUE(config.ends.empty());
  config.limits.kept_rows = 1;
  EXPECT_GE(config.limits_for(model.config).kept_rows, 400);
  const Prompt first = chat.ask("hi", config);
  EXPECT_EQ(first.text, "s:be kind;\nu:hi;\na:");
  EXPECT_TRUE(first.as_it_is);
  chat.answered("안녕");
  const Prompt second = chat.ask("again", config);
  EXPECT_EQ(second.text, first.text + "안녕;\nu:again;\na:");
  // So what was computed for the first is not computed again.
  const std::vector<int32_t> a = tokenizer->encode(first.text + "안녕"), b = tokenizer->encode(second.text);
  EXPECT_EQ(decode::common_start(a, b), static_cast<int64_t>(a.size()));
  const Generated answer = generate_all({model, tokenizer.get()}, config, {second})[0];
  EXPECT_EQ(answer.prompt_tokens, static_cast<int64_t>(b.size()));
}

TEST(Chat, AnIdThatEndsAnswersEndsTheText) {
  const models::Decoder model = small_model(100);
  const auto tokenizer = text::byte_tokenizer();
  GenerateConfig config{.settings = {.sampling = {.temperature = 0, .ban = {0}}, .max_tokens = 9}};
  const Prompt prompt{.text = "x", .as_it_is = true};
  const std::vector<int32_t> ids = generate_all({model, tokenizer.get()}, config, {prompt})[0].texts[0].written.ids;
  ASSERT_EQ(ids.size(), 9u);
  config.ends = {ids[3]};
  const GeneratedText cut = generate_all({model, tokenizer.get()}, config, {prompt})[0].texts[0];
  EXPECT_EQ(cut.written.reason, decode::StopReason::kEnd);
  EXPECT_LE(cut.written.ids.size(), 3u);
}

TEST(Chat, BeyondTheContextItIsRefusedOrForgets) {
  const models::Decoder model = small_model(40);
  const auto tokenizer = text::byte_tokenizer();
  GenerateConfig config{.settings = {.max_tokens = 8}};
  const auto talk = [&](Chat& chat) {
    for (const char* said : {"one two", "three", "four"}) {
      chat.ask(said, config);
      chat.answered("yes");
    }
  };
  Chat refused({model, tokenizer.get()}, short_template(), "S");
  try {
    talk(refused);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "[chat] the conversation has 49 tokens: the context of the model is 40 (--window forgets the oldest turns)");
  }
  config.settings.window = true;
  Chat forgets({model, tokenizer.get()}, short_template(), "S");
  talk(forgets);
  EXPECT_GT(forgets.forgotten(), 0);
  EXPECT_EQ(forgets.forgotten() % 2, 0);
  EXPECT_EQ(forgets.messages()[0].role, "system");
  EXPECT_EQ(forgets.messages()[1].role, "user");
  EXPECT_LE(tokenizer->encode(forgets.ask("five", config).text).size(), 32u);
  // A question alone that is too long is the window's to cut.
  EXPECT_GT(tokenizer->encode(forgets.ask(std::string(100, 'x'), config).text).size(), 100u);
}

}  // namespace
}  // namespace heed::tasks
