// Tokenizers of the published kinds against the ids of Hugging Face's library; and the published ones themselves, each
// skipped where it is not there: HEED_TOKENIZERS names a folder with the cases (gpt-2.inp and .out, llama-spm.inp and
// .out, transformersjs.json) and the folders gpt2/ and llama/ of tokenizer files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/io/test_files.h"
#include "heed/io/test_shared.h"
#include "heed/text/tokenizer.h"

namespace heed::text {
namespace {

using nlohmann::json;

// tools/golden/language_tokenizers.py makes them.
TEST(LanguageTokenizers, IdsAndTextsAreTheirs) {
  const std::filesystem::path golden = std::filesystem::path(HEED_SOURCE_DIR) / "tests/golden/language_tokenizers";
  int kinds = 0;
  for (const auto& folder : std::filesystem::directory_iterator(golden)) {
    SCOPED_TRACE(folder.path().filename().string());
    const auto tokenizer = load_tokenizer(folder.path().string());
    const json expected = json::parse(content_of((folder.path() / "expected.json").string()));
    EXPECT_EQ(tokenizer->special().bos, expected["begin"]);
    for (const json& wanted : expected["cases"]) {
      const auto ids = wanted["ids"].get<std::vector<int32_t>>();
      EXPECT_EQ(tokenizer->encode(wanted["text"].get<std::string>()), ids) << wanted["text"];
      // Theirs makes every byte of a broken run its own sign; heed replaces what is broken.
      const auto decoded = wanted["decoded"].get<std::string>();
      if (decoded.find("\uFFFD") == std::string::npos) {
        EXPECT_EQ(tokenizer->decode(ids), decoded) << wanted["text"];
      }
    }
    ++kinds;
  }
  EXPECT_GE(kinds, 8);
}

class PublishedTokenizers : public ::testing::Test {
 protected:
  static bool there(const std::string& tokenizer) {
    return std::filesystem::exists(folder_) && std::filesystem::exists(tokenizer);
  }

  static std::vector<std::string> split(const std::string& text, const std::string& at) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(at, begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + at.size();
    }
    return parts;
  }

  void expect_cases(const Tokenizer& tokenizer, const std::string& name) const {
    const std::vector<std::string> texts = split(content_of(folder_ + name + ".inp"), "\n__ggml_vocab_test__\n");
    const std::vector<std::string> lines = split(content_of(folder_ + name + ".out"), "\n");
    ASSERT_GE(texts.size(), 40u);
    ASSERT_GE(lines.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<int32_t> ids;
      for (const std::string& word : split(lines[i], " ")) {
        if (!word.empty()) ids.push_back(std::stoi(word));
      }
      EXPECT_EQ(tokenizer.encode(texts[i]), ids) << name << " case " << i << ": " << texts[i];
      EXPECT_EQ(tokenizer.decode(ids), texts[i]) << name << " case " << i;
    }
  }

  // Their ids have bos where the tokenizer puts one, and their text shows it.
  void expect_transformersjs(const Tokenizer& tokenizer, const std::string& family) const {
    const json all = json::parse(content_of(folder_ + "transformersjs.json"));
    int seen = 0;
    for (const auto& [name, cases] : all[family].items()) {
      for (const auto& [title, wanted] : cases.items()) {
        std::vector<int32_t> ids;
        if (tokenizer.special().bos >= 0) ids.push_back(tokenizer.special().bos);
        for (const int32_t id : tokenizer.encode(wanted["text"].get<std::string>())) ids.push_back(id);
        EXPECT_EQ(ids, wanted["ids"].get<std::vector<int32_t>>()) << title;
        std::string text = wanted["decoded"].get<std::string>();
        if (text.starts_with("<s> ")) text.erase(0, 4);
        // Theirs then removes blanks before punctuation, so that the text is not what it was.
        if (title == "PUNCTUATION") text = wanted["text"].get<std::string>();
        EXPECT_EQ(tokenizer.decode(ids), text) << title;
        ++seen;
      }
    }
    EXPECT_GE(seen, 20);
  }

  static inline const std::string folder_ = shared_folder("HEED_TOKENIZERS", "tokenizer-cases") + "/";
};

TEST_F(PublishedTokenizers, Gpt2) {
  if (!there(folder_ + "gpt2")) GTEST_SKIP() << "no " << folder_ << "gpt2";
  const auto tokenizer = load_tokenizer(folder_ + "gpt2");
  EXPECT_EQ(tokenizer->size(), 50257);
  EXPECT_EQ(tokenizer->special().eos, 50256);
  EXPECT_EQ(tokenizer->special().bos, -1);
  expect_cases(*tokenizer, "gpt-2");
  expect_transformersjs(*tokenizer, "gpt2");
}

TEST_F(PublishedTokenizers, Llama) {
  // A small published model has LLaMA's own.
  const std::string stories = shared_folder("HEED_MODELS", "models") + "/stories15M";
  const std::string llama = there(folder_ + "llama") ? folder_ + "llama" : stories;
  if (!there(llama)) GTEST_SKIP() << "no " << folder_ << "llama";
  const auto tokenizer = load_tokenizer(llama);
  EXPECT_EQ(tokenizer->size(), 32000);
  const SpecialIds special = tokenizer->special();
  EXPECT_EQ((std::vector<int32_t>{special.unk, special.bos, special.eos}), (std::vector<int32_t>{0, 1, 2}));
  expect_cases(*tokenizer, "llama-spm");
  expect_transformersjs(*tokenizer, "llama");
}

}  // namespace
}  // namespace heed::text
