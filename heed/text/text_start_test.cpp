#include "heed/text/text_start.h"

#include <nlohmann/json.hpp>

#include "heed/io/test_files.h"
#include "heed/text/char_tokenizer.h"

namespace heed::text {
namespace {

// GPT-2's two ways to store a tokenizer, and heed's own files.
TEST(TextStart, TextsBeginWithTheIdThatIsAskedFor) {
  using nlohmann::json;
  const std::string golden = HEED_SOURCE_DIR "/tests/golden/language_tokenizers/";
  const NamedFiles gpt2 = {{"tokenizer.json", content_of(golden + "gpt2/tokenizer.json")}};
  for (const NamedFiles& before : {gpt2, byte_files(), char_files(U"ab")}) {
    NamedFiles files = before;
    EXPECT_EQ(read_tokenizer(files, "F")->special().bos, -1);
    begin_texts_with(files, 0, "F");
    const auto tokenizer = read_tokenizer(files, "F");
    EXPECT_EQ(tokenizer->special().bos, 0);
    EXPECT_EQ(tokenizer->encode("ab a"), read_tokenizer(before, "F")->encode("ab a"));
  }
  NamedFiles files = gpt2;
  begin_texts_with(files, 0, "F");
  const json template_of = json::parse(files[0].second)["post_processor"];
  EXPECT_EQ(template_of["single"].dump(),
            R"([{"SpecialToken":{"id":"<|endoftext|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}])");
  EXPECT_EQ(template_of["special_tokens"].dump(),
            R"({"<|endoftext|>":{"id":"<|endoftext|>","ids":[0],"tokens":["<|endoftext|>"]}})");
  const json settings = json::parse(*find_file(files, "tokenizer_config.json"));
  EXPECT_EQ(settings, (json{{"add_bos_token", true}, {"bos_token", "<|endoftext|>"}}));
  // Without tokenizer.json the settings say it alone.
  const json model = json::parse(gpt2[0].second)["model"];
  std::string merges;
  for (const json& merge : model["merges"])
    merges += merge.is_string() ? merge.get<std::string>() + "\n"
                                : merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  files = {{"vocab.json", model["vocab"].dump()}, {"merges.txt", merges}};
  EXPECT_EQ(read_tokenizer(files, "F")->special().bos, -1);
  begin_texts_with(files, 0, "F");
  EXPECT_EQ(read_tokenizer(files, "F")->special().bos, 0);
}

TEST(TextStart, AnOwnFileWithAnOddStartIsRefused) {
  for (const auto& [wrong, found] :
       {std::pair("3", "3"), {"-1", "-1"}, {"\"</s>\"", "\"</s>\""}, {"[]", "a list or object"}}) {
    std::string file = byte_files().front().second;
    file.insert(file.rfind('}'), std::string(", \"bos\": ") + wrong);
    EXPECT_EQ(message_of([&] { read_byte_tokenizer(file, "F"); }),
              fmt::format("[tokenizer] F: 'bos' is {}, expected an id below 3", found));
  }
}

}  // namespace
}  // namespace heed::text
