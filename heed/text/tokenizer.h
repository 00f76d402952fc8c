// Text <-> ids. A tokenizer is read-only once made, and may be used from many threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

// Ids that stand for no text; -1: there is none. The decoder of a translator starts with pad, as Marian's does.
struct SpecialIds {
  int32_t eos = 0, unk = 1, pad = 2;
  int32_t bos = -1;  // put before a text; -1: nothing is
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Without eos. Invalid UTF-8 is replaced, never an error.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // Of a text that goes on with another: nothing is put before it.
  virtual std::vector<int32_t> encode_on(std::string_view text) const { return encode(text); }
  // Whether the ids of a text up to a place, between two characters, and behind them those by which the rest goes on are the
  // ids of the whole. Where a kind of tokenizer does not know, never.
  using Cuts = std::function<bool(std::string_view text, size_t at)>;
  virtual Cuts cuts() const {
    return [](std::string_view, size_t) { return false; };
  }
  // Special ids leave no trace; ids outside of the vocabulary are an error.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // How one id is shown to people: "▁cat".
  virtual std::string piece(int32_t id) const = 0;
  // The text that one id stands for, with the blank before a word: " cat". Of ids that share a character each has some
  // of its bytes; a special id has none.
  virtual std::string bytes(int32_t id) const = 0;
  virtual int64_t size() const = 0;
  virtual SpecialIds special() const = 0;
};

// The two sides of a translator. They may cut differently and yet share one vocabulary, as published Marian models do.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;
  bool one_vocabulary = false;
  bool shared() const { return one_vocabulary || source == target; }  // an id means the same on both sides
};

// From a model directory, by the files that it holds: source.spm, target.spm, vocab.json (Marian's), or heed's own
// byte_tokenizer.json. The message of an error names the file and what it lacks.
TokenizerPair load_tokenizers(const std::string& folder);
bool has_tokenizers(const std::string& folder);

// The one tokenizer of a model that is no translator: tokenizer.json, or vocab.json with merges.txt (GPT-2's), or
// tokenizer.model (LLaMA's), or heed's own byte_tokenizer.json or char_tokenizer.json; with tokenizer_config.json and
// special_tokens_map.json where they are there. The first of these that a folder holds is read.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& folder);
bool has_tokenizer(const std::string& folder);

// What the ids of a model of images are, instead of a tokenizer (data/pixel_format.h): a folder that holds it has no text.
constexpr const char* kPixelsFile = "pixels.json";

// Every file that a tokenizer may have in a model directory.
struct TokenizerFile {
  const char* name;
  enum { kPieces, kSettings, kForOthers } role;  // which text an id means, how the files go together, not read here
  enum { kPair, kSingle, kEither } reader;       // load_tokenizers, load_tokenizer
};
std::span<const TokenizerFile> tokenizer_files();

}  // namespace heed::text
