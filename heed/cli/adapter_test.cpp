// Adapters as people use them: trained, run, described, and what they get wrong.
#include "heed/cli/program_test.h"
#include "heed/io/test_files.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer_files.h"

namespace heed::cli {
namespace {

const fs::path kGolden = fs::path(HEED_SOURCE_DIR) / "tests" / "golden";

class AdapterProgram : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    models::ModelConfig config = models::preset("gpt2");
    config.decoder.layers = 1, config.decoder.d_model = 16, config.decoder.heads = 2, config.decoder.d_ff = 32;
    config.decoder.positions.max_length = 32;
    config.vocabulary = 259;
    config.tokens = {.start = 2, .eos = 0, .unk = 1, .pad = 2};
    fs::create_directory(base_ = folder_ / "base");
    models::save_decoder(base_, models::Decoder(config, 5));
    for (const auto& [name, content] : text::byte_files()) put_content(base_ + "/" + name, content);
    std::string text;
    for (int i = 0; i < 60; ++i) text += "고양이가 쥐를 잡았다. the cat ";
    text_ = file("text.txt", text);
    out_ = (folder_ / "tuned").string();
  }
  std::vector<std::string> training(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"train", "lm",          "--text", text_,     "--from", base_, "--batch-tokens",
                                      "64",    "--max-steps", "6",      "--quiet", "--out",  out_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_wrong(const std::vector<std::string>& words, int status, const std::string& part) {
    const Outcome outcome = run_with("1 2\n", words);
    const std::string asked = testing::PrintToString(words);
    EXPECT_EQ(outcome.status, status) << asked << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << asked << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << asked << outcome.err;
  }
  Outcome right(const std::vector<std::string>& words) {
    const Outcome outcome = run_with("the cat\n", words);
    EXPECT_EQ(outcome.status, 0) << testing::PrintToString(words) << outcome.err;
    return outcome;
  }

  std::string base_, text_, out_;
};

TEST_F(AdapterProgram, TrainsRunsAndTellsWhatItIs) {
  right(training({"--lora", "4", "--lora-modules", "c_attn,c_fc", "--lora-dropout", "0.1"}));
  EXPECT_TRUE(fs::exists(out_ + "/adapter_model.safetensors"));
  const json config = json::parse(content_of(out_ + "/adapter_config.json"));
  EXPECT_EQ(config["r"], 4);
  EXPECT_EQ(config["lora_alpha"], 8);
  EXPECT_EQ(config["target_modules"], json::array({"c_attn", "c_fc"}));
  EXPECT_EQ(config["fan_in_fan_out"], true);
  EXPECT_EQ(config["base_model_name_or_path"], base_);
  const std::string told = "heed: '" + out_ + "' is an adapter of '" + base_ + "'\n";
  const Outcome text = right({"generate", out_, "--temperature", "0", "--max-tokens", "9"});
  EXPECT_EQ(text.err, told);
  EXPECT_EQ(right({"score", out_}).err, told);
  EXPECT_EQ(right({"score", out_, "--quiet"}).err, "");
  EXPECT_NE(right({"score", out_}).out, right({"score", base_}).out);
  const json found = run_json({"info", out_});
  EXPECT_EQ(found["adapter"]["rank"], 4);
  EXPECT_EQ(found["adapter"]["base"], base_);
  EXPECT_EQ(found["adapter"]["parameters"], 4 * (16 + 48) + 4 * (16 + 32));
  EXPECT_EQ(found["parameters"], run_json({"info", base_})["parameters"]);
  EXPECT_EQ(run_json({"info", base_})["adapter"], nullptr);
  EXPECT_NE(
      right({"info", out_}).out.find("adapter     LoRA of rank 4, alpha 8, 448 parameters beside c_attn, c_fc of '"),
      std::string::npos);
  // The base elsewhere, and the tokenizer with it alone.
  const std::string moved = (folder_ / "moved").string();
  fs::rename(base_, moved);
  expect_wrong({"generate", out_}, 1, "which is no folder here: expected its base_model_name_or_path, or --base");
  expect_wrong({"info", out_}, 1, "which is no folder here: expected its base_model_name_or_path, or --base");
  fs::remove(out_ + "/byte_tokenizer.json");
  EXPECT_EQ(right({"generate", out_, "--base", moved, "--temperature", "0", "--max-tokens", "9"}).out, text.out);
  right({"score", out_, "--base", moved});
  right({"info", out_, "--base", moved});
  expect_wrong({"info", out_, "--base", out_}, 1, "is an adapter: expected the whole model that it belongs to");
  expect_wrong({"generate", out_, "--base", moved, "--images", "2", "--out", "x.png"}, 2, "is for models of images");
  expect_wrong({"score", moved, "--base", moved}, 2, "is no adapter: a base is expected of adapters alone");
}

TEST_F(AdapterProgram, MergedIsAModelAsOthersAre) {
  right(training({"--lora", "2", "--lora-merge"}));
  EXPECT_EQ(run_json({"info", out_})["model_type"], "gpt2");
  EXPECT_EQ(right({"generate", out_, "--max-tokens", "3"}).err, "");
}

TEST_F(AdapterProgram, PeftsDirectoriesRun) {
  const auto ids = [&](const fs::path& model) {
    return run({"generate", model.string(), "--ids", "--prompt", "1 2 3", "--temperature", "0", "--max-tokens", "8"})
        .out;
  };
  for (const char* name : {"gpt2", "llama"}) {
    EXPECT_NE(ids(kGolden / "lora" / name), "");
    EXPECT_NE(ids(kGolden / "lora" / name), ids(kGolden / "decoders" / name));
  }
}

TEST_F(AdapterProgram, WrongRequestsAreOneLine) {
  expect_wrong(training({"--lora", "0"}), 2, "model.lora is 0: expected a rank");
  expect_wrong(training({"--lora", "99999"}), 2, "model.lora is 99999, expected -1 to 16384");
  expect_wrong(training({"--lora", "many"}), 2, "model.lora is of type string, expected a whole number");
  expect_wrong(training({"--lora", "64"}), 2, "expected a rank of 1 to 16");
  expect_wrong(training({"--lora", "4", "--lora-modules", "c_atn"}), 2, "did you mean 'c_attn'?");
  expect_wrong(training({"--lora-alpha", "4"}), 2, "model.lora_alpha is said without model.lora");
  expect_wrong({"train", "lm", "--text", text_, "--lora", "4", "--out", out_}, 2, "without model.from");
  EXPECT_FALSE(fs::exists(out_));
  const fs::path copy = folder_ / "copy", llama = kGolden / "decoders" / "llama";
  fs::copy(kGolden / "lora" / "gpt2", copy);
  expect_wrong({"generate", copy.string(), "--ids"}, 1,
               "is an adapter of '../../decoders/gpt2', which is no folder here");
  expect_wrong({"generate", copy.string(), "--ids", "--base", llama.string()}, 1,
               "unexpected: base_model.model.transformer");
  expect_wrong({"quantize", copy.string(), "--out", out_}, 1, "is an adapter: expected a whole model");
  put_content(copy / "adapter_config.json", "{\"peft_type\": ");
  expect_wrong({"info", copy.string()}, 1, "adapter_config.json' is no JSON object");
}

}  // namespace
}  // namespace heed::cli
