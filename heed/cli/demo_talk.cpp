#include "heed/cli/demo_talk.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/cli/program.h"
#include "heed/cli/render.h"
#include "heed/cli/text_lines.h"
#include "heed/data/grammar.h"
#include "heed/decode/alignment.h"

namespace heed::cli {
namespace {

std::string translated(const tasks::Translator& translator, const std::string& english) {
  return tasks::translate(translator, {english})[0];
}

std::string joined(const std::vector<std::string>& words, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), most); ++i) text += (i > 0 ? ", " : "") + words[i];
  return text;
}

// A friendly word on what it does not know.
std::string hint(const std::vector<data::UnknownWord>& unknown) {
  std::string text;
  for (const data::UnknownWord& u : unknown) {
    text += fmt::format("  It never learned '{}'{}\n", u.word,
                        u.nearest.empty() ? "." : fmt::format(": did you mean '{}'?", u.nearest));
  }
  const std::vector<std::string> known = data::known_words();
  std::vector<std::string> some;
  for (size_t i = 0; i < known.size(); i += std::max<size_t>(1, known.size() / 14)) some.push_back(known[i]);
  return text + fmt::format("  It knows {} words, such as {}.\n", known.size(), joined(some, 14));
}

}  // namespace

std::string json_text(const DemoResult& r) {
  return nlohmann::json{{"exact_match", r.exact_match},
                        {"exact_match_compositions", r.exact_match_compositions},
                        {"seconds", r.seconds},
                        {"tokens_per_second", static_cast<double>(r.tokens) / r.seconds},
                        {"steps", r.steps},
                        {"sentences", r.sentences},
                        {"seed", r.seed}}
      .dump();
}

std::string tricky_text(const tasks::Translator& translator) {
  Table table{{"", "English", "Korean", "what is hard"}, {}, {false, false, false, false}};
  std::vector<std::string> sources;
  for (const data::TrickySentence& t : data::tricky_sentences()) sources.push_back(t.pair.source);
  const std::vector<std::string> lines = tasks::translate(translator, sources);
  for (size_t i = 0; i < sources.size(); ++i) {
    const data::TrickySentence& t = data::tricky_sentences()[i];
    table.rows.push_back({lines[i] == t.pair.target ? "✓" : "✗", sources[i], lines[i], t.why});
  }
  const Style style = stdout_style();
  return section(style, "Typical and tricky sentences") + table_text(table, style);
}

std::string attention_text(const tasks::Translator& translator, const std::string& english) {
  std::vector<int32_t> source = translator.tokenizers.source->encode(english);
  source.push_back(translator.model.config.tokens.eos);
  const std::vector<int32_t> target = translator.tokenizers.target->encode(translated(translator, english));
  const Tensor weights = decode::alignment_weights(translator.model, source, target);  // (target, source)
  Grid grid{weights.rows(), weights.cols(), {}, {}, {}};
  for (const float w : weights.to_vector()) grid.values.push_back(double{w});
  for (const int32_t id : target) grid.row_names.push_back(translator.tokenizers.target->piece(id));
  for (const int32_t id : source) grid.column_names.push_back(translator.tokenizers.source->piece(id));
  const Style style = stdout_style();
  return section(style, "Where the translation looks",
                 "each Korean piece at the English ones: the verb moves to the end") +
         heat_text(grid, style, {Palette::kSequential, 0, 1});
}

void talk(const tasks::Translator& translator) {
  print("\nType an English sentence; an empty line ends.\n");
  TextLines lines("");
  for (std::string line;;) {
    if (::isatty(1)) print("> ");
    if (lines.next(line, true) != decode::Input::kReady) break;
    const std::string english = data::grammar_input(line);
    if (english.empty()) break;
    const std::vector<data::UnknownWord> unknown = data::unknown_words(english);
    print(unknown.empty() ? translated(translator, english) + "\n" : hint(unknown));
  }
}

}  // namespace heed::cli
