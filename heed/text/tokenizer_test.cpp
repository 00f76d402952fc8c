#include "heed/text/tokenizer.h"

#include <nlohmann/json.hpp>
#include <set>

#include "heed/io/test_files.h"
#include "heed/text/tokenizer_files.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(HEED_SOURCE_DIR) / "tests" / "golden" / "tokenizers";

// Copies of a fixture's files with one of them changed.
NamedFiles files_of(const std::string& name) {
  NamedFiles files;
  for (const auto& entry : fs::directory_iterator(kGolden / name)) {
    if (entry.path().filename() == "expected.json") continue;
    files.emplace_back(entry.path().filename().string(), content_of(entry.path().string()));
  }
  return files;
}

NamedFiles with(NamedFiles files, const std::string& name, const std::string& content) {
  std::erase_if(files, [&](const auto& file) { return file.first == name; });
  files.emplace_back(name, content);
  return files;
}

std::string refusal(const NamedFiles& files) {
  return message_of([&] { read_tokenizers(files, "M"); });
}

TEST(Tokenizer, GivesMariansIds) {
  size_t folders = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    const std::string folder = entry.path().string();
    const TokenizerPair pair = load_tokenizers(folder);
    const auto expected = nlohmann::json::parse(content_of(folder + "/expected.json"));
    const SpecialIds special = pair.source->special();
    EXPECT_EQ(special.eos, expected["special"]["eos"]);
    EXPECT_EQ(special.unk, expected["special"]["unk"]);
    EXPECT_EQ(special.pad, expected["special"]["pad"]);
    for (const auto& test : expected["cases"]) {
      const std::string text = test["text"];
      const std::vector<int32_t> source = test["source"], target = test["target"];
      EXPECT_EQ(pair.source->encode(text), source) << folder << ": " << text;
      EXPECT_EQ(pair.target->encode(text), target) << folder << ": " << text;
      EXPECT_EQ(pair.target->decode(target), test["decoded"].get<std::string>()) << folder << ": " << text;
    }
    EXPECT_GE(expected["cases"].size(), 30u);
    ++folders;
  }
  EXPECT_EQ(folders, 5u);
}

TEST(Tokenizer, APublishedPairSharesItsVocabulary) {
  const TokenizerPair published = load_tokenizers((kGolden / "published").string());
  EXPECT_TRUE(published.shared());
  EXPECT_NE(published.source, published.target);
  EXPECT_EQ(published.source->size(), published.target->size());
  EXPECT_EQ(published.source->special().pad, published.source->size() - 1);
  EXPECT_FALSE(load_tokenizers((kGolden / "word_separate").string()).shared());
}

TEST(Tokenizer, FoldersThatLackSomething) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([&] { load_tokenizers(folder.file("none")); }),
            "[tokenizer] '" + folder.file("none") + "' is no folder");
  EXPECT_EQ(refusal({}), "[tokenizer] 'M' holds neither source.spm nor byte_tokenizer.json");
  EXPECT_EQ(refusal({{"source.spm", ""}}), "[tokenizer] 'M' lacks target.spm");
  EXPECT_EQ(refusal({{"source.spm", ""}, {"target.spm", ""}}), "[tokenizer] 'M' lacks vocab.json");
  NamedFiles separate = files_of("word_separate");
  std::erase_if(separate, [](const auto& file) { return file.first == "target_vocab.json"; });
  EXPECT_EQ(refusal(separate), "[tokenizer] 'M' lacks target_vocab.json");
}

// No copy is made of what cannot be a tokenizer.
TEST(Tokenizer, AHugeFileIsRefusedByItsSize) {
  for (const TokenizerFile& file : tokenizer_files()) {
    if (file.role == TokenizerFile::kForOthers) continue;
    const TemporaryFolder folder;
    put_content(folder.file(file.name), "{}");
    constexpr uintmax_t kHuge = uintmax_t{1} << 40;  // a hole: it takes no place on the disk
    fs::resize_file(folder.file(file.name), kHuge);
    const auto load = [&] {
      if (file.reader == TokenizerFile::kSingle) {
        load_tokenizer(folder.file("."));
      } else {
        load_tokenizers(folder.file("."));
      }
    };
    EXPECT_EQ(message_of(load), fmt::format("[tokenizer] {}/{}: {} bytes, expected at most {}", folder.file("."),
                                            file.name, kHuge, 256 << 20));
  }
}

// What is written is what the list names: nothing is left behind or forgotten where a model is copied or replaced.
TEST(Tokenizer, TheListNamesEveryFile) {
  std::set<std::string> names;
  for (const TokenizerFile& file : tokenizer_files()) names.insert(file.name);
  const Vocabulary vocabulary({"</s>", "<unk>", "<pad>"});
  NamedFiles written = marian_files({"", "", &vocabulary, &vocabulary});
  written.push_back(byte_files().at(0));
  for (const auto& [name, content] : written) EXPECT_TRUE(names.contains(name)) << name;
}

// A SentencePiece file of a few pieces, with the settings that a case wants.
std::vector<int32_t> llama_ids(const std::string& settings, const std::string& text, int32_t* bos = nullptr) {
  const auto piece = [](std::string content, char type) {
    content = std::string("\x0A") + static_cast<char>(content.size()) + content + "\x18" + type;
    return std::string("\x0A") + static_cast<char>(content.size()) + content;
  };
  std::string model = piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece("▁", 1) + piece("a", 1);
  model += "\x12\x02\x18\x02";  // pairs
  const auto tokenizer = read_tokenizer({{"tokenizer.model", model}, {"tokenizer_config.json", settings}}, "M");
  if (bos != nullptr) *bos = tokenizer->special().bos;
  EXPECT_EQ(tokenizer->special().eos, 2);
  EXPECT_EQ(tokenizer->special().unk, 0);
  return tokenizer->encode(text);
}

TEST(Tokenizer, SettingsOfLlamaAreHonoured) {
  using Ids = std::vector<int32_t>;
  int32_t bos = 0;
  EXPECT_EQ(llama_ids("{}", "a</s>a", &bos), (Ids{3, 4, 2, 3, 4}));
  EXPECT_EQ(bos, 1);
  EXPECT_EQ(llama_ids(R"({"legacy": false, "add_bos_token": false})", "a</s>a", &bos), (Ids{3, 4, 2, 4}));
  EXPECT_EQ(bos, -1);
  EXPECT_EQ(llama_ids(R"({"added_tokens_decoder": {"6": {"content": "<x>"}}})", "a<x>"), (Ids{3, 4, 6}));
  const auto said = [](const std::string& settings) { return message_of([&] { llama_ids(settings, ""); }); };
  const std::string place = "[tokenizer] M/tokenizer_config.json: ";
  EXPECT_EQ(said(R"({"add_eos_token": true})"), place + "'add_eos_token' is true, which heed does not do");
  EXPECT_EQ(said(R"({"legacy": 1})"), place + "'legacy' is no boolean, expected true or false");
  EXPECT_EQ(said(R"({"tokenizer_class": "T5Tokenizer"})"),
            place + "a tokenizer of class 'T5Tokenizer', expected LlamaTokenizer");
  EXPECT_EQ(said(R"({"added_tokens_decoder": {"6": {"content": "<x>", "lstrip": true}}})"),
            place + "added token '<x>' has lstrip, which heed does not do");
}

TEST(Tokenizer, AFolderWithNoneOfTheFilesIsNamed) {
  EXPECT_EQ(message_of([] { read_tokenizer({}, "M"); }),
            "[tokenizer] 'M' holds none of tokenizer.json, merges.txt, tokenizer.model, byte_tokenizer.json, char_tokenizer.json");
  EXPECT_EQ(message_of([] { read_tokenizer({{"merges.txt", ""}}, "M"); }), "[tokenizer] 'M' lacks vocab.json");
  EXPECT_EQ(read_tokenizer(byte_files(), "M")->size(), 259);
}

TEST(Tokenizer, DamagedVocabulariesAreNamed) {
  const NamedFiles files = files_of("char_joint");
  const auto said = [&](const std::string& json) { return refusal(with(files, "vocab.json", json)); };
  const std::string place = "[tokenizer] M/vocab.json: ";
  EXPECT_EQ(said(""), place + "not valid JSON at its byte 1");
  EXPECT_EQ(said("[]"), place + "a list, expected an object of pieces and ids");
  EXPECT_EQ(said("7"), place + "7, expected an object of pieces and ids");
  EXPECT_EQ(said("{}"), place + "lacks '</s>'");
  EXPECT_EQ(said(R"({"</s>":0,"<unk>":1})"), place + "lacks '<pad>'");
  EXPECT_EQ(said(R"({"a":1,"a":2})"), place + "'a' appears twice");
  EXPECT_EQ(said(R"({"b":1,"a":1})"), place + "'a' and 'b' have the same id 1");
  EXPECT_EQ(said(R"({"a":-1})"), place + "the id of 'a' is -1, expected a whole number from 0");
  EXPECT_EQ(said(R"({"a":1.5})"), place + "the id of 'a' is 1.5, expected a whole number from 0");
  EXPECT_EQ(said(R"({"a":{"b":1}})"), place + "the id of 'a' is an object, expected a whole number from 0");
  EXPECT_EQ(said(R"({"":1})"), place + "the piece of id 1 is empty");
  EXPECT_EQ(said(R"({"a":18446744073709551615})"),
            place + "id 18446744073709551615 for 1 pieces, expected ids without gaps");
  EXPECT_EQ(said(R"({"a":1000000000})"), place + "id 1000000000 for 1 pieces, expected ids without gaps");
  EXPECT_EQ(refusal(with(files, "tokenizer_config.json", "[")),
            "[tokenizer] M/tokenizer_config.json: not a JSON object");
  EXPECT_EQ(refusal(with(files, "tokenizer_config.json", R"({"separate_vocabs":"yes"})")),
            "[tokenizer] M/tokenizer_config.json: 'separate_vocabs' is no boolean, expected true or false");
}

TEST(Tokenizer, ByteFilesOfAnotherKindAreRefused) {
  const auto said = [](const std::string& json) { return refusal({{"byte_tokenizer.json", json}}); };
  const std::string place = "[tokenizer] M/byte_tokenizer.json: ";
  EXPECT_EQ(said("nonsense"), place + "not a JSON object");
  EXPECT_EQ(said("{}"), place + "lacks 'type'");
  EXPECT_EQ(said(R"({"type":"byte","version":2})"), place + "'version' is 2, expected 1");
  EXPECT_EQ(said(R"({"type":["byte"]})"), place + "'type' is a list or object, expected \"byte\"");
}

TEST(Tokenizer, BytesShowAsCharactersOrNumbers) {
  const auto bytes = byte_tokenizer();
  EXPECT_EQ(bytes->size(), 259);
  EXPECT_EQ(bytes->encode("aé"), (std::vector<int32_t>{100, 198, 172}));
  EXPECT_EQ(bytes->piece(100), "a");
  EXPECT_EQ(bytes->piece(198), "<0xC3>");
  EXPECT_EQ(bytes->bytes(198), "\xC3");
  EXPECT_EQ(bytes->bytes(0), "");
  EXPECT_EQ(bytes->decode(std::vector<int32_t>{198, 0, 100}), "\uFFFDa");
}

}  // namespace
}  // namespace heed::text
