// heed generate and heed score of language models, as people and programs use them.
#include <set>

#include "heed/cli/generate_program_test.h"
#include "heed/data/test_gzip.h"
#include "heed/io/test_shared.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/unicode.h"

namespace heed::cli {
namespace {

TEST_F(GenerateProgram, APromptStreamsItsTextAndLinesComeInOrder) {
  const std::string one = generated("", {"--prompt", "hello", "--temperature", "0", "--max-tokens", "20"});
  EXPECT_TRUE(text::valid_utf8(one));
  EXPECT_TRUE(one.ends_with("\n"));
  const std::vector<json> all = generated_json("x y\nhello\n\nhello\n", {"--temperature", "0", "--max-tokens", "20"});
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]["prompt"], i);
  EXPECT_EQ(all[1]["texts"][0]["text"].get<std::string>() + "\n", one);
  EXPECT_EQ(all[1]["texts"][0]["ids"], all[3]["texts"][0]["ids"]);
  EXPECT_EQ(all[1]["prompt_tokens"], 5);
  EXPECT_EQ(all[2]["prompt_tokens"], 1);  // an empty one has the model's start
  EXPECT_EQ(generated("hello\n", {"--temperature", "0", "--max-tokens", "20"}), one);
  EXPECT_EQ(generated("hello\nhello\n", {"--temperature", "0", "--max-tokens", "20"}), one + "---\n" + one);
  EXPECT_EQ(generated("hello\n\nnot reached\n", {"--interactive", "--temperature", "0", "--max-tokens", "20"}), one);
  const std::string out = (folder_ / "out.txt").string();
  EXPECT_EQ(generated("", {"--prompt", "hello", "--temperature", "0", "--max-tokens", "20", "--output", out}), "");
  EXPECT_EQ(read_all(out), one);
}

TEST_F(GenerateProgram, NothingButTheRequestChangesABit) {
  const std::string text = "the cat\nthe cat sat on the mat and saw the bird\n\nthe cat sat on the mat and slept\n";
  const std::vector<std::vector<std::string>> requests = {
      {"--temperature", "0"},
      {"--samples", "3", "--seed", "7", "--temperature", "1.5"},
      {"--repetition-penalty", "1.3", "--presence-penalty", "0.5", "--frequency-penalty", "0.1", "--min-p", "0.05"},
      {"--beam", "3", "--max-tokens", "10"},
      {"--window", "--max-tokens", "100"}};
  const std::vector<std::vector<std::string>> ways = {
      {"--batch-tokens", "1"}, {"--batch-tokens", "300"}, {"--threads", "1"}, {"--threads", "2"}};
  const auto without_times = [](std::vector<json> all) {
    for (json& one : all) {
      for (json& t : one["texts"]) {
        for (const char* key : {"seconds", "first_token_seconds", "tokens_per_second"}) EXPECT_EQ(t.erase(key), 1u);
      }
    }
    return all;
  };
  for (const auto& request : requests) {
    const std::vector<json> plain = without_times(generated_json(text, request));
    ASSERT_EQ(plain.size(), 4u);
    for (const auto& way : ways) {
      std::vector<std::string> both = request;
      both.insert(both.end(), way.begin(), way.end());
      EXPECT_EQ(without_times(generated_json(text, both)), plain) << testing::PrintToString(both);
    }
  }
  const auto drawn = [&](const char* seed) { return generated("go\n", {"--temperature", "2", "--seed", seed}); };
  EXPECT_EQ(drawn("1"), drawn("1"));
  EXPECT_NE(drawn("1"), drawn("2"));
}

TEST_F(GenerateProgram, ReasonsStopsAndLogProbabilities) {
  const auto with = [&](std::vector<std::string> more, const std::string& tokens = "30") {
    more.insert(more.begin(), {"--temperature", "0", "--ban", "0", "--max-tokens", tokens});
    return generated_json("hello\n", more).at(0)["texts"][0];
  };
  const json whole = with({"--logprobs", "3"});
  EXPECT_EQ(whole["reason"], "length");
  EXPECT_EQ(whole["ids"].size(), 30u);
  EXPECT_EQ(whole["log_probabilities"].size(), 30u);
  ASSERT_EQ(whole["alternatives"].size(), 30u);
  EXPECT_EQ(whole["alternatives"][4].size(), 3u);
  const std::string text = whole["text"];
  const std::u32string characters = text::to_code_points(text);
  const std::string stop = text::to_utf8(characters.substr(characters.size() / 2, 3));
  const json cut = with({"--stop", "never said", "--stop", stop});
  EXPECT_EQ(cut["reason"], "stop");
  EXPECT_EQ(cut["text"], text.substr(0, text.find(stop)));
  const json full = with({}, "100");
  EXPECT_EQ(full["reason"], "context");
  EXPECT_EQ(full["ids"].size(), 60u);  // the context of 64, five of the prompt, and one that is not read any more
  const json biased = with({"--bias", "70=1000"});  // that nothing outweighs
  for (const json& id : biased["ids"]) EXPECT_EQ(id, 70);
}

TEST_F(GenerateProgram, IdsNeedNoTokenizer) {
  const json by_text = generated_json("hi\n", {"--temperature", "0"}).at(0)["texts"][0];
  for (const auto& entry : fs::directory_iterator(model_)) {
    if (entry.path().string().find("tokenizer") != std::string::npos) fs::remove(entry.path());
  }
  std::string ids;
  for (const json& id : by_text["ids"]) ids += (ids.empty() ? "" : " ") + std::to_string(id.get<int>());
  EXPECT_EQ(generated("107 108\n", {"--ids", "--temperature", "0"}), ids + "\n");  // h and i
  EXPECT_EQ(generated("", {"--ids", "--temperature", "0", "--prompt", "107 108"}), ids + "\n");
  expect_wrong({"generate", model_}, 1, "tokenizer");
  expect_wrong({"generate", model_, "--ids"}, 1, "standard input:1: '259', expected an id from 0 to 258", "259\n");
  expect_wrong({"generate", model_, "--ids", "--prompt", "x"}, 2, "--prompt: 'x', expected an id from 0 to 258");
  expect_wrong({"generate", model_, "--ids", "--stop", "x"}, 2, "ids are no text", "5\n");
}

TEST_F(GenerateProgram, WrongRequests) {
  const auto wrong = [&](std::vector<std::string> more, int status, const std::string& part) {
    more.insert(more.begin(), {"generate", model_});
    expect_wrong(more, status, part);
  };
  wrong({"--temperature", "-1"}, 2, "--temperature '-1': expected 0 to");
  wrong({"--temperature", "nan"}, 2, "expected a finite number");
  wrong({"--top-p", "2"}, 2, "--top-p '2': expected");
  wrong({"--top-p", "0"}, 2, "--top-p '0': expected");
  wrong({"--min-p", "1.5"}, 2, "--min-p '1.5'");
  wrong({"--top-k", "-3"}, 2, "--top-k '-3'");
  wrong({"--repetition-penalty", "0"}, 2, "--repetition-penalty '0'");
  wrong({"--max-tokens", "0"}, 2, "--max-tokens '0'");
  wrong({"--samples", "0"}, 2, "--samples '0'");
  wrong({"--ban", "259"}, 2, "--ban: '259', expected an id from 0 to 258");
  wrong({"--ban", "x"}, 2, "--ban: 'x', expected an id");
  wrong({"--bias", "5"}, 2, "--bias '5': expected ID=NUMBER");
  wrong({"--bias", "5=x"}, 2, "--bias 'x' is no number");
  wrong({"--bias", "3:5"}, 2, "--bias '3:5': expected ID=NUMBER");
  wrong({"--bias", "3="}, 2, "--bias '3=': expected ID=NUMBER");
  wrong({"--bias", "=3"}, 2, "--bias '=3': expected ID=NUMBER");
  wrong({"--bias", "900=1"}, 2, "--bias: '900', expected an id from 0 to 258");
  wrong({"--stop", ""}, 2, "an empty stop string");
  wrong({"--beam", "3", "--temperature", "1"}, 2, "--temperature with --beam");
  wrong({"--beam", "3", "--stop", "x"}, 2, "stop strings with a beam of 3");
  wrong({"--beam", "3", "--window"}, 2, "a window with a beam of 3");
  wrong({"--beam", "3", "--logprobs", "2"}, 2, "--logprobs with --beam");
  wrong({"--prompt", "a", "--interactive"}, 2, "--prompt with --interactive");
  wrong({"--prompt", "a", "--input", "b"}, 2, "both --prompt and --input");
  wrong({"--input", (folder_ / "none").string()}, 1, "no such file");
  wrong({"--prompt", std::string(100, 'x')}, 1, "prompt 1 has 100 tokens: the context of the model is 64");
  wrong({"--tempature", "1"}, 2, "did you mean '--temperature'?");
  expect_wrong({"generate"}, 2, "MODEL");
  expect_wrong({"generate", (folder_ / "none").string()}, 1, "is no folder");
  // A prompt over the context keeps its end where that is asked for.
  EXPECT_EQ(generated("", {"--prompt", std::string(100, 'x'), "--window", "--temperature", "0"}),
            generated("", {"--prompt", std::string(64, 'x'), "--window", "--temperature", "0"}));
  // A tokenizer with more ids than the model.
  expect_wrong({"generate", write_model("small", 200)}, 1, "the tokenizer has 259 ids, the model 200");
}

TEST_F(GenerateProgram, ScoresOfLinesAndOfAWholeFile) {
  const std::string text = "hello there\n\nthe cat sat on the mat, " + std::string(100, 'x') + "\n";
  const auto scored = [&](const std::string& input, std::vector<std::string> more) {
    more.insert(more.begin(), {"score", model_, "--json"});
    const Outcome outcome = run_with(input, more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<json> all;
    for (const std::string& line : lines_of(outcome.out)) all.push_back(json::parse(line));
    return all;
  };
  const std::vector<json> lines = scored(text, {});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["tokens"], 11);
  EXPECT_EQ(lines[1]["tokens"], 0);
  const double by_token = lines[0]["log_probability"].get<double>() / 11;
  EXPECT_NEAR(lines[0]["perplexity"].get<double>(), std::exp(-by_token), 1e-9);
  EXPECT_NEAR(lines[0]["bits_per_byte"].get<double>(), -by_token / std::log(2.0), 1e-9);  // bytes are the tokens
  EXPECT_EQ(scored("hello there\n", {})[0], lines[0]);
  EXPECT_EQ(scored("hello there\n", {"--with-end"})[0]["tokens"], 12);
  EXPECT_EQ(scored(text, {"--whole"})[0]["tokens"], text.size());
  const std::string packed = file("text.gz", data::gzip(text));
  EXPECT_EQ(scored("", {"--whole", "--input", packed}), scored(text, {"--whole"}));
  // Ids as they are: the first has nothing before it.
  EXPECT_EQ(scored("2 107 108\n", {"--ids"})[0]["log_probability"], scored("hi\n", {})[0]["log_probability"]);
  // A shorter stride gives every token at least as much before it: never the same windows.
  EXPECT_NE(scored(text, {"--whole", "--stride", "64"}), scored(text, {"--whole", "--stride", "8"}));
  expect_wrong({"score", model_, "--stride", "65"}, 2, "a stride of 65: expected 1 to 64");
  expect_wrong({"score", model_, "--src", "a", "--tgt", "b"}, 2, "--src is for translators");
  expect_wrong({"score", model_, "--whole"}, 1, "'standard input' is not UTF-8 text", "\xFF");
}

TEST_F(GenerateProgram, NothingToScoreHasNoPerplexity) {
  const std::string empty = file("empty", ""), output = (folder_ / "scores").string();
  const Outcome outcome = run({"score", model_, "--whole", "--input", empty, "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(json::parse(outcome.out)["perplexity"].is_null()) << outcome.out;
  EXPECT_TRUE(run({"score", model_, "--whole", "--input", empty}).out.ends_with("\t-\n"));
  const std::string text = file("text", "a\n");
  expect_wrong({"score", model_, "--input", text, "--output", text}, 2, "is a file that is read");
  EXPECT_EQ(read_all(text), "a\n");
}

TEST_F(GenerateProgram, WhatIsReadIsNotReplaced) {
  const std::string config = read_all(model_ + "/config.json"), output = model_ + "/config.json";
  expect_wrong({"generate", model_, "--prompt", "a", "--output", output}, 2, "a part of the model that is read");
  expect_wrong({"generate", model_ + "/", "--prompt", "a", "--output", model_ + "/./tokenizer.json"}, 2, "a part of");
  expect_wrong({"score", model_, "--output", output}, 2, "a part of the model that is read");
  expect_wrong({"tokenize", model_, "--output", output}, 2, "a part of the model that is read");
  EXPECT_EQ(read_all(output), config);
  EXPECT_EQ(generated("", {"--prompt", "a", "--max-tokens", "2", "--output", model_ + "/text.txt"}), "");
  EXPECT_TRUE(fs::exists(model_ + "/text.txt"));
}

TEST_F(GenerateProgram, APromptThatIsTooLongComesAfterTheAnswersBeforeIt) {
  const std::vector<std::string> greedy = {"--temperature", "0", "--max-tokens", "6"};
  for (const char* way : {"", "--interactive"}) {
    std::vector<std::string> more = greedy;
    if (*way != 0) more.emplace_back(way);
    const std::string before = generated("one\ntwo\n", more);
    more.insert(more.begin(), {"generate", model_, "--quiet"});
    const Outcome outcome = run_with("one\ntwo\n" + std::string(100, 'x') + "\nthree\n", more);
    EXPECT_EQ(outcome.status, 1) << way;
    EXPECT_EQ(outcome.out, before) << way;
    EXPECT_EQ(outcome.err,
              "heed: [generate] prompt 3 has 100 tokens: the context of the model is 64 (--window keeps their end)\n");
  }
}

// One message each for text that is read as something else.
TEST_F(GenerateProgram, TextThatIsNotReadAsItWasTypedIsTold) {
  const auto told = [&](const std::string& input, const std::vector<std::string>& words) {
    const Outcome outcome = run_with(input, words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(told("", {"generate", model_, "--prompt", "\xff\xfe bad", "--max-tokens", "2"}),
            "heed: --prompt is not UTF-8 text: read as far as it is\n");
  EXPECT_EQ(told("", {"generate", model_, "--prompt", "good", "--max-tokens", "2"}), "");
  EXPECT_EQ(told("a\n\xff\n", {"score", model_}),
            "heed: 1 line is not UTF-8 text (first: standard input:2): read as far as they are\n");
  // A tokenizer of these characters alone.
  const std::string text = file("text", "the cat sat\n"), trained = (folder_ / "trained").string();
  ASSERT_EQ(run({"train", "lm", "--text", text, "--valid-share", "0", "--tokenizer", "char", "--max-steps", "1",
                 "--layers", "1", "--d-model", "16", "--heads", "2", "--out", trained, "--quiet"})
                .status,
            0);
  const std::string unknown = "heed: 2 tokens are unknown to the model, which reads <unk> instead\n";
  EXPECT_EQ(told("", {"generate", trained, "--prompt", "the €€", "--max-tokens", "2"}), unknown);
  EXPECT_EQ(told("the €\nsat €\n", {"score", trained}), unknown);
  EXPECT_EQ(told("the sat\n", {"score", trained}), "");
}

// Brackets without end cost the stack of whoever copies them.
TEST_F(GenerateProgram, SettingsNestedWithoutEndAreRefused) {
  for (const char* key : {"quantization_config", "anything"}) {
    json config = json::parse(read_all(model_ + "/config.json"));
    std::string text = config.dump();
    text.pop_back();
    text += std::string(",\"") + key + "\":{\"quant_method\":" + std::string(400'000, '[') + std::string(400'000, ']') +
            "}}";
    const std::string deep = write_model(std::string("deep-") + key, 259);
    std::ofstream(deep + "/config.json") << text;
    expect_wrong({"info", deep}, 1, "is no JSON object");
    expect_wrong({"quantize", deep, "--out", (folder_ / "small").string()}, 1, "is no JSON object");
  }
}

TEST_F(GenerateProgram, TheBenchmarkMeasures) {
  const json j = run_json(
      {"bench", "generate", "--model", model_, "--prompt", "8", "--tokens", "4", "--batch", "3", "--seconds", "0.1"});
  for (const char* key : {"prompt_tokens_per_second", "tokens_per_second"}) EXPECT_GT(j[key]["best"], 0) << key;
  EXPECT_GT(j["share_of_read"], 0);
  expect_wrong({"bench", "generate", "--model", model_, "--prompt", "64"}, 2,
               "64 + 64 tokens: the context of the model is 64");
}

class GenerateOfTranslators : public Trained {};

TEST_F(GenerateOfTranslators, ATranslatorDoesNotGenerate) {
  expect_wrong("a\n", {"generate", model_}, 1, "is no language model: expected a decoder alone");
  expect_wrong("a\tb\n", {"score", model_, "--whole"}, 2, "--whole is for language models");
}

// What a published model is known to say; where it is not at hand there is nothing to test.
class PublishedModel : public Program {
 protected:
  static std::string folder() { return shared_folder("HEED_MODELS", "models") + "/stories15M"; }
};

TEST_F(PublishedModel, Stories15MSaysItsPublishedText) {
  if (!fs::exists(folder() + "/model.safetensors")) GTEST_SKIP() << "no " << folder();
  const std::string source = read_all(folder() + "/SOURCE.md"), begin = "prompt empty (BOS): '";
  const size_t from = source.find(begin), to = source.find(" ...'", from);
  ASSERT_NE(to, std::string::npos);
  std::string expected = source.substr(from + begin.size(), to - from - begin.size());
  for (size_t at; (at = expected.find("\\n")) != std::string::npos;) expected.replace(at, 2, "\n");
  const Outcome outcome = run({"generate", folder(), "--prompt", "", "--temperature", "0", "--max-tokens", "120"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = outcome.out.substr(0, outcome.out.size() - 1);
  EXPECT_GT(text.size(), 350u);
  EXPECT_EQ(text.substr(0, expected.size()), expected.substr(0, text.size()));
}

}  // namespace
}  // namespace heed::cli
