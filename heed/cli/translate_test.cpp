// heed translate as people and programs use it.
#include <poll.h>

#include "heed/cli/trained_test.h"
#include "heed/data/test_gzip.h"
#include "heed/io/safetensors.h"
#include "heed/text/unicode.h"

namespace heed::cli {
namespace {

class TranslateProgram : public Trained {};

constexpr const char* kText =
    "the cat saw the bird\nthe dog\n\nhe did not see three small birds\n   \nshe reads a book sir\n";

TEST_F(TranslateProgram, LinesComeBackInOrderAndEmptyOnesStayEmpty) {
  const std::vector<std::string> all = lines_of(translated(kText)), asked = lines_of(kText);
  ASSERT_EQ(all.size(), asked.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(translated(asked[i] + "\n"), all[i] + "\n");
    EXPECT_EQ(all[i].empty(), i == 2 || i == 4) << i;
  }
  EXPECT_EQ(translated(""), "");
  EXPECT_EQ(translated("\n"), "\n");
  // The ends of lines as other systems write them, a byte order mark, no end at all.
  const std::string one = translated("the cat saw the bird\n");
  for (const char* same : {"the cat saw the bird\r\n", "the cat saw the bird", "\xEF\xBB\xBFthe cat saw the bird\n"}) {
    EXPECT_EQ(translated(same), one) << same;
  }
}

TEST_F(TranslateProgram, NothingButTheRequestChangesABit) {
  const std::vector<std::vector<std::string>> requests = {
      {"--json"},
      {"--json", "--nbest", "3", "--alignment"},
      {"--json", "--beam", "1"},
      {"--json", "--sample", "--nbest", "2", "--seed", "7", "--temperature", "1.5"},
      {"--json", "--prefix", "고양이"}};
  const std::vector<std::vector<std::string>> ways = {{"--batch-tokens", "1", "--window", "1"},
                                                      {"--batch-tokens", "60", "--window", "3"},
                                                      {"--threads", "1"},
                                                      {"--threads", "3"}};
  for (const auto& request : requests) {
    const std::string plain = translated(kText, request);
    EXPECT_EQ(lines_of(plain).size(), 6u);
    for (const auto& way : ways) {
      std::vector<std::string> both = request;
      both.insert(both.end(), way.begin(), way.end());
      EXPECT_EQ(translated(kText, both), plain) << testing::PrintToString(both);
    }
  }
  const std::string drawn = translated(kText, {"--sample", "--seed", "7"});
  EXPECT_EQ(drawn, translated(kText, {"--sample", "--seed", "7"}));
  EXPECT_NE(drawn, translated(kText, {"--sample", "--seed", "8"}));
}

// A program on the other end of two pipes.
class Conversation {
 public:
  explicit Conversation(std::vector<std::string> words) {
    int in[2], out[2];
    EXPECT_EQ(::pipe2(in, O_CLOEXEC) + ::pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    words.insert(words.begin(), HEED_PROGRAM);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, HEED_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]), ::close(out[1]);
    to_ = in[1], from_ = out[0];
  }
  ~Conversation() {
    ::close(to_), ::close(from_);
    ::waitpid(pid_, nullptr, 0);
  }
  void say(const std::string& text) const {
    EXPECT_EQ(::write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // The next line, or "" when none comes in a minute.
  std::string hear() {
    while (heard_.find('\n') == std::string::npos) {
      pollfd ready{from_, POLLIN, 0};
      char buffer[4096];
      const ssize_t got = ::poll(&ready, 1, 60'000) == 1 ? ::read(from_, buffer, sizeof buffer) : 0;
      if (got <= 0) return "";
      heard_.append(buffer, static_cast<size_t>(got));
    }
    const size_t end = heard_.find('\n') + 1;
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end);
    return line;
  }

 private:
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
  std::string heard_;
};

TEST_F(TranslateProgram, AnswersBeforeTheNextLineIsWritten) {
  Conversation conversation({"translate", model_, "--quiet"});
  for (const char* line : {"the cat saw the bird\n", "\n", "the dog\n"}) {
    conversation.say(line);
    EXPECT_EQ(conversation.hear(), translated(line));
  }
}

TEST_F(TranslateProgram, IdsNeedNoTokenizer) {
  const std::string text = "the cat saw the bird\n\nthe dog\n";
  const std::string ids = answer(text, {"tokenize", model_, "--ids"});
  const std::string bare = copy_of_model();
  for (const char* name :
       {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json", "special_tokens_map.json"})
    fs::remove(bare + "/" + name);
  const std::string out = answer(ids, {"translate", bare, "--ids", "--quiet"});
  EXPECT_EQ(answer(out, {"tokenize", model_, "--decode", "--side", "target"}), translated(text));
  // A prefix is ids too, and only the new ones come out: the start of its own answer leaves the rest.
  const std::string first = lines_of(ids)[0] + "\n";
  const std::string whole = answer(first, {"translate", bare, "--ids", "--beam", "1", "--quiet"});
  const size_t two = whole.find(' ', whole.find(' ') + 1);
  ASSERT_NE(two, std::string::npos) << whole;
  EXPECT_EQ(answer(first, {"translate", bare, "--ids", "--beam", "1", "--prefix", whole.substr(0, two), "--quiet"}),
            whole.substr(two + 1));
  EXPECT_EQ(answer("\n", {"translate", bare, "--ids", "--prefix", "7 8", "--quiet"}), "\n");
  // Scores are those of the text.
  const std::string target = answer(translated(text), {"tokenize", model_, "--ids", "--side", "target"});
  const std::vector<std::string> sources = lines_of(ids), targets = lines_of(target), lines = lines_of(text),
                                 answers = lines_of(translated(text));
  for (const size_t i : {0u, 2u}) {
    EXPECT_EQ(answer(sources[i] + "\t" + targets[i] + "\n", {"score", bare, "--ids"}),
              answer(lines[i] + "\t" + answers[i] + "\n", {"score", model_}));
  }
  expect_wrong("3\t4\n3\t600\n", {"score", bare, "--ids"}, 1, "standard input:2: '600', expected an id from 0 to 599");
  expect_wrong("3 600\n", {"translate", bare, "--ids"}, 1, "standard input:1: '600', expected an id from 0 to 599");
  expect_wrong("3\n4 x\n", {"translate", bare, "--ids"}, 1, "standard input:2: 'x', expected an id");
  expect_wrong("-1\n", {"translate", bare, "--ids"}, 1, "'-1', expected an id");
  expect_wrong("99999999999999\n", {"translate", bare, "--ids"}, 1, "expected an id");
  expect_wrong("3\n", {"translate", bare, "--ids", "--prefix", "x"}, 2, "--prefix: 'x', expected an id");
  expect_wrong("3\n", {"translate", bare}, 1, "holds neither source.spm nor byte_tokenizer.json");
  EXPECT_EQ(json::parse(answer("", {"info", bare, "--json"}))["tokenizer"], nullptr);
}

TEST_F(TranslateProgram, MoreIsSaidWhenItIsAskedFor) {
  const std::string text = "the cat saw the bird\nthe dog\n";
  const std::vector<std::string> plain = lines_of(translated(text)), scored = lines_of(translated(text, {"--score"}));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(scored[i].starts_with(plain[i] + " ||| -")) << scored[i];
  const std::vector<std::string> best = lines_of(translated(text, {"--nbest", "3"}));
  ASSERT_EQ(best.size(), 6u);
  for (size_t i = 0; i < best.size(); ++i) EXPECT_TRUE(best[i].starts_with(std::to_string(i / 3) + " ||| ")) << best[i];
  EXPECT_TRUE(best[3].starts_with("1 ||| " + plain[1] + " ||| "));

  const std::vector<std::string> full = lines_of(translated(text, {"--nbest", "7", "--alignment", "--json"}));
  const std::vector<std::string> wide = lines_of(translated(text, {"--beam", "7"}));
  for (size_t i = 0; i < full.size(); ++i) {
    const json line = json::parse(full[i]);
    EXPECT_EQ(line["line"], i);
    ASSERT_EQ(line["translations"].size(), 7u);
    double before = 0;
    for (const json& one : line["translations"]) {
      EXPECT_LE(one["score"].get<double>(), before);
      before = one["score"];
      EXPECT_LE(one["log_probability"].get<double>(), one["score"].get<double>());
      EXPECT_TRUE(one["ended"].is_boolean() && one["ids"].is_array());
      // Every word of the translation belongs to one word of the line.
      const std::string translation = one["text"];
      ASSERT_EQ(one["alignment"].size(), text::split_blanks(translation).size()) << translation;
      for (size_t word = 0; word < one["alignment"].size(); ++word) {
        EXPECT_EQ(one["alignment"][word][1], word);
        EXPECT_LT(one["alignment"][word][0].get<int>(), i == 0 ? 5 : 2);
      }
    }
    EXPECT_EQ(line["translations"][0]["text"], wide[i]);
  }
  EXPECT_NE(translated(text, {"--alignment"}).find(" ||| "), std::string::npos);
  expect_wrong(text, {"translate", model_, "--prefix", "a\nb"}, 2, "--prefix holds a line break");
  const std::vector<std::string> led = lines_of(translated(text, {"--prefix", "고양이"}));
  for (const std::string& line : led) EXPECT_TRUE(line.starts_with("고양이")) << line;
}

// Who cuts the lines finds as many columns in each.
TEST_F(TranslateProgram, AnEmptyLineHasTheColumnsThatAreAskedFor) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> ways = {
      {{"--score"}, " ||| 0.000000"},
      {{"--alignment"}, " ||| "},
      {{"--score", "--alignment"}, " ||| 0.000000 ||| "},
      {{"--nbest", "2", "--alignment"}, "1 |||  ||| 0.000000 ||| "},
      {{"--score", "--ids"}, " ||| 0.000000"}};
  for (const auto& [how, empty] : ways) {
    const bool ids = how.back() == "--ids";
    EXPECT_EQ(lines_of(translated(ids ? "5\n\n" : "the dog\n \n", how)).back(), empty);
  }
}

TEST_F(TranslateProgram, APrefixLeavesRoom) {
  // What may be said is counted behind it.
  const std::string two = answer("5\n", {"translate", model_, "--ids", "--quiet", "--prefix", "5 6 7 8", "--max-length",
                                         "2", "--sample", "--temperature", "1e6"});
  EXPECT_EQ(std::count(two.begin(), two.end(), ' '), 1) << two;
  // The model has no positions for more.
  const std::string learned = (folder_ / "learned").string();
  ASSERT_EQ(run({"train",
                 "translate",
                 "--src",
                 (shared_ / "train.en").string(),
                 "--tgt",
                 (shared_ / "train.ko").string(),
                 "--vocabulary",
                 "600",
                 "--preset",
                 "tiny",
                 "--encoder-layers",
                 "1",
                 "--decoder-layers",
                 "1",
                 "--d-model",
                 "32",
                 "--d-ff",
                 "64",
                 "--positions",
                 "learned",
                 "--max-length",
                 "16",
                 "--max-steps",
                 "1",
                 "--out",
                 learned,
                 "--quiet"})
                .status,
            0);
  std::string sixteen;
  for (int i = 0; i < 16; ++i) sixteen += "5 ";
  expect_wrong("5\n", {"translate", learned, "--ids", "--prefix", sixteen}, 2,
               "--prefix has 16 tokens, and the positions of the model are 16: expected fewer");
  EXPECT_EQ(lines_of(answer("5\n", {"translate", learned, "--ids", "--quiet", "--prefix", sixteen.substr(2)})).size(),
            1u);
}

TEST_F(TranslateProgram, LongLinesAreSplitOrRefusedAsTold) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the cat saw the bird . ";
  const std::string split = translated(text + "\nthe dog\n", {"--max-source", "30"});
  ASSERT_EQ(lines_of(split).size(), 2u);
  EXPECT_EQ(lines_of(split)[1] + "\n", translated("the dog\n"));
  // Each part is translated whole, and their translations follow one another.
  const std::string sentence = lines_of(translated("the cat saw the bird .\n"))[0];
  const std::string ids = answer("the cat saw the bird .\n", {"tokenize", model_, "--ids"});
  const auto tokens = std::count(ids.begin(), ids.end(), ' ') + 2;  // with the end of the sentence
  const std::string parts = lines_of(translated(text + "\n", {"--max-source", std::to_string(tokens + 2)}))[0];
  EXPECT_TRUE(parts.starts_with(sentence + " " + sentence)) << parts;
  expect_wrong("the dog\n" + text + "\n",
               {"translate", model_, "--long", "refuse", "--max-source", "30", "--output", "out.txt"}, 1,
               "line 2 has ");
  // A line of more than a mebibyte, and those behind it.
  const std::string wide = "the cat saw the bird" + std::string(3 << 19, ' ') + "\nthe dog\n";
  EXPECT_EQ(translated(wide), translated("the cat saw the bird\nthe dog\n"));
  // One that never ends costs no more memory than is said.
  expect_wrong(std::string((1 << 26) + 1, ' '), {"translate", model_}, 1,
               "standard input:1 is longer than 67108864 bytes");
  // A line without any place to cut.
  EXPECT_EQ(lines_of(translated(std::string(3000, 'x') + "\n")).size(), 1u);
}

// One NaN would make all answers empty: it is found where the weights are read.
TEST_F(TranslateProgram, AModelWithoutNumbersIsRefusedOrSaysSo) {
  const auto fill = [&](const std::string& model, const std::string& name, float value) {
    const std::string path = model + "/model.safetensors", bytes = read_all(path);
    const SafeTensors file = SafeTensors::parse(std::as_bytes(std::span(bytes)), "copy");
    std::vector<TensorToWrite> tensors;
    for (const StoredTensor& t : file.tensors()) tensors.push_back({t.name, t.dtype, t.shape, t.bytes});
    std::vector<float> numbers(static_cast<size_t>(file.find(name).elements()), value);
    for (TensorToWrite& t : tensors) {
      if (t.name == name) t.data = std::as_bytes(std::span(numbers));
    }
    write_safetensors(path, tensors);
  };
  const std::string bias = "model.decoder.layers.0.fc2.bias";
  const std::string with_nan = copy_of_model("nan"), too_large = copy_of_model("large");
  fill(with_nan, bias, std::numeric_limits<float>::quiet_NaN());
  expect_wrong("the cat\n", {"translate", with_nan}, 1, "'" + bias + "' holds nan, expected finite numbers");
  // Every weight is a number and the logits are none: as many lines as came in, and a word about it.
  fill(too_large, "model.decoder.layers.0.final_layer_norm.weight", 3e38f);
  const Outcome outcome = run_with("the cat\n\nthe dog\n", {"translate", too_large});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  EXPECT_EQ(outcome.err, "heed: [translate] 2 lines have no translation: the model's numbers overflow on them\n");
}

TEST_F(TranslateProgram, AnyTextIsTranslated) {
  const std::string text = std::string(
      "고양이가 쥐를 잡았다\n👩‍👩‍👧‍👦 👍🏽\ncafe\u0301 é\nthe \xFF\xFE "
      "cat\n\xC3\n\xED\xA0\x80\nnul "
      "\0 "
      "inside\n\u200b\nمرحبا\n",
      92);
  std::vector<std::vector<std::string>> ways = {{}, {"--json"}};
  for (int seed = 0; seed < 20; ++seed) {  // any piece, bytes too
    ways.push_back({"--sample", "--seed", std::to_string(seed), "--temperature", "50", "--max-length", "40"});
  }
  for (const std::vector<std::string>& how : ways) {
    const std::string out = translated(text, how);
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
    EXPECT_TRUE(text::valid_utf8(out));
  }
}

TEST_F(TranslateProgram, AFileAppearsWholeOrNotAtAll) {
  const std::string in = file("in.txt", "the cat saw the bird\nthe dog\n"), out = (folder_ / "out.txt").string();
  EXPECT_EQ(run({"translate", model_, "--input", in, "--output", out, "--quiet"}).status, 0);
  const std::string whole = read_all(out);
  EXPECT_EQ(whole, translated("the cat saw the bird\nthe dog\n"));
  // A fault in the last line leaves the old file as it was.
  expect_wrong("5\nx\n", {"translate", model_, "--ids", "--output", out}, 1, "standard input:2");
  EXPECT_EQ(read_all(out), whole);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().string().find("out.txt."), std::string::npos) << entry.path();
  }
  const std::string packed = file("in.gz", data::gzip("the cat saw the bird\nthe dog\n"));
  EXPECT_EQ(answer("", {"translate", model_, "--input", packed, "--quiet"}), whole);
  expect_wrong("", {"translate", model_, "--input", in, "--output", in}, 2, "is a file that is read");
  EXPECT_EQ(read_all(in), "the cat saw the bird\nthe dog\n");
}

}  // namespace
}  // namespace heed::cli
