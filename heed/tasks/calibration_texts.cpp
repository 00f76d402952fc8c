#include "heed/tasks/calibration_texts.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::tasks {
namespace {

using Texts = std::vector<std::vector<int32_t>>;

int32_t start_of(const models::TokenIds& special) { return special.start >= 0 ? special.start : special.eos; }

int64_t length_of(const models::Decoder& model, const CalibrationConfig& config) {
  return std::min(config.longest, decode::context_length(model.config));
}

// Of a model without a start each text begins with another id, spread over the vocabulary.
int32_t first_id(const models::ModelConfig& config, int64_t text) {
  const int32_t start = start_of(config.tokens);
  constexpr uint64_t kSpread = 2654435761;  // near 2^32 over the golden ratio
  if (start >= 0) return start;
  return static_cast<int32_t>(static_cast<uint64_t>(text) * kSpread % static_cast<uint64_t>(config.vocabulary));
}

}  // namespace

Texts calibration_pieces(const GeneratorView& generator, std::string_view text, const CalibrationConfig& config) {
  if (!generator.tokenizer) fail("[quantize] a text without a tokenizer: expected one");
  const std::vector<int32_t> ids = generator.tokenizer->encode(text);
  const int32_t start = start_of(generator.model.config.tokens);
  const int64_t all = static_cast<int64_t>(ids.size()), room = length_of(generator.model, config) - (start >= 0);
  Texts texts;
  if (all < 2 || room < 1) return texts;
  const int64_t pieces = (all + room - 1) / room, wanted = std::min(pieces, (config.tokens + room - 1) / room);
  for (int64_t i = 0; i < wanted; ++i) {
    const int64_t begin = i * pieces / wanted * room, end = std::min(all, begin + room);
    std::vector<int32_t>& piece = texts.emplace_back();
    if (start >= 0) piece.push_back(start);
    piece.insert(piece.end(), ids.begin() + begin, ids.begin() + end);
  }
  return texts;
}

Texts drawn_texts(const models::Decoder& model, const CalibrationConfig& config,
                  const std::function<void(double)>& on_progress) {
  constexpr int64_t kTogether = 32;
  const int64_t length = length_of(model, config);
  Texts texts;
  if (length < 2) return texts;
  decode::GenerationSettings settings{.max_tokens = length - 1};
  settings.sampling.seed = config.seed;
  int64_t tokens = 0;
  // Texts that end early are short: at most so many, whatever the model says.
  const int64_t most = 8 * (config.tokens / length + 1);
  for (int64_t first = 0; first < most && tokens < config.tokens; first += kTogether) {
    decode::Generation generation(model, decode::generation_ids(model.config));
    std::vector<decode::GenerationRequest> requests;
    for (int64_t i = first; i < std::min(most, first + kTogether); ++i) {
      requests.push_back({.number = i, .sample = i, .prompt = {first_id(model.config, i)}, .settings = settings});
    }
    generation.join(requests);
    Texts drawn(requests.size());
    int64_t new_tokens = 0;
    while (generation.sequences() > 0) {
      for (decode::GenerationAnswer& answer : generation.step()) {
        std::vector<int32_t>& text = drawn[static_cast<size_t>(answer.number - first)];
        const decode::GeneratedIds& written = answer.best.at(0);
        if (written.reason == decode::StopReason::kNoNumber) continue;
        text = requests[static_cast<size_t>(answer.number - first)].prompt;
        text.insert(text.end(), written.ids.begin(), written.ids.end());
      }
      new_tokens += generation.sequences();
      if (on_progress)
        on_progress(std::min(1.0, static_cast<double>(tokens + new_tokens) / static_cast<double>(config.tokens)));
    }
    for (std::vector<int32_t>& text : drawn) {
      if (text.size() < 2 || tokens >= config.tokens) continue;
      tokens += static_cast<int64_t>(text.size());
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

}  // namespace heed::tasks
