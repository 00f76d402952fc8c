// Language models of conversations: the loss is of the answers alone, in batches, in runs, and in what they tell.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/models/directory.h"
#include "heed/tasks/generator.h"
#include "heed/text/chat_ids.h"
#include "heed/train/lm_learner.h"
#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

std::string line_of(const std::string& question, const std::string& answer) {
  return nlohmann::json{{"prompt", question}, {"completion", answer}}.dump() + "\n";
}

// "abc" is answered by "cba".
std::string letter_talks(int64_t count, uint64_t seed) {
  Random random(seed);
  std::string lines;
  for (int64_t i = 0; i < count; ++i) {
    std::string word;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) word += static_cast<char>('a' + random.below(4));
    lines += line_of(word, std::string(word.rbegin(), word.rend()));
  }
  return lines;
}

class LmChatTest : public testing::Test {
 protected:
  data::TextStore store(const std::string& lines) {
    put_content(folder_.file("lines"), lines);
    data::TextCorpus corpus({.files = {folder_.file("lines")}, .documents = data::Documents::kLine});
    data::BadChatLines bad(data::BadLines::kRefuse);
    data::build_chat_store(folder_.file("store"), corpus, {*tokenizer_, chat_, start_}, bad);
    return data::TextStore::open(folder_.file("store"));
  }
  models::Decoder model() const {
    TrainConfig config = tiny_lm_config();
    config.model.positions = "rotary", config.model.context = 100;
    resolve_config(config, 0);
    return models::Decoder(model_config(config, 0, tokenizer_->size()), 3);
  }

  const TemporaryFolder folder_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_ = text::byte_tokenizer();
  const text::ChatTemplate chat_{
      "{% for m in messages %}{{ m.role[0] ~ m.content ~ ';' }}{% endfor %}{{ 'a' if add_generation_prompt }}",
      {},
      "T"};
  const int32_t start_ = -1;
};

TEST_F(LmChatTest, QuestionsAreReadAndNotPredicted) {
  const data::TextStore talks = store(line_of("x", "yz"));
  const TextBatch batch = text_batch(talks, std::vector<data::Block>{{0, talks.tokens()}}, {9, true});
  const auto id = [](char c) { return 3 + c; };
  EXPECT_EQ(batch.tokens.ids, (std::vector<int32_t>{9, id('u'), id('x'), id(';'), id('a'), id('y'), id('z')}));
  EXPECT_EQ(batch.labels.size(), 7u);
  EXPECT_EQ(predicted(batch.labels), 3);
  EXPECT_EQ(std::vector<int32_t>(batch.labels.begin() + 4, batch.labels.end()),
            (std::vector<int32_t>{id('y'), id('z'), id(';')}));
}

// Here a conversation begins with "u" or "s": no id is common to all, and none is put before them.
TEST_F(LmChatTest, WithoutACommonStartRowsBeginAsPromptsDo) {
  const data::TextStore talks = store(line_of("x", "yz"));
  const TextBatch batch = text_batch(talks, data::behind_starts(talks, 100), {9, true});
  const text::Conversation question = {{"user", "x"}};
  const std::vector<int32_t> prompt = tokenizer_->encode(chat_.render(question, true));
  ASSERT_EQ(batch.tokens.ids.size(), prompt.size() + 2);
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), batch.tokens.ids.begin()));
  EXPECT_EQ(batch.labels[prompt.size() - 1], 3 + 'y');
}

TEST_F(LmChatTest, TheLossIsTheMeanOverAnswers) {
  const data::TextStore talks = store(line_of("what", "so") + line_of("and", "a long one") + line_of("", "x"));
  const models::Decoder decoder = model();
  const std::vector<data::Block> blocks = data::cut_in_blocks(talks, 100, false);
  const TextBatch batch = text_batch(talks, blocks, {9, true});
  std::vector<int32_t> all = batch.labels;
  for (int32_t& label : all) label = data::id_of(label);
  const NoGrad no_grad;
  const std::vector<float> rows = decoder.loss(batch.tokens, all, {.keep_rows = true}, {}).row_nll;
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) sum += batch.labels[i] >= 0 ? double{rows[i]} : 0;
  const double expected = sum / static_cast<double>(predicted(talks.ids()));
  EXPECT_NEAR(text_loss(decoder, talks, blocks, {9, true}, 1000), expected, 1e-6);
  // Packed and apart is the same as each by itself; packed and seeing each other is not.
  const std::vector<data::Block> packed = data::cut_in_blocks(talks, 100, true);
  EXPECT_EQ(packed.size(), 1u);
  EXPECT_EQ(text_loss(decoder, talks, packed, {9, false}, 1000), text_loss(decoder, talks, blocks, {9, true}, 1000));
  EXPECT_NE(text_loss(decoder, talks, packed, {9, true}, 1000), text_loss(decoder, talks, blocks, {9, true}, 1000));
}

class LmChatRun : public testing::Test {
 protected:
  LmChatRun() {
    config_.data.text.clear(), config_.data.valid_text.clear();
    config_.data.chat = {folder_.file("talk.jsonl")};
    config_.data.valid_share = 0.2;
    config_.model.context = 80;
    put_content(folder_.file("talk.jsonl"), letter_talks(40, 1));
  }
  RunResult run(const RunOptions& options = {}) {
    listener_ = {};
    return run_training(config_, options, listener_, [] { return false; });
  }
  std::string told() const {
    std::string all;
    for (const std::string& message : listener_.messages) all += message + "\n";
    return all;
  }
  std::string template_of(const std::string& folder) const {
    return nlohmann::json::parse(read_content(folder + "/tokenizer_config.json"))["chat_template"];
  }
  static std::string read_content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  TrainConfig config_ = tiny_run("lm", folder_);
  Listener listener_;
};

TEST_F(LmChatRun, EveryTokenizerGetsTheDefaultTemplate) {
  for (const char* tokenizer : {"bpe", "sentencepiece", "char", "byte"}) {
    config_.text.tokenizer = tokenizer;
    EXPECT_EQ(run({.overwrite = true}).state.step, 6) << tokenizer;
    const ValidationReport& last = listener_.validations.back();
    EXPECT_TRUE(std::isfinite(last.loss)) << tokenizer;
    EXPECT_GT(last.bits_per_byte, 0);
    ASSERT_EQ(last.texts.size(), 1u);
    EXPECT_NE(last.texts[0].find("user\n"), std::string::npos) << last.texts[0];
    const std::string out = config_.save.out;
    EXPECT_EQ(template_of(out), text::default_chat_template(false)) << tokenizer;
    const auto made = text::load_tokenizer(out);
    const auto chat = text::load_chat_template(out);
    const bool marks = std::string(tokenizer) == "bpe" || std::string(tokenizer) == "sentencepiece";
    EXPECT_EQ(text::chat_end(*made, *chat).id >= 0, marks);
    if (marks) {
      EXPECT_EQ(text::chat_start(*made, *chat), made->encode("<|im_start|>").at(0));
      EXPECT_EQ(models::read_config(out).tokens.eos, text::chat_end(*made, *chat).id);
    }
  }
}

TEST_F(LmChatRun, LearnsToAnswerAndResumes) {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += line_of(i % 2 ? "ping" : "pang", i % 2 ? "pong" : "peng");
  put_content(folder_.file("talk.jsonl"), lines);
  config_.text.tokenizer = "bpe";
  config_.model.d_model = 32, config_.model.dropout = 0;
  config_.train.max_steps = 300, config_.valid.every = 150, config_.train.learning_rate = 0.003;
  config_.train.batch_tokens = 512;
  run({.verify_resume = true});
  EXPECT_LT(listener_.validations.back().loss, 0.1);  // without a look at the question it would be ln 2 over two tokens
  EXPECT_NE(told().find("resume verified"), std::string::npos);
  EXPECT_EQ(listener_.validations.back().texts.at(0), "user\npang\nassistant\npeng");
}

TEST_F(LmChatRun, ATunedModelKeepsItsTemplateAndOneWithoutGetsTheDefault) {
  config_.text.tokenizer = "bpe";
  run();
  const std::string base = config_.save.out,
                    own = "{% for m in messages %}{{ '<|im_start|>' + m.content }}{% endfor %}";
  nlohmann::ordered_json settings = nlohmann::ordered_json::parse(read_content(base + "/tokenizer_config.json"));
  config_.model.from = base, config_.save.out = folder_.file("tuned");
  put_content(base + "/chat_template.jinja", own);
  run();
  EXPECT_EQ(read_content(config_.save.out + "/chat_template.jinja"), own);
  EXPECT_EQ(told().find("no chat template"), std::string::npos);
  std::filesystem::remove(base + "/chat_template.jinja");
  settings.erase("chat_template");
  put_content(base + "/tokenizer_config.json", settings.dump());
  run({.overwrite = true});
  EXPECT_EQ(template_of(config_.save.out), text::default_chat_template(true));
  EXPECT_NE(told().find("has no chat template: heed's own is used, its marks as plain text"), std::string::npos);
  put_content(base + "/chat_template.jinja", "{{");
  EXPECT_NE(message_of<FileError>([&] { run({.overwrite = true}); }).find("a tag without end"), std::string::npos);
}

// Texts of the base end otherwise than answers do: what is tuned ends with either, for whoever reads its files.
TEST_F(LmChatRun, AnAnswersEndIsOneOfTheModels) {
  config_.text.tokenizer = "bpe";
  run();
  const std::string base = config_.save.out;
  const auto marks = text::load_tokenizer(base);
  const int32_t end = marks->encode("<|im_end|>").at(0), eos = marks->encode("<|endoftext|>").at(0);
  nlohmann::json settings = nlohmann::json::parse(read_content(base + "/tokenizer_config.json")),
                 config = nlohmann::json::parse(read_content(base + "/config.json"));
  settings["eos_token"] = "<|endoftext|>", config["eos_token_id"] = eos;
  put_content(base + "/tokenizer_config.json", settings.dump());
  put_content(base + "/config.json", config.dump());
  std::filesystem::remove(base + "/generation_config.json");
  config_.model = {}, config_.model.preset = "tiny", config_.model.from = base;
  for (const char* way : {"whole", "merged", "adapter"}) {
    config_.save.out = folder_.file(way);
    if (config_.save.out != folder_.file("whole")) config_.model.lora = 2;
    config_.model.lora_merge = config_.save.out == folder_.file("merged");
    run();
    const std::string said = read_content(config_.save.out + "/generation_config.json");
    EXPECT_EQ(nlohmann::json::parse(said)["eos_token_id"], (std::vector<int32_t>{eos, end})) << way;
    const tasks::Generator tuned = tasks::Generator::open(config_.save.out);
    EXPECT_EQ(tuned.model.config.tokens.eos, eos);
    EXPECT_EQ(tuned.model.config.tokens.more_ends, std::vector<int32_t>{end});
    EXPECT_EQ(models::read_config(config_.save.out).tokens.more_ends, std::vector<int32_t>{end});
  }
}

TEST_F(LmChatRun, BadLinesAreToldOrRefused) {
  const std::string file = folder_.file("talk.jsonl"), bad = "{\"messages\": 3}\nnothing\n\n";
  put_content(file, bad + letter_talks(40, 1));
  run();
  EXPECT_NE(told().find("; no conversations: 1 no JSON (" + file + ":2), 1 without messages (" + file + ":1)"),
            std::string::npos)
      << told();
  EXPECT_NE(told().find("1 empty (" + file + ":3)"), std::string::npos) << told();
  config_.data.bad_lines = "refuse";
  EXPECT_EQ(message_of<FileError>([&] { run({.overwrite = true}); }),
            "[corpus] " + file + ":1: without messages: 'messages' is no list of them");
  config_.data.bad_lines = "skip";
  put_content(file, bad);
  EXPECT_NE(message_of<FileError>([&] { run({.overwrite = true}); }).find("[train] no text to train with: "),
            std::string::npos);
}

// A batch may hold questions alone: there is nothing to learn in that step, and nothing goes wrong.
TEST_F(LmChatRun, QuestionsLongerThanABatch) {
  put_content(folder_.file("talk.jsonl"), line_of(std::string(300, 'a'), "b") + line_of("a", "b") + line_of("c", "d"));
  config_.text.tokenizer = "byte";
  config_.model.context = 20, config_.train.batch_tokens = 20, config_.train.max_steps = 40;
  EXPECT_EQ(run().state.skipped, 0);
  EXPECT_TRUE(std::isfinite(listener_.validations.back().loss));
}

TEST_F(LmChatRun, WrongConfigs) {
  const auto refused = [&](auto change) {
    TrainConfig config = config_;
    change(config.data);
    return message_of<Error>([&] { check_config(config); });
  };
  using Data = TrainConfig::Data;
  EXPECT_EQ(refused([](Data& d) { d.text = {"a"}; }), "[config] both data.text and data.chat: expected one of them");
  EXPECT_EQ(refused([](Data& d) { d.valid_text = {"a"}; }),
            "[config] data.valid_text with data.chat: expected data.valid_chat");
  EXPECT_EQ(refused([](Data& d) { d.chat.clear(), d.text = {"a"}, d.valid_chat = {"a"}; }),
            "[config] data.valid_chat without data.chat: expected both");
  EXPECT_EQ(refused([](Data& d) { d.documents = "paragraph"; }),
            "[config] data.documents is 'paragraph': with data.chat a line is a conversation");
  EXPECT_EQ(refused([](Data& d) { d.chat.clear(); }),
            "[config] no text to train with: expected data.text (--text F...) or data.chat (--chat F...)");
}

}  // namespace
}  // namespace heed::train
