#include "heed/tasks/translator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <string_view>

#include "heed/base/error.h"
#include "heed/decode/alignment.h"
#include "heed/models/directory.h"
#include "heed/tasks/text_joint.h"
#include "heed/text/unicode.h"

namespace heed::tasks {
namespace {

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}
bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
}

// How well a text is cut between two ids, from bad to good.
enum class Cut { kInCharacter, kInWord, kAfterWord, kAfterSentence };

Cut cut_between(std::string_view before, std::string_view after) {
  if (!after.empty() && (static_cast<unsigned char>(after[0]) & 0xC0) == 0x80) return Cut::kInCharacter;
  if (starts_with_any(after, {" ", "\u3000"})) {
    return ends_with_any(before, {".", "!", "?", "。", "！", "？", "…"}) ? Cut::kAfterSentence : Cut::kAfterWord;
  }
  // Signs of languages without blanks; what closes a quotation belongs to what it closes.
  if (starts_with_any(after, {"」", "』", "”", "’", "）", "》", "。", "！", "？", "，", "、", "；", "：", "…"})) {
    return Cut::kInWord;
  }
  if (ends_with_any(before, {"。", "！", "？", "。」", "！」", "？」", "。』", "！』", "？』", "。”", "！”", "？”"})) {
    return Cut::kAfterSentence;
  }
  return ends_with_any(before, {"，", "、", "；", "："}) ? Cut::kAfterWord : Cut::kInWord;
}

// The word of each id, counted from 0; blanks belong to the word that follows. -1 where there is none.
std::vector<int64_t> words_of(const std::vector<int32_t>& ids, const text::Tokenizer& tokenizer) {
  std::vector<int64_t> words;
  int64_t word = -1;
  bool after_blank = true;
  for (const int32_t id : ids) {
    const std::string bytes = tokenizer.bytes(id);
    const bool blank = !bytes.empty() && bytes.find_first_not_of(' ') == std::string::npos;
    if (!blank && (after_blank || bytes.starts_with(' '))) ++word;
    after_blank = blank || bytes.ends_with(' ');
    words.push_back(word + blank);
  }
  for (int64_t& w : words) w = std::min(w, word);  // blanks at the end
  return words;
}

int64_t word_count(const std::vector<int32_t>& ids, const text::Tokenizer& tokenizer) {
  return ids.empty() ? 0 : words_of(ids, tokenizer).back() + 1;
}

// What would break the line of a translation in two, and ids that no piece has.
std::vector<int32_t> unsayable(const text::Tokenizer& tokenizer, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocabulary; ++id) {
    if (id >= tokenizer.size() || tokenizer.bytes(id).find_first_of("\n\r") != std::string::npos) ids.push_back(id);
  }
  return ids;
}

// A model knows lines as long as those that it was trained with; what others were trained with is not written anywhere.
int64_t usual_limit(const models::ModelConfig& config) {
  constexpr int64_t kNotKnown = 512;
  return config.trained_length > 0 ? config.trained_length : kNotKnown;
}

class TextStream {
 public:
  TextStream(const TranslatorView& translator, const TranslateConfig& config,
             const std::function<decode::Input(SourceLine&, bool)>& next, const std::function<void(Translated)>& give)
      : t_(translator), config_(config), next_(next), give_(give), eos_(translator.model.config.tokens.eos) {
    if (t_.tokenizers.target) {
      config_.stream.never = unsayable(*t_.tokenizers.target, translator.model.config.vocabulary);
    }
    if (config_.max_source == 0) config_.max_source = usual_limit(translator.model.config);
    config_.max_source = std::min(config_.max_source, decode::longest_sequence(t_.model.config.encoder));
    if (config_.max_source < 2) {
      fail_file("[translate] the model has positions for {} tokens of a line: expected at least 2, a word and the end",
                config_.max_source);
    }
  }

  void run() {
    decode::translate_stream(
        t_.model, config_.stream, [this](decode::Request& request, bool wait) { return next(request, wait); },
        [this](decode::Answer answer) { take(answer); });
  }

 private:
  // A line under way: the answers to its parts, sample by sample.
  struct Line {
    int64_t number;
    bool by_ids;
    size_t expected;
    std::vector<decode::Request> asked;
    std::vector<decode::Answer> answers;
  };

  decode::Input next(decode::Request& request, bool wait) {
    while (pending_.empty()) {
      SourceLine line;
      const decode::Input input = next_(line, wait);
      if (input != decode::Input::kReady) return input;
      ask(line);
    }
    request = std::move(pending_.front());
    pending_.pop_front();
    return decode::Input::kReady;
  }

  std::vector<int32_t> source_ids(const SourceLine& line) const {
    if (line.by_ids) return line.ids;
    return text::is_blank(line.text) ? std::vector<int32_t>{} : t_.tokenizers.source->encode(line.text);
  }

  // The line's ids, in parts that are short enough.
  std::vector<std::vector<int32_t>> parts_of(const SourceLine& line) const {
    const std::vector<int32_t> ids = source_ids(line);
    const int64_t most = config_.max_source - 1;
    if (static_cast<int64_t>(ids.size()) <= most) return {ids};
    if (line.by_ids || config_.long_lines == LongLines::kRefuse) {
      fail_file("[translate] line {} has {} tokens with its end, expected at most {}{}", lines_begun_ + 1,
                ids.size() + 1, config_.max_source, line.by_ids ? ": ids alone do not tell where to split" : "");
    }
    return split_source(ids, *t_.tokenizers.source, most);
  }

  void ask(const SourceLine& line) {
    std::vector<std::vector<int32_t>> parts = parts_of(line);
    Line begun{lines_begun_++, line.by_ids, 0, {}, {}};
    bool first = true;
    for (std::vector<int32_t>& part : parts) {
      if (!part.empty()) part.push_back(eos_);
      decode::Request request{.number = requests_++, .sample = 0, .source = std::move(part)};
      if (first)
        request.prefix =
            line.by_ids || line.prefix.empty() ? line.prefix_ids : t_.tokenizers.target->encode(line.prefix);
      first = false;
      for (int64_t sample = 0; sample < config_.samples; ++sample) {
        request.sample = sample;
        begun.asked.push_back(request);
        pending_.push_back(request);
      }
    }
    begun.expected = begun.asked.size();
    lines_.push_back(std::move(begun));
  }

  void take(decode::Answer& answer) {
    Line& line = lines_.front();
    line.answers.push_back(std::move(answer));
    if (line.answers.size() < line.expected) return;
    give_({line.number, results(line)});
    lines_.pop_front();
  }

  // Parts are joined best with best, second with second.
  std::vector<TranslatedLine> results(const Line& line) const {
    const size_t samples = static_cast<size_t>(config_.samples);
    std::vector<TranslatedLine> all;
    for (size_t sample = 0; sample < samples; ++sample) {
      size_t best = SIZE_MAX;
      for (size_t i = sample; i < line.answers.size(); i += samples) best = std::min(best, line.answers[i].best.size());
      for (size_t rank = 0; rank < best; ++rank) {
        TranslatedLine joined;
        Before before;
        for (size_t i = sample; i < line.answers.size(); i += samples) {
          append(joined, line.answers[i].best[rank], line.asked[i], line.by_ids, before);
        }
        all.push_back(std::move(joined));
      }
    }
    return all;
  }

  // What the parts before hold.
  struct Before {
    int64_t tokens = 0;  // said, with their ends
    int64_t source_words = 0, target_words = 0;
  };
  void append(TranslatedLine& to, const decode::Hypothesis& h, const decode::Request& asked, bool by_ids,
              Before& before) const {
    // Who gave the prefix as ids has it: only new ones go out.
    const size_t known = by_ids ? std::min(asked.prefix.size(), h.ids.size()) : 0;
    to.ids.insert(to.ids.end(), h.ids.begin() + static_cast<int64_t>(known), h.ids.end());
    // The score of a line is that of one translation, however many parts it came in.
    const size_t said = h.ids.size() - std::min(asked.prefix.size(), h.ids.size());
    before.tokens += static_cast<int64_t>(said) + h.ended;
    to.log_probability += h.log_probability;
    to.score = config_.stream.search.score(to.log_probability, before.tokens);
    to.ended = to.ended && h.ended;
    if (by_ids) return;
    const std::string text = t_.tokenizers.target->decode(h.ids);
    const std::string_view between = joint(to.text, text);
    if (config_.alignment && !asked.source.empty()) {
      const bool meet = between.empty() && !text.empty() && !text.starts_with(' ') && !to.text.ends_with(' ');
      if (meet && before.target_words > 0) --before.target_words;  // the last word goes on in this part
      align(to, h.ids, asked.source, before);
    }
    (to.text += between) += text;
  }

  void align(TranslatedLine& to, const std::vector<int32_t>& target, const std::vector<int32_t>& source,
             Before& before) const {
    const text::Tokenizer &source_pieces = *t_.tokenizers.source, &target_pieces = *t_.tokenizers.target;
    if (before.source_words > 0 && !source_pieces.bytes(source[0]).starts_with(' ')) --before.source_words;
    const int64_t last = to.alignment.empty() ? -1 : to.alignment.back().second;
    const Tensor weights = decode::alignment_weights(t_.model, source, target);
    for (const WordPair& pair : word_alignment(weights, source, source_pieces, target, target_pieces)) {
      if (pair.second + before.target_words == last) continue;
      to.alignment.emplace_back(pair.first + before.source_words, pair.second + before.target_words);
    }
    before.source_words += word_count({source.begin(), source.end() - 1}, source_pieces);
    before.target_words += word_count(target, target_pieces);
  }

  const TranslatorView t_;
  TranslateConfig config_;
  const std::function<decode::Input(SourceLine&, bool)>& next_;
  const std::function<void(Translated)>& give_;
  int32_t eos_;
  int64_t lines_begun_ = 0, requests_ = 0;
  std::deque<decode::Request> pending_;
  std::deque<Line> lines_;
};

}  // namespace

Translator Translator::open(const std::string& folder) {
  models::EncoderDecoder model = models::load_translator(folder, {.for_running = true});
  text::TokenizerPair tokenizers = text::load_tokenizers(folder);
  check_tokenizers(tokenizers, model.config, folder);
  return {std::move(model), std::move(tokenizers)};
}

void check_tokenizers(const text::TokenizerPair& tokenizers, const models::ModelConfig& model,
                      const std::string& folder) {
  if (tokenizers.source->size() > model.source_vocabulary || tokenizers.target->size() > model.vocabulary) {
    fail_file("[model] '{}': the tokenizers have {} and {} ids, the model {} and {}", folder, tokenizers.source->size(),
              tokenizers.target->size(), model.source_vocabulary, model.vocabulary);
  }
}

bool TranslatedLine::has_number() const { return std::isfinite(score); }

void translate_text(const TranslatorView& translator, const TranslateConfig& config,
                    const std::function<decode::Input(SourceLine&, bool)>& next,
                    const std::function<void(Translated)>& give) {
  TextStream(translator, config, next, give).run();
}

std::vector<std::string> translate(const TranslatorView& translator, const std::vector<std::string>& lines,
                                   const TranslateConfig& config) {
  std::vector<std::string> translations;
  size_t at = 0;
  const auto next = [&](SourceLine& line, bool) {
    if (at == lines.size()) return decode::Input::kEnd;
    line.text = lines[at++];
    return decode::Input::kReady;
  };
  translate_text(translator, config, next,
                 [&](const Translated& translated) { translations.push_back(translated.best.at(0).text); });
  return translations;
}

std::vector<std::vector<int32_t>> split_source(const std::vector<int32_t>& ids, const text::Tokenizer& tokenizer,
                                               int64_t most) {
  std::string text;
  std::vector<size_t> starts;  // of each id in the text
  for (const int32_t id : ids) {
    starts.push_back(text.size());
    text += tokenizer.bytes(id);
  }
  const auto cut_before = [&](size_t i) {
    return cut_between(std::string_view(text).substr(0, starts[i]), std::string_view(text).substr(starts[i]));
  };
  std::vector<std::vector<int32_t>> parts;
  size_t begin = 0;
  while (ids.size() - begin > static_cast<size_t>(most)) {
    // The best place in reach, of equals the last.
    size_t end = begin + static_cast<size_t>(most);
    Cut best = cut_before(end);
    for (size_t i = end - 1; i > begin && best != Cut::kAfterSentence; --i) {
      if (const Cut cut = cut_before(i); cut > best) best = cut, end = i;
    }
    parts.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.begin() + static_cast<int64_t>(end));
    begin = end;
  }
  parts.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.end());
  return parts;
}

std::vector<WordPair> word_alignment(const Tensor& weights, const std::vector<int32_t>& source,
                                     const text::Tokenizer& source_pieces, const std::vector<int32_t>& target,
                                     const text::Tokenizer& target_pieces) {
  std::vector<WordPair> pairs;
  if (source.size() < 2 || target.empty()) return pairs;
  const std::vector<int32_t> words(source.begin(), source.end() - 1);  // eos is no word
  const std::vector<int64_t> from = words_of(words, source_pieces), to = words_of(target, target_pieces);
  if (from.back() < 0) return pairs;
  const size_t columns = static_cast<size_t>(weights.size(1));
  for (int64_t word = 0; word <= to.back(); ++word) {
    std::vector<double> looked(static_cast<size_t>(from.back() + 1));
    for (size_t t = 0; t < to.size(); ++t) {
      for (size_t s = 0; to[t] == word && s < from.size(); ++s) {
        looked[static_cast<size_t>(from[s])] += double{weights.data()[t * columns + s]};
      }
    }
    pairs.emplace_back(std::max_element(looked.begin(), looked.end()) - looked.begin(), word);
  }
  return pairs;
}

}  // namespace heed::tasks
