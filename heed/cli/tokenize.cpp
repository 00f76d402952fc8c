// heed tokenize: text to pieces or ids, and back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/text_lines.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {
namespace {

struct Options {
  std::string model, input, output, side = "source";
  bool ids = false, decode = false;
};

std::string encoded(const text::Tokenizer& tokenizer, const std::string& line, const Options& o, const Common& common) {
  const std::vector<int32_t> ids = tokenizer.encode(line);
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const int32_t id : ids) pieces.push_back(tokenizer.piece(id));
  if (common.json) {
    return nlohmann::json{{"text", line}, {"ids", ids}, {"pieces", pieces}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return o.ids ? fmt::format("{}", fmt::join(ids, " ")) : fmt::format("{}", fmt::join(pieces, " "));
}

std::string decoded(const text::Tokenizer& tokenizer, const std::string& line, const std::string& place,
                    const Common& common) {
  const std::vector<int32_t> ids = parse_ids("[tokenize] " + place, line, tokenizer.size());
  const std::string text = tokenizer.decode(ids);
  if (!common.json) return text;
  return nlohmann::json{{"ids", ids}, {"text", text}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A translator has two; where a folder has only what a language model has, that one is both.
std::shared_ptr<const text::Tokenizer> tokenizer_of(const Options& o) {
  if (!text::has_tokenizers(o.model) && text::has_tokenizer(o.model)) return text::load_tokenizer(o.model);
  const text::TokenizerPair pair = text::load_tokenizers(o.model);
  return o.side == "target" ? pair.target : pair.source;
}

void run(const Options& o, const Common& common) {
  const std::shared_ptr<const text::Tokenizer> opened = tokenizer_of(o);
  const text::Tokenizer& tokenizer = *opened;
  TextLines lines(o.input);
  TextOutput out(o.output, {o.input, o.model});
  for (std::string line; lines.next(line, true) == decode::Input::kReady;) {
    out.write((o.decode ? decoded(tokenizer, line, lines.place(), common) : encoded(tokenizer, line, o, common)) +
              "\n");
  }
  out.finish();
  if (const std::string bad = lines.not_text(); !bad.empty()) message(common, bad);
}

}  // namespace

void add_tokenize(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "tokenize", "text to token ids and back", "heed tokenize MODEL --ids < text.txt");
  const auto o = std::make_shared<Options>();
  add_text(app, "MODEL", o->model, "a model directory", "", Need::kRequired);
  add_text(app, "--input", o->input, "a file to read, .gz too; standard input without it", "F");
  add_text(app, "--output", o->output, "a file to write; standard output without it", "F");
  add_choice(app, "--side", o->side, {"source", "target"}, "whose tokenizer, of a translator; the source's without it");
  add_flag(app, "--ids", o->ids, "numbers instead of pieces");
  add_flag(app, "--decode", o->decode, "ids in, text out");
  on_run(app, [o, &common] { run(*o, common); });
}

}  // namespace heed::cli
