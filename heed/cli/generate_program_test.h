// A language model for the tests of the commands that use one.
#pragma once

#include "heed/cli/trained_test.h"
#include "heed/io/test_stored.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer_files.h"

namespace heed::cli {

// A small language model of bytes with random weights.
class GenerateProgram : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    model_ = write_model("model", 259);
  }

  std::string write_model(const std::string& name, int64_t vocabulary) {
    models::ModelConfig config = models::preset("llama");
    config.decoder.layers = 2, config.decoder.d_model = 32, config.decoder.d_ff = 48;
    config.decoder.heads = 4, config.decoder.kv_heads = 2;
    config.decoder.positions.max_length = 64;
    config.vocabulary = vocabulary;
    config.tokens = {.start = 2, .eos = 0, .unk = 1, .pad = 2};
    const models::Decoder model(config, 5);
    for (int64_t i = 0; i < model.parameters.arena_size(); ++i) model.parameters.values()[i] *= 6;
    const std::string folder = (folder_ / name).string();
    fs::create_directory(folder);
    models::save_decoder(folder, model);
    for (const auto& [file_name, content] : text::byte_files()) {
      std::ofstream(fs::path(folder) / file_name, std::ios::binary) << content;
    }
    return folder;
  }

  // The model with its numbers in f16.
  std::string write_halves(const std::string& name) {
    const std::string folder = write_model(name, 259);
    store_in_16_bits(folder + "/model.safetensors", StoredType::kF16);
    return folder;
  }

  std::string generated(const std::string& input, std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", model_, "--quiet"});
    const Outcome outcome = run_with(input, more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  std::vector<json> generated_json(const std::string& input, std::vector<std::string> more) {
    more.emplace_back("--json");
    std::vector<json> all;
    for (const std::string& line : lines_of(generated(input, more))) all.push_back(json::parse(line));
    return all;
  }
  void expect_wrong(const std::vector<std::string>& words, int status, const std::string& part,
                    const std::string& input = "a\n") {
    const Outcome outcome = run_with(input, words);
    const std::string asked = testing::PrintToString(words);
    EXPECT_EQ(outcome.status, status) << asked << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << asked << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("heed: [")) << asked << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << asked << "\n  found: " << outcome.err << "  expected: " << part;
    EXPECT_TRUE(fs::is_empty(folder_ / "work")) << asked;
  }

  std::string model_;
};

}  // namespace heed::cli
