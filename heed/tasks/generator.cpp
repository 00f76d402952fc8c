#include "heed/tasks/generator.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <utility>

#include "heed/base/error.h"
#include "heed/models/directory.h"
#include "heed/tasks/text_stream.h"
#include "heed/text/unicode.h"

namespace heed::tasks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The bytes of tokens one after the other. A tokenizer that writes a blank before every word leaves out the one at the
// start of a text.
class Speaker {
 public:
  Speaker(const text::Tokenizer* tokenizer, bool at_start) : tokenizer_(tokenizer), at_start_(at_start) {}

  std::string bytes(int32_t id) {
    if (!tokenizer_) return "";
    std::string bytes = tokenizer_->bytes(id);
    if (!at_start_ || bytes.empty()) return bytes;
    said_.push_back(id);  // of which nothing was shown yet
    if (text::valid_utf8(bytes)) bytes = tokenizer_->decode(said_);
    at_start_ = bytes.empty();
    return bytes;
  }

 private:
  const text::Tokenizer* tokenizer_;
  bool at_start_;
  std::vector<int32_t> said_;
};

decode::GenerationIds ids_of(const GeneratorView& g, const std::vector<int32_t>& ends) {
  decode::GenerationIds ids = decode::generation_ids(g.model.config, g.tokenizer ? g.tokenizer->size() : 0);
  ids.ends.insert(ids.ends.end(), ends.begin(), ends.end());
  return ids;
}

class PromptStream {
 public:
  PromptStream(const GeneratorView& generator, const GenerateConfig& config,
               const std::function<decode::Input(Prompt&, bool)>& next, const std::function<void(Generated)>& give,
               const OnText& on_text)
      : g_(generator),
        config_(config),
        next_(next),
        give_(give),
        on_text_(on_text),
        generation_(g_.model, ids_of(g_, config.ends), config.limits_for(g_.model.config)) {
    config_.check();
    config_.settings.sampling.check_ids(g_.model.config.vocabulary);
  }

  void run() {
    using Stream = decode::OrderedStream<PromptStream, decode::GenerationRequest, decode::GenerationAnswer>;
    const Stream::Next next = [this](decode::GenerationRequest& request, bool wait) { return ask(request, wait); };
    const Stream::Give give = [this](decode::GenerationAnswer answer) { take(std::move(answer)); };
    Stream(*this, config_.stream, next, give).run();
    if (refused_) std::rethrow_exception(refused_);
  }

  // The work of an ordered stream: prompts in the order in which they came.
  int64_t running() const { return generation_.sequences(); }
  void join(std::vector<decode::GenerationRequest> requests) { generation_.join(std::move(requests)); }
  std::vector<decode::GenerationAnswer> step() {
    std::vector<decode::GenerationAnswer> answers = generation_.step(
        [this](const decode::GenerationRequest& r, const decode::GeneratedToken& t) { return hear(r, t); });
    for (const decode::GenerationAnswer& answer : answers) finish(answer);
    return answers;
  }
  // Tokens that it may come to hold: never more than the context.
  int64_t cost(const decode::GenerationRequest& r) const {
    const int64_t context = decode::context_length(g_.model.config);
    const int64_t prompt = std::min(static_cast<int64_t>(r.prompt.size()), context);
    return prompt + std::min(r.settings.max_tokens, context + 1 - prompt) * r.settings.beam;
  }
  static bool comes_first(const decode::GenerationRequest& a, const decode::GenerationRequest& b) {
    return std::pair(a.number, a.sample) < std::pair(b.number, b.sample);
  }
  static bool done_at_once(const decode::GenerationRequest&, const decode::GenerationAnswer&) { return false; }

 private:
  using Key = std::pair<int64_t, int64_t>;
  // A text under way.
  struct Text {
    Speaker speaker;
    GrowingText growing;
    std::string text;
    Clock::time_point asked;
    double first = 0, all = 0;
  };

  // What is refused is told when all before it are answered.
  decode::Input read(Prompt& prompt, std::vector<int32_t>& ids, bool wait) try {
    const decode::Input input = next_(prompt, wait);
    if (input == decode::Input::kReady) ids = prompt_ids(g_, config_, prompt, prompts_);
    return input;
  } catch (const Error&) {
    refused_ = std::current_exception();
    return decode::Input::kEnd;
  }

  decode::Input ask(decode::GenerationRequest& request, bool wait) {
    if (pending_.empty()) {
      Prompt prompt;
      std::vector<int32_t> ids;
      const decode::Input input = read(prompt, ids, wait);
      if (input != decode::Input::kReady) return input;
      decode::GenerationRequest one{.number = prompts_, .prompt = std::move(ids), .settings = config_.settings};
      for (; one.sample < config_.samples; ++one.sample) {
        texts_.emplace(Key{one.number, one.sample}, Text{{prompt.by_ids ? nullptr : g_.tokenizer, prompt.text.empty()},
                                                         GrowingText(config_.stops),
                                                         {},
                                                         Clock::now()});
        pending_.push_back(one);
      }
      asked_.push_back({prompts_++, static_cast<int64_t>(one.prompt.size()), {}});
    }
    request = std::move(pending_.front());
    pending_.pop_front();
    return decode::Input::kReady;
  }

  void say(const Key& key, Text& text, const std::string& more) {
    text.text += more;
    if (on_text_ && !more.empty()) on_text_(key.first, key.second, more);
  }

  bool hear(const decode::GenerationRequest& r, const decode::GeneratedToken& token) {
    const Key key{r.number, r.sample};
    Text& text = texts_.at(key);
    if (text.first == 0) text.first = seconds_since(text.asked);
    say(key, text, text.growing.add(text.speaker.bytes(token.chosen.id)));
    return !text.growing.stopped();
  }

  void finish(const decode::GenerationAnswer& answer) {
    const Key key{answer.number, answer.sample};
    Text& text = texts_.at(key);
    if (config_.settings.beam == 1) say(key, text, text.growing.finish());
    text.all = seconds_since(text.asked);
    if (text.first == 0) text.first = text.all;
  }

  std::string whole(Speaker speaker, const std::vector<int32_t>& ids) const {
    GrowingText growing;
    std::string text;
    for (const int32_t id : ids) text += growing.add(speaker.bytes(id));
    return text + growing.finish();
  }

  void take(decode::GenerationAnswer answer) {
    const auto text = texts_.find({answer.number, answer.sample});
    Generated& generated = asked_.front();
    for (decode::GeneratedIds& written : answer.best) {
      GeneratedText one{std::move(text->second.text), std::move(written), text->second.first, text->second.all};
      if (config_.settings.beam > 1) one.text = whole(text->second.speaker, one.written.ids);
      generated.texts.push_back(std::move(one));
    }
    texts_.erase(text);
    if (answer.sample + 1 < config_.samples) return;
    give_(std::move(generated));
    asked_.pop_front();
  }

  const GeneratorView g_;
  GenerateConfig config_;
  const std::function<decode::Input(Prompt&, bool)>& next_;
  const std::function<void(Generated)>& give_;
  const OnText& on_text_;
  decode::Generation generation_;
  int64_t prompts_ = 0;
  std::deque<decode::GenerationRequest> pending_;
  std::deque<Generated> asked_;
  std::map<Key, Text> texts_;
  std::exception_ptr refused_;
};

}  // namespace

std::string tokenizer_folder(const models::ModelFolder& folder) {
  return text::has_tokenizer(folder.path) ? folder.path : models::base_of(folder);
}

Generator Generator::open(const models::ModelFolder& folder, const models::LoadOptions& options) {
  models::Decoder model = models::load_decoder(folder, options);
  std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(tokenizer_folder(folder));
  if (tokenizer->size() > model.config.vocabulary) {
    fail_file("[model] '{}': the tokenizer has {} ids, the model {}", folder.path, tokenizer->size(),
              model.config.vocabulary);
  }
  return {std::move(model), std::move(tokenizer)};
}

std::vector<int32_t> GeneratorView::encode(std::string_view text, bool with_start) const {
  if (!tokenizer) fail("[generate] text without a tokenizer: expected ids");
  std::vector<int32_t> ids = tokenizer->encode(text);
  if (const int32_t bos = tokenizer->special().bos; bos >= 0 && with_start) ids.insert(ids.begin(), bos);
  return ids;
}

int64_t GeneratorView::unknown(std::string_view text) const {
  const text::SpecialIds special = tokenizer->special();
  if (special.unk < 0 || special.unk == special.eos) return 0;  // GPT-2's end stands for nothing unknown
  const std::vector<int32_t> ids = tokenizer->encode(text);
  return std::count(ids.begin(), ids.end(), special.unk);
}

void GenerateConfig::check() const {
  settings.check();
  if (samples < 1) fail("[generate] {} samples: expected at least 1", samples);
  for (const std::string& stop : stops) {
    if (stop.empty()) fail("[generate] an empty stop string: expected some text");
  }
  if (settings.beam == 1) return;
  if (!stops.empty()) fail("[generate] stop strings with a beam of {}: expected a beam of 1", settings.beam);
  if (samples > 1) fail("[generate] {} samples with a beam of {}: a search does not draw", samples, settings.beam);
}

decode::GenerationLimits GenerateConfig::limits_for(const models::ModelConfig& model) const {
  decode::GenerationLimits most = limits;
  if (most.kept_rows > 0) most.kept_rows = std::max(most.kept_rows, decode::context_length(model));
  return most;
}

std::vector<int32_t> prompt_ids(const GeneratorView& generator, const GenerateConfig& config, const Prompt& prompt,
                                int64_t number) {
  if (prompt.by_ids && !config.stops.empty()) fail("[generate] stop strings with ids: ids are no text");
  std::vector<int32_t> ids = prompt.by_ids ? prompt.ids : generator.encode(prompt.text, !prompt.as_it_is);
  const models::TokenIds& special = generator.model.config.tokens;
  for (const int32_t start : {special.start, special.eos}) {
    if (ids.empty() && start >= 0) ids.push_back(start);
  }
  if (ids.empty()) fail_file("[generate] prompt {} is empty, and the model has no token to start with", number + 1);
  decode::check_length(ids, generator.model.config, config.settings, number);
  return ids;
}

void generate_text(const GeneratorView& generator, const GenerateConfig& config,
                   const std::function<decode::Input(Prompt&, bool)>& next, const std::function<void(Generated)>& give,
                   const OnText& on_text) {
  PromptStream(generator, config, next, give, on_text).run();
}

std::vector<Generated> generate_all(const GeneratorView& generator, const GenerateConfig& config,
                                    const std::vector<Prompt>& prompts, const OnText& on_text) {
  std::vector<Generated> all;
  size_t at = 0;
  const auto next = [&](Prompt& prompt, bool) {
    if (at == prompts.size()) return decode::Input::kEnd;
    prompt = prompts[at++];
    return decode::Input::kReady;
  };
  generate_text(
      generator, config, next, [&](Generated one) { all.push_back(std::move(one)); }, on_text);
  return all;
}

}  // namespace heed::tasks
