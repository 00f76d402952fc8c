// Language models: what a batch holds, what their losses are, and a whole run by every way to read a text.
#include <cmath>
#include <numbers>

#include "heed/models/directory.h"
#include "heed/tasks/score.h"
#include "heed/train/lm_learner.h"
#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

class LmTest : public testing::Test {
 protected:
  // Documents a line.
  data::TextStore store(const std::string& text, const std::string& name = "store") {
    put_content(folder_.file("text"), text);
    data::TextCorpus corpus({.files = {folder_.file("text")}, .documents = data::Documents::kLine});
    data::build_text_store(folder_.file(name), corpus, data::LetterTokenizer());
    return data::TextStore::open(folder_.file(name));
  }
  static std::vector<int64_t> lengths(const Spans& spans) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < spans.count(); ++i) all.push_back(spans.length(i));
    return all;
  }
  const TemporaryFolder folder_;
};

using Ids = std::vector<int32_t>;
using Lengths = std::vector<int64_t>;

TEST_F(LmTest, ABatchPredictsEveryIdFromThoseBeforeIt) {
  const data::TextStore text = store("a b c\nd\ne f\n");
  const int32_t a = 3 + 'a', b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, eos = 0, start = 9;
  const std::vector<data::Block> blocks = {{2, 6}, {6, 9}, {0, 1}};
  for (const bool across : {true, false}) {
    const TextBatch batch = text_batch(text, blocks, {start, across}, 5);
    EXPECT_EQ(batch.labels, (Ids{c, eos, d, eos, e, f, eos, a}));
    EXPECT_EQ(batch.tokens.ids, (Ids{b, c, start, d, start, e, f, start}));
    EXPECT_EQ(lengths(batch.tokens.spans), across ? (Lengths{4, 3, 1}) : (Lengths{2, 2, 3, 1}));
    EXPECT_EQ(batch.tokens.spans.ids()[0], 5u);
    EXPECT_EQ(text_sequences(text, blocks, across), static_cast<uint32_t>(batch.tokens.spans.count()));
  }
}

// The loss of a document does not depend on what else a block holds, where documents do not see each other.
TEST_F(LmTest, DocumentsApartHaveTheLossOfDocumentsAlone) {
  const data::TextStore text = store("a b c a b\nd d\ne f a\nb\n");
  TrainConfig config = tiny_lm_config();
  config.model.positions = "rotary";
  resolve_config(config, 0);
  const models::Decoder model(model_config(config, 0, data::LetterTokenizer().size()), 3);
  const auto loss = [&](bool pack, bool across) {
    return text_loss(model, text, data::cut_in_blocks(text, 100, pack), {0, across}, 100);
  };
  EXPECT_EQ(loss(true, false), loss(false, false));
  EXPECT_EQ(loss(false, true), loss(false, false));
  EXPECT_NE(loss(true, true), loss(true, false));
  // However it is dealt out to batches.
  const std::vector<data::Block> blocks = data::cut_in_blocks(text, 3, true);
  EXPECT_NEAR(text_loss(model, text, blocks, {0, true}, 1), text_loss(model, text, blocks, {0, true}, 1000), 1e-12);
}

class LmRun : public testing::Test {
 protected:
  RunResult run(const RunOptions& options = {}) {
    listener_ = {};
    return run_training(config_, options, listener_, [] { return false; });
  }
  TemporaryFolder folder_;
  TrainConfig config_ = tiny_run("lm", folder_);
  Listener listener_;
};

TEST_F(LmRun, TrainsWithEveryWayToReadAText) {
  config_.data.valid_text.clear();
  config_.data.valid_share = 0.3;
  for (const char* tokenizer : {"char", "byte", "bpe"}) {
    for (const char* documents : {"file", "line", "paragraph"}) {
      for (const bool pack : {true, false}) {
        config_.text.tokenizer = tokenizer, config_.data.documents = documents, config_.data.pack = pack;
        config_.data.across = !pack;
        config_.data.valid_split = std::string(documents) == "line" ? "random" : "end";
        if (std::string(documents) == "paragraph") {
          put_content(folder_.file("train.data"), letter_text(50, 1) + "\n\n" + letter_text(50, 2) + "\n\n" +
                                                      letter_text(50, 3) + "\n\n" + letter_text(50, 4));
        }
        EXPECT_EQ(run({.overwrite = true}).state.step, 6) << tokenizer << documents << pack;
        ASSERT_EQ(listener_.validations.size(), 2u);
        const ValidationReport& last = listener_.validations.back();
        EXPECT_TRUE(std::isfinite(last.loss));
        EXPECT_GT(last.bits_per_byte, 0);
        EXPECT_EQ(last.bleu, -1);
        EXPECT_NEAR(last.perplexity, std::exp(last.loss), 1e-9);
      }
    }
  }
}

TEST_F(LmRun, LearnsWhatIsTold) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcdefgh";
  put_content(folder_.file("train.data"), text);
  put_content(folder_.file("valid.data"), text.substr(0, 80));
  config_.train.max_steps = 150, config_.valid.every = 50, config_.model.dropout = 0;
  run();
  EXPECT_LT(listener_.validations.back().loss, 0.5);
  EXPECT_LT(listener_.validations.back().loss, listener_.validations.front().loss);
  // One character is one byte, and the end of the document is paid for too.
  EXPECT_NEAR(listener_.validations.back().bits_per_byte,
              listener_.validations.back().loss * 81 / (80 * std::numbers::ln2), 1e-9);
}

// What `heed score` says of the lines to validate with is what the run said of the model that it kept.
TEST_F(LmRun, ScoringIsTheValidation) {
  const std::vector<std::string> lines = {"abcabc", "b", "한글도 된다", "cab cab"};
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  put_content(folder_.file("train.data"), text + text + text);
  put_content(folder_.file("valid.data"), text);
  config_.data.documents = "line", config_.model.context = 32;
  for (const char* arch : {"gpt2", "llama"}) {
    config_.model.arch = arch, config_.data.pack = false;
    run({.overwrite = true});
    double kept = listener_.validations.front().loss;
    for (const ValidationReport& report : listener_.validations) kept = std::min(kept, report.loss);
    tasks::Score all;
    for (const tasks::Score& one :
         tasks::score_texts(tasks::Generator::open(config_.save.out), lines, {.with_end = true})) {
      all.log_probability += one.log_probability, all.tokens += one.tokens;
    }
    EXPECT_NEAR(all.perplexity(), std::exp(kept), 1e-6) << arch;
  }
}

// Where documents stand apart, a prompt begins as each of them did, whatever the tokenizer; of packed ones some do not.
TEST_F(LmRun, PromptsBeginAsDocumentsApartDo) {
  config_.data.documents = "line", config_.model.context = 64;
  put_content(folder_.file("train.data"), letter_text(3000, 1));
  const std::vector<std::string> lines = {"abc", "ba dc", "e"};
  put_content(folder_.file("valid.data"), "abc\nba dc\ne\n");
  for (const char* kind : {"char", "byte", "bpe", "sentencepiece"}) {
    config_.text.tokenizer = kind;
    config_.text.vocabulary = std::string(kind) == "bpe" ? 270 : std::string(kind) == "sentencepiece" ? 280 : 0;
    for (const auto& [pack, across] : {std::pair(false, true), {true, false}, {true, true}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", kind, pack, across));
      config_.data.pack = pack, config_.data.across = across;
      run({.overwrite = true});
      const tasks::Generator model = tasks::Generator::open(config_.save.out);
      const std::vector<int32_t> alone = model.tokenizer->encode("ba d");
      std::vector<int32_t> behind = {model.model.config.tokens.start};
      behind.insert(behind.end(), alone.begin(), alone.end());
      const bool apart = !pack || !across || model.tokenizer->special().bos >= 0;
      EXPECT_EQ(tasks::prompt_ids(model, {}, {.text = "ba d"}), apart ? behind : alone);
      EXPECT_EQ(tasks::prompt_ids(model, {}, {.text = "ba d", .as_it_is = true}), alone);
      if (pack && across) continue;
      double kept = listener_.validations.front().loss;
      for (const ValidationReport& report : listener_.validations) kept = std::min(kept, report.loss);
      tasks::Score all;
      for (const tasks::Score& one : tasks::score_texts(model, lines, {.with_end = true}))
        all.log_probability += one.log_probability, all.tokens += one.tokens;
      EXPECT_NEAR(all.perplexity(), std::exp(kept), 1e-6);
    }
  }
}

// The same where the tokenizer is another model's that puts nothing before a text.
TEST_F(LmRun, PromptsToATunedModelBeginAsItsDocumentsDo) {
  run();
  const std::string first = config_.save.out;
  config_ = tiny_run("lm", folder_);
  config_.model = {}, config_.text = {};
  config_.model.preset = "tiny", config_.model.from = first, config_.save.out = folder_.file("next");
  config_.data.documents = "line";
  EXPECT_EQ(text::load_tokenizer(first)->special().bos, -1);
  for (const bool pack : {true, false}) {
    config_.data.pack = pack;
    run({.overwrite = true});
    const tasks::Generator model = tasks::Generator::open(config_.save.out);
    EXPECT_EQ(model.tokenizer->special().bos, pack ? -1 : model.model.config.tokens.start);
  }
}

// Packed text is cut in blocks of the context: so is a text whose windows do not overlap.
TEST_F(LmRun, ScoringIsTheValidationOfPackedText) {
  const std::string text = letter_text(40, 3);
  put_content(folder_.file("valid.data"), text);
  config_.data.documents = "file", config_.model.context = 16;
  for (const char* arch : {"gpt2", "llama"}) {
    config_.model.arch = arch;
    run({.overwrite = true});
    double kept = listener_.validations.front().loss;
    for (const ValidationReport& report : listener_.validations) kept = std::min(kept, report.loss);
    const tasks::Generator model = tasks::Generator::open(config_.save.out);
    const auto perplexity = [&](const tasks::TextScoreConfig& how) {
      return tasks::score_texts(model, {text}, how)[0].perplexity();
    };
    EXPECT_NEAR(perplexity({.stride = 16, .with_end = true}), std::exp(kept), 1e-6) << arch;
    EXPECT_GT(std::abs(perplexity({.with_end = true}) - std::exp(kept)), 1e-4) << arch;
  }
}

TEST_F(LmRun, AShareThatLeavesNothingIsRefused) {
  config_.data.valid_text.clear();
  config_.data.valid_split = "random";  // one document: all or nothing
  const std::string message = message_of<Error>([&] { run(); });
  EXPECT_NE(message.find("no document is left to "), std::string::npos) << message;
  config_.data.valid_share = 0;
  EXPECT_EQ(run().state.step, 6);
  EXPECT_TRUE(listener_.validations.empty());
}

TEST_F(LmRun, AFileMoreInAFolderIsOtherData) {
  std::filesystem::create_directory(folder_.file("folder"));
  put_content(folder_.file("folder/a"), letter_text(50, 5));
  config_.data.text = {folder_.file("folder")};
  run();
  EXPECT_EQ(run({.resume = true}).state.step, 6);
  put_content(folder_.file("folder/b"), letter_text(50, 6));
  EXPECT_NE(message_of([&] { run({.resume = true}); }).find("the data changed since the run was saved"),
            std::string::npos);
}

TEST_F(LmRun, GoesOnFromAModel) {
  config_.train.max_steps = 60, config_.valid.every = 30;
  run();
  double before = INFINITY;
  for (const ValidationReport& r : listener_.validations) before = std::min(before, r.loss);
  const std::string first = config_.save.out, tokenizer = content_of(first + "/char_tokenizer.json");
  TrainConfig next = tiny_run("lm", folder_);
  next.model = {};
  next.model.from = first, next.model.context = 12, next.text.tokenizer = "bpe";
  next.train.learning_rate = 1e-9, next.save.out = folder_.file("next");
  config_ = next;
  EXPECT_EQ(run({.verify_resume = true}).state.step, 6);
  // It starts where the other ended, with the same pieces and shape.
  EXPECT_NEAR(listener_.validations.front().loss, before, 1e-4);
  EXPECT_EQ(content_of(config_.save.out + "/char_tokenizer.json"), tokenizer);
  EXPECT_EQ(run({.resume = true}).state.step, 6);
  // Its own copy of the config starts it again, too.
  TrainConfig read;
  read_config_file(read, config_.save.out + "/train.toml");
  EXPECT_EQ(read.model.d_model, 16);
  config_ = read;
  EXPECT_EQ(run({.resume = true}).state.step, 6);
  const auto refusal = [&](const std::function<void(TrainConfig::Model&)>& change) {
    config_ = next;
    change(config_.model);
    return message_of<Error>([&] { run({.overwrite = true}); });
  };
  EXPECT_NE(refusal([](auto& m) { m.layers = 7; }).find("model.layers is 7, and '"), std::string::npos);
  EXPECT_NE(refusal([](auto& m) { m.norm = "rms"; }).find("model.norm is said"), std::string::npos);
  EXPECT_NE(refusal([](auto& m) { m.context = 99; }).find("has positions for 12"), std::string::npos);
  EXPECT_NE(refusal([&](auto& m) { m.from = config_.save.out; }).find("are both"), std::string::npos);
  EXPECT_EQ(content_of(config_.save.out + "/char_tokenizer.json"), tokenizer);
}

// Positions that are no table go further than they did: what is written says how far.
TEST_F(LmRun, ALongerContextIsTheModels) {
  config_.model.arch = "llama";
  run();
  const std::string first = config_.save.out;
  config_ = tiny_run("lm", folder_);
  config_.model = {}, config_.text = {};
  config_.model.preset = "tiny", config_.model.from = first, config_.save.out = folder_.file("next");
  for (const auto& [context, length] : std::vector<std::pair<int64_t, int64_t>>{{30, 30}, {5, 12}}) {
    config_.model.context = context;
    run({.overwrite = true});
    EXPECT_EQ(models::read_config(config_.save.out).decoder.positions.max_length, length);
  }
}

// What a published model says of its ids stays: only what it leaves out is the tokenizer's.
TEST_F(LmRun, EndsOfTheModelBeforeAreKept) {
  run();
  const std::string first = config_.save.out;
  nlohmann::json published = nlohmann::json::parse(content_of(first + "/config.json"));
  const int32_t start = models::read_config(first).tokens.start;
  published["bos_token_id"] = nullptr, published["eos_token_id"] = {7, 5};
  std::filesystem::remove(first + "/generation_config.json");
  put_content(first + "/config.json", published.dump());
  config_ = tiny_run("lm", folder_);
  config_.model = {}, config_.text = {};
  config_.model.preset = "tiny", config_.model.from = first, config_.save.out = folder_.file("next");
  run();
  const models::TokenIds ids = models::read_config(config_.save.out).tokens;
  EXPECT_EQ(ids.start, start);
  EXPECT_EQ(ids.eos, 7);
  EXPECT_EQ(ids.more_ends, std::vector<int32_t>{5});
}

TEST_F(LmRun, SamplesAreOfTheModel) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcdefgh";
  put_content(folder_.file("train.data"), text);
  config_.train.max_steps = 150, config_.valid.every = 150, config_.model.dropout = 0, config_.valid.samples = 2;
  run();
  ASSERT_EQ(listener_.validations.back().texts.size(), 2u);
  for (const std::string& sample : listener_.validations.back().texts)
    EXPECT_NE(sample.find("abcdefghabcdefgh"), std::string::npos) << sample;
  const std::string log = content_of(config_.save.out + "/metrics.jsonl");
  EXPECT_NE(log.find("\"texts\":["), std::string::npos);
  EXPECT_NE(log.find("\"bits_per_byte\":"), std::string::npos);
  EXPECT_EQ(log.find("bleu"), std::string::npos);
}

TEST_F(LmRun, AnotherTaskIsNotResumed) {
  run();
  TrainConfig other = tiny_run("translate", folder_);
  const std::string message =
      message_of<Error>([&] { run_training(other, {.resume = true}, listener_, [] { return false; }); });
  EXPECT_NE(message.find("task was lm, is translate"), std::string::npos) << message;
}

}  // namespace
}  // namespace heed::train
