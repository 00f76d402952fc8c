#include "heed/text/spm_file.h"

#include <map>

#include "heed/io/test_files.h"
#include "heed/text/tokenizer_files.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(HEED_SOURCE_DIR) / "tests" / "fuzz" / "corpus" / "tokenizers";

// Reads a file of the fuzzer's corpus as what its first byte says it is.
void read_as_marked(const std::string& marked) {
  const std::string content = marked.substr(1);
  switch (marked[0]) {
    case 's':
      read_spm(content, "f");
      break;
    case 'v':
      Vocabulary::parse(content, "f");
      break;
    case 'b':
      read_byte_tokenizer(content, "f");
      break;
    case 'c':
      separate_vocabularies(content, "f");
      break;
    default:
      FAIL() << "no such kind: " << marked[0];
  }
}

const std::string kNoModel = ": no SentencePiece model, or a damaged one";
const std::string kNowhere = " is damaged: its rules for rewriting characters lead nowhere";
const std::string kWrongSize = " is damaged: its rules for rewriting characters have the wrong size";

const std::map<std::string, std::string> kRefusals = {
    {"broken_spm_empty", " is empty"},
    {"broken_spm_text", kNoModel},
    {"broken_spm_cut", kNoModel},
    {"broken_spm_length", kNoModel},
    {"broken_spm_varint", kNoModel},
    {"broken_spm_field_zero", kNoModel},
    {"broken_spm_group", kNoModel},
    {"broken_spm_number_for_piece", " is damaged: field 1 is a number"},
    {"broken_spm_nothing", " has no pieces"},
    {"broken_spm_no_unknown", " is damaged: 0 pieces stand for the unknown, expected 1"},
    {"broken_spm_two_unknown", " is damaged: 2 pieces stand for the unknown, expected 1"},
    {"broken_spm_piece_twice", " is damaged: piece '▁the' appears twice"},
    {"broken_spm_piece_empty", " is damaged: piece 20 is empty"},
    {"broken_spm_piece_zero_byte", " is damaged: piece 20 is no text"},
    {"broken_spm_piece_not_utf8", " is damaged: piece 20 is no text"},
    {"broken_spm_piece_type", " is damaged: piece 20 is of type 9"},
    {"broken_spm_piece_long", " is damaged: piece 3 has 8000 bytes, expected at most 7999"},
    {"broken_spm_piece_unused_long", " is damaged: piece 3 has 300 bytes, expected at most 256"},
    {"broken_spm_score_nan", " is damaged: the score of piece 20 is nan"},
    {"broken_spm_score_infinite", " is damaged: the score of piece 20 is -inf"},
    {"broken_spm_model_type", " is damaged: model type 7, expected 1 to 4"},
    {"broken_spm_bytes_missing", " is damaged: 0 pieces stand for bytes, expected 256"},
    {"broken_spm_bytes_unasked", " is damaged: 256 pieces stand for bytes, expected 0"},
    {"broken_spm_bytes_name", " is damaged: piece '<0xGG>' stands for no byte"},
    {"broken_spm_user_nested", " is damaged: more than 32 pieces begin one another"},
    {"broken_charsmap_short", kWrongSize},
    {"broken_charsmap_size", kWrongSize},
    {"broken_charsmap_odd", kWrongSize},
    {"broken_charsmap_no_units", kWrongSize},
    {"broken_charsmap_cut", kNowhere},
    {"broken_charsmap_no_end", kNowhere},
    {"broken_charsmap_far", kNowhere},
    {"broken_charsmap_loop", kNowhere},
    {"broken_charsmap_value", kNowhere},
    {"broken_charsmap_root", kNowhere},
    {"broken_vocab_empty", ": not valid JSON at its byte 1"},
    {"broken_vocab_cut", ": not valid JSON at its byte 18"},
    {"broken_vocab_list", ": a list, expected an object of pieces and ids"},
    {"broken_vocab_nested", ": the id of 'a' is a list, expected a whole number from 0"},
    {"broken_vocab_no_pad", ": lacks '<pad>'"},
    {"broken_vocab_same_id", ": '<pad>' and '<unk>' have the same id 1"},
    {"broken_vocab_huge_id", ": id 4294967296 for 3 pieces, expected ids without gaps"},
    {"broken_vocab_negative", ": the id of '</s>' is -1, expected a whole number from 0"},
    {"broken_vocab_twice", ": 'a' appears twice"},
    {"broken_vocab_not_utf8", ": not valid JSON at its byte 3"},
    {"broken_byte_version", ": 'version' is 9, expected 1"},
    {"broken_byte_list", ": not a JSON object"},
    {"broken_byte_nested", ": not a JSON object"},
    {"broken_config_text", ": 'separate_vocabs' is no boolean, expected true or false"},
    {"broken_config_list", ": not a JSON object"},
};

TEST(SpmFile, EverySeedIsTakenOrRefusedForItsReason) {
  size_t right = 0, broken = 0;
  for (const auto& entry : fs::directory_iterator(kCorpus)) {
    const std::string name = entry.path().filename().string(), content = content_of(entry.path().string());
    if (name.starts_with("right_")) {
      EXPECT_NO_THROW(read_as_marked(content)) << name;
      ++right;
    } else if (name.starts_with("broken_")) {
      ASSERT_TRUE(kRefusals.contains(name)) << name;
      EXPECT_EQ(message_of([&] { read_as_marked(content); }), "[tokenizer] f" + kRefusals.at(name)) << name;
      ++broken;
    } else {
      try {  // a finding of the fuzzer: it must not crash
        read_as_marked(content);
      } catch (const FileError&) {
      }
    }
  }
  EXPECT_EQ(broken, kRefusals.size());
  EXPECT_EQ(right, 12u);
}

TEST(SpmFile, KnowsItsPieces) {
  const std::string model = content_of((kCorpus / "right_bytes").string()).substr(1);
  const SpmFile file = read_spm(model, "f");
  EXPECT_TRUE(file.byte_fallback);
  ASSERT_EQ(file.pieces.size(), 3u + 256u + 17u);
  EXPECT_EQ(file.pieces[1].text, "<unk>");
  EXPECT_EQ(file.pieces[1].type, PieceType::kUnknown);
  EXPECT_EQ(file.pieces[3].type, PieceType::kByte);
  EXPECT_EQ(file.pieces[260].text, "▁cat");
  EXPECT_EQ(file.pieces[260].score, -1.0f);
}

// Cut anywhere, with any byte flipped: an answer or one line, and SentencePiece takes what was let through.
TEST(SpmFile, DamageAnywhereIsSurvived) {
  const std::string whole = content_of((kCorpus / "right_charsmap").string()).substr(1);
  const auto vocabulary = std::make_shared<const Vocabulary>(Vocabulary({"</s>", "<unk>", "<pad>", "▁the"}));
  const auto attempt = [&](const std::string& model) {
    try {
      const auto tokenizer = marian_tokenizer(model, vocabulary, "f");
      static_cast<void>(tokenizer->decode(tokenizer->encode("the ﬁ ① cat\u3000한")));
    } catch (const FileError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("[tokenizer] f"));
    }
  };
  for (size_t size = 0; size < whole.size(); size += 7) attempt(whole.substr(0, size));
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    attempt(damaged);
  }
}

}  // namespace
}  // namespace heed::text
