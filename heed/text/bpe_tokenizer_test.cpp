#include "heed/text/bpe_tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "heed/base/random.h"
#include "heed/io/test_files.h"
#include "heed/text/gpt2_words.h"
#include "heed/text/merges.h"
#include "heed/text/tokenizer_json.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

// The strongest pair, the leftmost of equal ones, again and again.
std::vector<int32_t> merged_plainly(std::vector<int32_t> ids, const std::vector<std::array<int32_t, 3>>& merges) {
  for (;;) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t m = 0; m < best; ++m) {
        if (merges[m][0] == ids[i] && merges[m][1] == ids[i + 1]) best = m, at = i;
      }
    }
    if (best == merges.size()) return ids;
    ids[at] = merges[best][2];
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Merges, EqualTheTextbook) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const auto below = [&](uint64_t n) { return static_cast<int32_t>(random.below(n)); };
    std::vector<std::array<int32_t, 3>> list;
    Merges merges;
    for (int32_t next = 4; next < 16; ++next) {
      const std::array<int32_t, 3> merge{below(static_cast<uint64_t>(next)), below(static_cast<uint64_t>(next)), next};
      std::erase_if(list, [&](const auto& m) { return m[0] == merge[0] && m[1] == merge[1]; });
      merges.add(merge[0], merge[1], merge[2]);
      list.push_back(merge);
    }
    std::vector<int32_t> ids(random.below(40));
    for (int32_t& id : ids) id = below(4);
    EXPECT_EQ(merges.apply(ids), merged_plainly(ids, list)) << round;
  }
}

TEST(Merges, ALongRunIsNoTrouble) {
  Merges merges;
  merges.add(0, 0, 1), merges.add(1, 1, 2), merges.add(2, 2, 3);
  EXPECT_EQ(merges.apply(std::vector<int32_t>(800'000, 0)), std::vector<int32_t>(100'000, 3));
}

TEST(Gpt2Words, AsItsPatternCuts) {
  const auto cut = [](std::string_view text) {
    std::string all;
    for (const std::string_view word : gpt2_words(text)) all += fmt::format("[{}]", word);
    return all;
  };
  EXPECT_EQ(cut("Hello world"), "[Hello][ world]");
  EXPECT_EQ(cut("we've it's I'm 'tis"), "[we]['ve][ it]['s][ I]['m][ '][tis]");
  EXPECT_EQ(cut("a  b   c"), "[a][ ][ b][  ][ c]");
  EXPECT_EQ(cut("a \n b"), "[a][ \n][ b]");
  EXPECT_EQ(cut("end  "), "[end][  ]");
  EXPECT_EQ(cut("x\t y"), "[x][\t][ y]");
  EXPECT_EQ(cut("3.14 is pi!?"), "[3][.][14][ is][ pi][!?]");
  EXPECT_EQ(cut("고양이 12마리 😀😀 ok"), "[고양이][ 12][마리][ 😀😀][ ok]");
  EXPECT_EQ(cut("IT'S"), "[IT]['][S]");
  EXPECT_EQ(cut(""), "");
}

TEST(Gpt2Words, LoseNothing) {
  Random random(5);
  const std::u32string letters = U"aB1 \t\n'sé가😀\u3000\u00A0.-";
  for (int round = 0; round < 500; ++round) {
    std::string text, joined;
    for (uint64_t n = random.below(30); n > 0; --n) append_utf8(text, letters[random.below(letters.size())]);
    for (const std::string_view word : gpt2_words(text)) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    EXPECT_EQ(joined, text);
  }
}

// A tokenizer.json of GPT-2's kind: the 256 letters, "Ġthe" from its merges, and "<|endoftext|>".
std::string byte_level_json(const std::string& more = "") {
  std::string letters;
  char32_t next = 256;
  for (char32_t b = 0; b < 256; ++b) {
    const bool prints = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const std::string letter = to_utf8(std::u32string(1, prints ? b : next++));
    letters += fmt::format("\"{}{}\": {}, ", letter == "\"" || letter == "\\" ? "\\" : "", letter, static_cast<int>(b));
  }
  return R"({"model": {"type": "BPE", "vocab": {)" + letters +
         R"("th": 256, "the": 257, "Ġthe": 258}, "merges": ["t h", ["th", "e"], "Ġ the"]},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
            "added_tokens": [{"id": 259, "content": "<|endoftext|>", "special": true}])" +
         more + "}";
}

TEST(BpeTokenizer, MergesBytes) {
  const auto t = bpe_tokenizer(parse_tokenizer_json(byte_level_json(), "t.json"), "t.json");
  EXPECT_EQ(t->size(), 260);
  EXPECT_EQ(t->encode("the the"), (std::vector<int32_t>{257, 258}));
  EXPECT_EQ(t->encode("the<|endoftext|> th"), (std::vector<int32_t>{257, 259, ' ', 256}));
  EXPECT_EQ(t->decode(std::vector<int32_t>{257, 258, 259}), "the the");
  EXPECT_EQ(t->piece(258), "Ġthe");
  EXPECT_EQ(t->bytes(258), " the");
  for (const char* text : {"", "고양이가 쥐를 잡았다 👩‍👩‍👧", "a\x01\x7f\n\t", "e\u0301"})
    EXPECT_EQ(t->decode(t->encode(text)), text);
  EXPECT_EQ(t->decode(t->encode("bad \xff byte")), "bad \uFFFD byte");
}

// LLaMA's kind: characters, "▁", bytes for what is no piece.
TEST(BpeTokenizer, MergesCharacters) {
  BpeParts parts;
  parts.alphabet = BpeParts::Alphabet::kCharacters;
  parts.blank_before_text = true;
  for (int b = 0; b < 256; ++b) parts.pieces.push_back(fmt::format("<0x{:02X}>", b));
  for (const char* piece : {"▁", "t", "h", "e", "th", "the", "▁the"}) parts.pieces.push_back(piece);
  parts.merges = {{"t", "h"}, {"th", "e"}, {"▁", "the"}};
  const auto t = bpe_tokenizer(parts, "llama");
  EXPECT_EQ(t->encode("the the"), (std::vector<int32_t>{262, 262}));
  EXPECT_EQ(t->encode("é"), (std::vector<int32_t>{256, 0xC3, 0xA9}));
  EXPECT_EQ(t->decode(t->encode("the é\n고")), "the é\n고");
}

TEST(BpeTokenizer, WhatHeedDoesNotDoIsRefusedByName) {
  const auto refused = [](const std::string& json) {
    return message_of([&] { bpe_tokenizer(parse_tokenizer_json(json, "t.json"), "t.json"); });
  };
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string json = byte_level_json();
    return json.replace(json.find(from), from.size(), to);
  };
  EXPECT_EQ(refused("[]"), "[tokenizer] t.json: not a JSON object");
  EXPECT_EQ(refused("{}"), "[tokenizer] t.json: lacks 'model'");
  EXPECT_NE(refused(changed("\"BPE\"", "\"WordPiece\"")).find("model 'WordPiece': heed knows BPE"), std::string::npos);
  EXPECT_NE(refused(changed("\"ByteLevel\"", "\"Digits\"")).find("pre_tokenizer 'Digits'"), std::string::npos);
  EXPECT_NE(refused(changed("\"t h\"", "\"t q\"")).find("the merge of 't' and 'q'"), std::string::npos);
  EXPECT_NE(refused(changed("\"th\": 256", "\"th\": 99999999")).find("the id of 'th' is 99999999"), std::string::npos);
  EXPECT_NE(refused(changed("\"th\": 256", "\"th\": 257")).find("id 257 stands for two pieces"), std::string::npos);
  EXPECT_NE(refused(changed("\"special\"", "\"lstrip\": true, \"special\"")).find("lstrip"), std::string::npos);
  EXPECT_NE(refused(byte_level_json(", \"normalizer\": {\"type\": \"NFKC\"}")).find("normalizer 'NFKC'"),
            std::string::npos);
  const auto words = [&](const std::string& first, const std::string& regex) {
    return refused(changed(R"({"type": "ByteLevel", "add_prefix_space": false})",
                           R"({"type": "Sequence", "pretokenizers": [)" + first +
                               R"(, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": )" + regex + "}]}"));
  };
  EXPECT_NE(words(R"({"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated"})", "false")
                .find("pre_tokenizer Split by 'a+'"),
            std::string::npos);
  EXPECT_NE(words(R"({"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Contiguous"})", "false")
                .find("Split with behavior 'Contiguous'"),
            std::string::npos);
  EXPECT_NE(words(R"({"type": "Whitespace"})", "true").find("pre_tokenizer 'Whitespace'"), std::string::npos);
  const auto after = [&](const std::string& part) { return refused(byte_level_json(", \"post_processor\": " + part)); };
  EXPECT_NE(after(R"({"type": "BertProcessing"})").find("post_processor 'BertProcessing'"), std::string::npos);
  EXPECT_NE(after(R"({"type": "TemplateProcessing", "single": [{"Sequence": {}}, {"SpecialToken": {"id": "x"}}]})")
                .find("post_processor adds"),
            std::string::npos);
  EXPECT_NE(after(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {}}]})")
                .find("names no single id of 'x'"),
            std::string::npos);
  EXPECT_NE(refused(changed("\"a\": 97", "\"aa\": 97")).find("lacks 'a', the piece of byte 97"), std::string::npos);
}

// "no error" where it is taken.
std::string refusal_of(const std::string& json) {
  try {
    parse_tokenizer_json(json, "t.json");
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

// What the golden tokenizers' decoders do not do.
TEST(BpeTokenizer, DecodersThatHeedDoesNotHaveAreRefusedByName) {
  const auto bytes = [](const std::string& decoder) {
    return refusal_of(byte_level_json(", \"decoder\": " + decoder));
  };
  EXPECT_EQ(bytes("null"), "no error");
  EXPECT_EQ(bytes(R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}]})"), "no error");
  EXPECT_EQ(bytes(R"({"type": "WordPiece"})"), "[tokenizer] t.json: decoder 'WordPiece': expected ByteLevel");
  EXPECT_EQ(bytes("3"), "[tokenizer] t.json: decoder '?': expected ByteLevel");
  auto llama =
      nlohmann::json::parse(content_of(HEED_SOURCE_DIR "/tests/golden/language_tokenizers/llama/tokenizer.json"));
  const auto characters = [&](const std::string& steps) {
    llama["decoder"] = {{"type", "Sequence"}, {"decoders", nlohmann::json::parse(steps)}};
    return refusal_of(llama.dump());
  };
  const std::string replace = R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})",
                    strip = R"({"type": "Strip", "content": " ", "start": 1, "stop": )", fuse = R"({"type": "Fuse"})",
                    fallback = R"({"type": "ByteFallback"})";
  const auto named = [](const std::string& type) {
    return "[tokenizer] t.json: decoder '" + type +
           "': expected Replace of '▁' by a blank, ByteFallback, Fuse and Strip of blanks before the text, or "
           "Metaspace";
  };
  EXPECT_EQ(characters("[" + replace + "," + fallback + "," + fuse + "," + strip + "0}]"), "no error");
  EXPECT_EQ(characters("[" + replace + "," + fallback + "," + fuse + "," + strip + "1}]"), named("Strip"));
  EXPECT_EQ(characters("[" + replace + "," + fallback + "," + strip + "0}]"), named("Strip"));  // of each piece
  EXPECT_EQ(characters("[" + replace + "," + fuse + "," + fallback + "]"), named("ByteFallback"));
  EXPECT_EQ(characters(R"([{"type": "Replace", "pattern": {"Regex": "▁"}, "content": " "}])"), named("Replace"));
  EXPECT_EQ(characters(R"([{"type": "CTC"}])"), named("CTC"));
  EXPECT_EQ(characters("[" + fallback + "," + fuse + "]"),
            "[tokenizer] t.json: decoder: nothing makes a blank of '▁', expected Replace or Metaspace");
}

TEST(BpeTokenizer, Gpt2FilesAreTheSame) {
  const BpeParts whole = parse_tokenizer_json(byte_level_json(), "t.json");
  const std::string vocabulary = nlohmann::json::parse(byte_level_json())["model"]["vocab"].dump();
  const BpeParts parts = parse_gpt2_files(vocabulary, "#version: 0.2\nt h\nth e\nĠ the\n", "gpt2");
  EXPECT_EQ(parts.pieces, whole.pieces);
  EXPECT_EQ(parts.merges, whole.merges);
}

}  // namespace
}  // namespace heed::text
