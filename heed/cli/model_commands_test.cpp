// heed eval, score, info, tokenize and average, and what the demo shows, with a small trained model.
#include <fmt/format.h>

#include <cmath>

#include "heed/cli/demo_talk.h"
#include "heed/cli/trained_test.h"
#include "heed/io/safetensors.h"
#include "heed/train/bleu.h"
#include "heed/train/chrf.h"
#include "heed/train/run_folder.h"

namespace heed::cli {
namespace {

class ModelProgram : public Trained {
 protected:
  std::string source_ = (shared_ / "train.en").string(), target_ = (shared_ / "train.ko").string();

  json json_of(const std::vector<std::string>& arguments) {
    const std::string out = answer("", arguments);
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
    return json::parse(out);
  }
  std::vector<float> weights_of(const std::string& model) const {
    const SafeTensors file = SafeTensors::open(model + "/model.safetensors");
    std::vector<float> all;
    for (const StoredTensor& tensor : file.tensors()) {
      const size_t at = all.size();
      all.resize(at + static_cast<size_t>(tensor.elements()));
      to_f32(tensor, all.data() + at);
    }
    return all;
  }
};

TEST_F(ModelProgram, EvalMeasuresWhatItSaves) {
  const std::string saved = (folder_ / "saved.ko").string();
  const json found =
      json_of({"eval", model_, "--src", source_, "--ref", target_, "--beam", "1", "--save", saved, "--json"});
  const std::vector<std::string> lines = lines_of(read_all(saved)), references = lines_of(read_all(target_));
  EXPECT_EQ(found["sentences"], 300);
  EXPECT_EQ(lines, lines_of(translated(read_all(source_), {"--beam", "1"})));
  // metrics_test.cpp holds the library to sacrebleu's numbers.
  EXPECT_EQ(found["bleu"].get<double>(), train::corpus_bleu(lines, references, {}).score);
  EXPECT_EQ(found["chrf"].get<double>(), train::corpus_chrf(lines, references, {}));
  EXPECT_EQ(found["bleu_signature"], "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-" HEED_VERSION);
  const std::string text = answer("", {"eval", model_, "--src", source_, "--ref", target_, "--beam", "1"});
  EXPECT_NE(text.find(train::corpus_bleu(lines, references, {}).text()), std::string::npos) << text;
  const json lower = json_of({"eval", model_, "--src", source_, "--ref", target_, "--beam", "1", "--lowercase",
                              "--tokenize", "char", "--json"});
  EXPECT_EQ(lower["bleu"].get<double>(),
            train::corpus_bleu(lines, references, {.tokens = train::bleu_tokens("char"), .lowercase = true}).score);
}

TEST_F(ModelProgram, ScoresAndPerplexityAgree) {
  const json found = json_of({"eval", model_, "--src", source_, "--ref", target_, "--beam", "1", "--json"});
  const std::vector<std::string> scores =
      lines_of(answer("", {"score", model_, "--src", source_, "--tgt", target_, "--json"}));
  ASSERT_EQ(scores.size(), 300u);
  double log_probability = 0;
  int64_t tokens = 0;
  for (const std::string& line : scores) {
    const json score = json::parse(line);
    EXPECT_NEAR(score["perplexity"].get<double>(),
                std::exp(-score["log_probability"].get<double>() / score["tokens"].get<double>()), 1e-9);
    log_probability += score["log_probability"].get<double>(), tokens += score["tokens"].get<int64_t>();
  }
  EXPECT_NEAR(found["perplexity"].get<double>(), std::exp(-log_probability / static_cast<double>(tokens)), 1e-9);
  // A pair alone, and as a line of two columns, scores to the bit as among the others.
  const std::string pair = lines_of(read_all(source_))[7] + "\t" + lines_of(read_all(target_))[7] + "\n";
  EXPECT_EQ(answer(pair, {"score", model_, "--json"}), scores[7] + "\n");
}

TEST_F(ModelProgram, ComparesTwoModels) {
  const std::string other = (folder_ / "other").string();
  train_into(other, 5, 2);
  const json found =
      json_of({"eval", model_, "--src", source_, "--ref", target_, "--beam", "1", "--compare", other, "--json"});
  EXPECT_EQ(found["compare"]["model"], other);
  for (const char* metric : {"paired_bleu", "paired_chrf"}) {
    const json& paired = found["compare"][metric];
    EXPECT_LT(paired["p_value"].get<double>(), 0.05) << paired;
    EXPECT_GT(paired["baseline"]["score"].get<double>(), paired["system"]["score"].get<double>());
  }
  const json same =
      json_of({"eval", model_, "--src", source_, "--ref", target_, "--beam", "1", "--compare", model_, "--json"});
  EXPECT_EQ(same["compare"]["bleu"], same["bleu"]);
  EXPECT_GT(same["compare"]["paired_bleu"]["p_value"].get<double>(), 0.9);
  EXPECT_NE(answer("", {"eval", model_, "--src", source_, "--ref", target_, "--beam", "1", "--compare", model_})
                .find("may be chance"),
            std::string::npos);
}

TEST_F(ModelProgram, InfoCountsTheParts) {
  const json found = json_of({"info", model_, "--json"});
  EXPECT_EQ(found["model_type"], "marian");
  EXPECT_EQ(found["tokenizer"]["source"], found["config"]["vocabulary"]);
  EXPECT_EQ(found["tokenizer"]["shared"], true);
  int64_t sum = 0;
  for (const auto& [part, count] : found["parameters"].items()) sum += part == "total" ? 0 : count.get<int64_t>();
  EXPECT_EQ(found["parameters"]["total"], sum);
  EXPECT_EQ(found["memory_bytes"], 4 * sum);
  const std::string text = answer("", {"info", model_});
  EXPECT_NE(text.find("1 layers of 32 features, 4 heads"), std::string::npos) << text;
}

TEST_F(ModelProgram, InfoSaysWhichTensorsDoNotFit) {
  const std::filesystem::path copy = folder_ / "copy";
  std::filesystem::copy(model_, copy, std::filesystem::copy_options::recursive);
  json config = json::parse(read_all((copy / "config.json").string()));
  config["decoder_ffn_dim"] = config["decoder_ffn_dim"].get<int>() + 16;
  std::ofstream(copy / "config.json") << config;
  expect_wrong("", {"info", copy.string()}, 1, "decoder.layers.0.fc1");
}

TEST_F(ModelProgram, TokensGoBackToTheSameText) {
  const std::string text =
      "the cat saw the bird\n고양이가 쥐를 잡았다\n猫捉住了老鼠\n👩‍👩‍👧‍👦 👍🏽 "
      "🇰🇷\ncafe\u0301 "
      "e\u0301\u0323\n\nмышь\n";
  for (const char* side : {"source", "target"}) {
    const std::string ids = answer(text, {"tokenize", model_, "--side", side, "--ids"});
    EXPECT_EQ(answer(ids, {"tokenize", model_, "--side", side, "--decode"}), text);
  }
  const std::vector<std::string> lines = lines_of(answer(text, {"tokenize", model_, "--json"}));
  ASSERT_EQ(lines.size(), 7u);
  for (const std::string& line : lines) EXPECT_EQ(json::parse(line)["ids"].size(), json::parse(line)["pieces"].size());
  EXPECT_EQ(json::parse(lines[1])["text"], "고양이가 쥐를 잡았다");
  const json back = json::parse(answer("5 6\n", {"tokenize", model_, "--decode", "--json"}));
  EXPECT_EQ(back["ids"], json::array({5, 6}));
  EXPECT_NE(answer("the cat\n", {"tokenize", model_}).find("▁the"), std::string::npos);
}

// Directories that others wrote: a model, and a tokenizer beside it.
TEST_F(ModelProgram, InfoAndTokensOfALanguageModel) {
  const fs::path golden = fs::path(HEED_SOURCE_DIR) / "tests" / "golden", copy = folder_ / "llama";
  fs::copy(golden / "decoders" / "llama", copy);
  const json found = json_of({"info", copy.string(), "--json"});
  EXPECT_EQ(found["kind"], "language model");
  EXPECT_EQ(found["model_type"], "llama");
  EXPECT_EQ(found["tokenizer"], nullptr);
  int64_t sum = 0;
  for (const auto& [part, count] : found["parameters"].items()) sum += part == "total" ? 0 : count.get<int64_t>();
  EXPECT_EQ(found["parameters"]["total"], sum);
  const std::string text = answer("", {"info", copy.string()});
  EXPECT_NE(text.find("a language model, model type llama\n  decoder     2 layers"), std::string::npos) << text;
  // A tokenizer with more ids than the model has rows.
  fs::copy(golden / "language_tokenizers" / "llama3" / "tokenizer.json", copy);
  expect_wrong("", {"info", copy.string()}, 1, "the tokenizer has 379 ids, the model 37");
  const std::string ids = answer("the cat's 1234\n", {"tokenize", copy.string(), "--ids"});
  EXPECT_EQ(answer(ids, {"tokenize", copy.string(), "--decode"}), "the cat's 1234\n");
}

TEST_F(ModelProgram, TheMeanOfModels) {
  const std::string other = (folder_ / "other").string(), mean = (folder_ / "deep" / "mean").string();
  train_into(other, 5, 2);
  // Which head aligns is no part of the shape.
  json config = json::parse(read_all(other + "/config.json"));
  config["heed"]["alignment_head"] = 3;
  std::ofstream(other + "/config.json") << config.dump();
  const Outcome outcome = run({"average", "--out", mean, model_, other});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<float> a = weights_of(model_), b = weights_of(other), found = weights_of(mean);
  ASSERT_EQ(found.size(), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<float>((static_cast<double>(a[i]) + static_cast<double>(b[i])) / 2)) << i;
  }
  EXPECT_EQ(lines_of(answer("the cat\n", {"translate", mean, "--quiet"})).size(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "deep"), {}), 1);  // nothing is left beside it
}

// They go on behind what is written down: the longer one is as right for both.
TEST_F(ModelProgram, TheMeanOfModelsOfOtherLengths) {
  const std::string longer = (folder_ / "longer").string(), mean = (folder_ / "mean").string();
  train_into(longer, 5, 2, 300);
  for (const auto& [one, two] : {std::pair(model_, longer), std::pair(longer, model_)}) {
    const Outcome outcome = run({"average", "--out", mean, "--overwrite", one, two});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json config = json::parse(read_all(mean + "/config.json"));
    EXPECT_EQ(config["max_position_embeddings"], 600);
    EXPECT_EQ(config["heed"]["trained_length"], 300);
    EXPECT_EQ(lines_of(answer("the cat\n", {"translate", mean, "--quiet"})).size(), 1u);
  }
}

TEST_F(ModelProgram, WhatLiesBesideTheMeanStays) {
  const std::string mean = (folder_ / "mean").string();
  fs::create_directory(mean + ".unfinished");
  const std::string thesis = file("mean.unfinished/thesis.txt", "years of work");
  ASSERT_EQ(run({"average", "--out", mean, model_, model_}).status, 0);
  EXPECT_FALSE(fs::exists(mean + "/thesis.txt"));
  EXPECT_EQ(read_all(thesis), "years of work");
  // A failure takes away what it made, and nothing else: here the last file cannot be copied.
  const std::string odd = copy_of_model("odd"), other = (folder_ / "other" / "mean").string();
  fs::remove(odd + "/special_tokens_map.json");
  fs::create_directory(odd + "/special_tokens_map.json");
  EXPECT_EQ(run({"average", "--out", other, odd, odd}).status, 1);
  EXPECT_TRUE(fs::is_empty(folder_ / "other"));
}

TEST_F(ModelProgram, AFolderThatIsReplacedKeepsWhatIsNotTheModels) {
  const std::string mean = copy_of_model("mean"), other = (folder_ / "project").string();
  std::ofstream(mean + "/thesis.txt") << "years of work";
  std::ofstream(mean + "/model-00001-of-00002.safetensors") << "of the old one";
  ASSERT_EQ(run({"average", "--out", mean, "--overwrite", model_, model_}).status, 0);
  EXPECT_EQ(read_all(mean + "/thesis.txt"), "years of work");
  EXPECT_FALSE(fs::exists(mean + "/model-00001-of-00002.safetensors"));
  EXPECT_EQ(weights_of(mean), weights_of(model_));
  // A config.json alone makes no model.
  fs::create_directory(other);
  std::ofstream(other + "/config.json") << "{}";
  expect_wrong("", {"average", "--out", other, "--overwrite", model_, model_}, 2, "is no model: it is not replaced");
  EXPECT_EQ(read_all(other + "/config.json"), "{}");
}

TEST_F(ModelProgram, ARunIsNotReplaced) {
  const std::string run_folder = (folder_ / "run").string(), training = run_folder + "/training";
  train_into(run_folder, 2, 3);
  const std::vector<std::string> average = {"average", "--out", run_folder, "--overwrite", model_, model_};
  const std::vector<float> before = weights_of(run_folder);
  {
    const train::FolderLock lock(training);
    expect_wrong("", average, 1, "is in use by another process that trains");
  }
  expect_wrong("", average, 2,
               fmt::format("holds the checkpoints of a run: expected another --out, or remove '{}'", training));
  EXPECT_TRUE(fs::exists(training + "/stopped-2.safetensors"));
  EXPECT_TRUE(fs::exists(run_folder + "/train.toml") && fs::exists(run_folder + "/metrics.jsonl"));
  EXPECT_EQ(weights_of(run_folder), before);
  fs::remove_all(training);
  ASSERT_EQ(run(average).status, 0);
  EXPECT_EQ(weights_of(run_folder), weights_of(model_));
}

TEST_F(ModelProgram, TheMeanOfModelsThatDifferIsRefused) {
  const std::string other = copy_of_model("other"), mean = (folder_ / "mean").string();
  expect_wrong("", {"average", "--out", mean, model_}, 2, "one model: expected two at least");
  expect_wrong("", {"average", "--out", other, model_, model_}, 2, "exists already: expected a new folder");
  expect_wrong("", {"average", "--out", file("a", "") + "/b", model_, model_}, 1, "Not a directory");
  json vocabulary = json::parse(read_all(other + "/vocab.json"));
  std::swap(vocabulary["a"], vocabulary["e"]);
  std::ofstream(other + "/vocab.json") << vocabulary.dump();
  expect_wrong("", {"average", "--out", mean, model_, other}, 2, "their ids mean different words");
  json config = json::parse(read_all(other + "/config.json"));
  config["activation_function"] = "gelu";
  std::ofstream(other + "/config.json") << config.dump();
  expect_wrong(
      "", {"average", "--out", mean, model_, other}, 2,
      fmt::format("'{}' is a model of another shape than '{}': decoder.activation is \"gelu\", and \"relu\" there",
                  other, model_));
  EXPECT_FALSE(fs::exists(mean));
}

// The names that programs go by.
TEST_F(ModelProgram, WhatTheDemoTellsPrograms) {
  const std::string line = json_text({.exact_match = 0.998,
                                      .exact_match_compositions = 0.99,
                                      .seconds = 40,
                                      .tokens = 2'000'000,
                                      .steps = 1500,
                                      .sentences = 1000,
                                      .seed = 7});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(line), json({{"exact_match", 0.998},
                                     {"exact_match_compositions", 0.99},
                                     {"seconds", 40.0},
                                     {"tokens_per_second", 50'000.0},
                                     {"steps", 1500},
                                     {"sentences", 1000},
                                     {"seed", 7}}));
}

TEST_F(ModelProgram, WhatTheDemoShows) {
  const tasks::Translator translator = tasks::Translator::open(model_);
  const std::string tricky = tricky_text(translator);
  for (const data::TrickySentence& t : data::tricky_sentences())
    EXPECT_NE(tricky.find(t.pair.source), std::string::npos) << t.pair.source;
  size_t marks = 0;
  for (const char* mark : {"✓", "✗"}) {
    for (size_t at = tricky.find(mark); at != std::string::npos; at = tricky.find(mark, at + 1)) ++marks;
  }
  EXPECT_EQ(marks, data::tricky_sentences().size());
  const std::string attention = attention_text(translator, "the cat");
  EXPECT_NE(attention.find("▁the"), std::string::npos) << attention;
  EXPECT_EQ(attention.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace heed::cli
