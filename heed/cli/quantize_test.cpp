// heed quantize, and what its models and those of 16 bits say.
#include <set>

#include "heed/cli/generate_program_test.h"
#include "heed/data/text_store.h"

namespace heed::cli {
namespace {

class QuantizeProgram : public GenerateProgram {};

TEST_F(QuantizeProgram, QuantisedModels) {
  const std::string small = (folder_ / "small").string(), text = file("text", "the cat caught the mouse");
  const Outcome outcome = run({"quantize", model_, "--out", small, "--text", text, "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json said = json::parse(outcome.out);
  EXPECT_LT(said["bytes_after"].get<int64_t>(), said["bytes_before"].get<int64_t>());
  // The weights are as large as six times their start, and so is the loss; 8 bits change it by 1.1 %.
  const double before = std::log(said["perplexity_before"].get<double>());
  EXPECT_NEAR(std::log(said["perplexity_after"].get<double>()) / before, 1, 0.02) << before;
  const json info = run_json({"info", small});
  EXPECT_EQ(info["memory_bytes"], said["bytes_after"]);
  EXPECT_EQ(info["model_type"], "llama");
  expect_wrong({"quantize", model_, "--out", small}, 2, "expected a new folder, or --overwrite");
  expect_wrong({"quantize", model_, "--out", model_, "--overwrite"}, 2, "is the model itself");
  expect_wrong({"quantize", small, "--out", (folder_ / "again").string()}, 1, "is quantised already");
  expect_wrong({"quantize", model_, "--out", small, "--overwrite", "--text", file("empty", "")}, 1, "has no text");
  expect_wrong({"quantize", model_, "--out", small, "--overwrite", "--calibrate", text}, 2, "expected --bits 4");
  expect_wrong({"quantize", model_, "--out", small, "--overwrite", "--bits", "4", "--plain", "--calibrate", text}, 2,
               "expected one of them");
  expect_wrong({"quantize", model_, "--out", small, "--overwrite", "--bits", "4", "--calibrate", file("empty", "")}, 1,
               "has no text to calibrate with");
  std::set<std::string> weights;  // by each way to 4 bits others
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{"--plain"}, {}, {"--calibrate", text}}) {
    std::vector<std::string> command = {"quantize", model_, "--out", small, "--overwrite", "--bits", "4", "--quiet"};
    command.insert(command.end(), how.begin(), how.end());
    const Outcome done = run(command);
    ASSERT_EQ(done.status, 0) << done.err;
    // Texts that are drawn anyway say what the bits cost.
    const bool measured = done.out.find(" %, of texts that the model draws\n") != std::string::npos;
    EXPECT_EQ(measured, how.empty()) << done.out;
    weights.insert(read_all(small + "/model.safetensors"));
  }
  EXPECT_EQ(weights.size(), 3u);
}

// Of what the model was validated with where that is still there; else it says what is missing.
TEST_F(QuantizeProgram, QuantisingTellsThePerplexityWithoutAText) {
  const std::string small = (folder_ / "small").string(), text = file("text", "the cat caught the mouse\nand slept");
  const std::string needed = "no perplexity before and after: it needs --text FILE";
  const std::vector<std::string> command = {"quantize", model_, "--out", small, "--overwrite", "--json"};
  const auto expect_none = [&] {
    const Outcome outcome = run(command);
    EXPECT_NE(outcome.err.find(needed), std::string::npos) << outcome.err;
    EXPECT_FALSE(json::parse(outcome.out).contains("perplexity_before"));
  };
  expect_none();
  fs::create_directory(fs::path(model_) / "training");
  const std::string ids = model_ + "/training/valid.ids";
  data::TextCorpus corpus({.files = {text}});
  data::build_text_store(ids, corpus, *text::byte_tokenizer());
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.err.find(needed), std::string::npos);
  const json said = json::parse(outcome.out);
  EXPECT_EQ(said["perplexity_of"], "the text that it was validated with");
  for (const auto& [key, model] : {std::pair("perplexity_before", model_), {"perplexity_after", small}}) {
    const json score = json::parse(run({"score", model, "--whole", "--with-end", "--input", text, "--json"}).out);
    EXPECT_NEAR(said[key].get<double>() / score["perplexity"].get<double>(), 1, 1e-9) << key;
  }
  fs::resize_file(ids, fs::file_size(ids) - 1);
  expect_none();
}

// Of 16 and of fewer bits, as files have them: the cache, the batch and the threads change nothing.
TEST_F(QuantizeProgram, StoredNumbersGiveTheSameTextInAnyBatch) {
  const std::string exact = model_, input = "the cat\nthe cat sat on the mat\n\nthe cat sat on the mat and slept\n";
  std::set<std::string> all;
  for (const char* bits : {"8", "4"}) {
    const std::string small = (folder_ / bits).string();
    ASSERT_EQ(run({"quantize", exact, "--out", small, "--bits", bits, "--plain", "--quiet"}).status, 0);
  }
  write_halves("16");
  for (const char* bits : {"16", "8", "4"}) {
    model_ = (folder_ / bits).string();
    const std::vector<std::string> flags = {"--temperature", "0", "--max-tokens", "12"};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), flags.begin(), flags.end());
      return generated(input, more);
    };
    const std::string text = with({"--batch-tokens", "1", "--threads", "1"});
    EXPECT_EQ(with({"--threads", "2"}), text) << bits;
    EXPECT_EQ(with({"--batch-tokens", "100"}), text) << bits;
    std::string alone;
    for (const std::string& line : lines_of(input)) {
      alone += (alone.empty() ? "" : "---\n") + generated(line + "\n", flags);
    }
    EXPECT_EQ(alone, text) << bits;
    all.insert(text);
  }
  EXPECT_EQ(all.size(), 3u);  // each its own model
}

}  // namespace
}  // namespace heed::cli
