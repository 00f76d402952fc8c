#include "heed/tasks/painter.h"

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "heed/decode/generation.h"
#include "heed/models/directory.h"
#include "heed/tasks/score.h"

namespace heed::tasks {
namespace {

std::vector<int32_t> prompt_of(const data::PixelFormat& format, int64_t of_class, const std::vector<int32_t>& given) {
  std::vector<int32_t> prompt = {format.start(of_class)};
  prompt.insert(prompt.end(), given.begin(), given.end());
  return prompt;
}

decode::GenerationRequest request_of(const PainterView& painter, const PaintConfig& config, const PaintRequest& asked,
                                     size_t number) {
  const int64_t left = painter.format.pixels() - static_cast<int64_t>(asked.given.size());
  if (left < 1) {
    fail("[generate] image {} is given {} pixels of {}: nothing is left to draw", number + 1, asked.given.size(),
         painter.format.pixels());
  }
  decode::GenerationRequest request{.number = static_cast<int64_t>(number), .sample = asked.sample};
  request.prompt = prompt_of(painter.format, asked.of_class, asked.given);
  request.settings.sampling = config.sampling;
  request.settings.max_tokens = left;
  return request;
}

}  // namespace

Painter Painter::open(const std::string& folder) {
  Painter painter{models::load_decoder(folder, {.as_stored = true, .in_halves = true}),
                  data::PixelFormat::read(folder)};
  const data::PixelFormat& format = painter.format;
  const int64_t ids = painter.model.config.vocabulary, context = decode::context_length(painter.model.config);
  if (format.vocabulary() != ids || format.pixels() > context) {
    fail_file("[model] '{}': images of {} pixels and {} ids, the model has {} positions and {} ids", folder,
              format.pixels(), format.vocabulary(), context, ids);
  }
  return painter;
}

std::vector<Painted> paint(const PainterView& painter, const PaintConfig& config,
                           const std::vector<PaintRequest>& requests) {
  decode::Generation generation(painter.model, decode::generation_ids(painter.model.config, painter.format.levels));
  const int64_t together = std::max<int64_t>(1, config.batch_tokens / painter.format.pixels());
  std::vector<Painted> all(requests.size());
  for (size_t next = 0; next < requests.size() || generation.sequences() > 0;) {
    std::vector<decode::GenerationRequest> joining;
    while (next < requests.size() && generation.sequences() + static_cast<int64_t>(joining.size()) < together) {
      joining.push_back(request_of(painter, config, requests[next], next));
      ++next;
    }
    generation.join(std::move(joining));
    for (decode::GenerationAnswer& answer : generation.step()) {
      const decode::GeneratedIds& drawn = answer.best[0];
      if (drawn.reason != decode::StopReason::kLength)
        fail_file("[generate] image {} broke off: the model's numbers overflow", answer.number + 1);
      const PaintRequest& asked = requests[static_cast<size_t>(answer.number)];
      Painted& painted = all[static_cast<size_t>(answer.number)];
      painted = {asked.of_class, asked.given, drawn.log_probability};
      painted.levels.insert(painted.levels.end(), drawn.ids.begin(), drawn.ids.end());
    }
  }
  return all;
}

std::vector<PaintRequest> of_each_class(const data::PixelFormat& format, int64_t count) {
  const auto classes = static_cast<int64_t>(format.classes.size());
  std::vector<PaintRequest> requests;
  for (int64_t i = 0; i < count; ++i) {
    requests.push_back(classes > 0 ? PaintRequest{i % classes, {}, i / classes} : PaintRequest{-1, {}, i});
  }
  return requests;
}

int64_t columns_of_classes(const data::PixelFormat& format, int64_t count) {
  constexpr int64_t kMost = 20;
  const auto classes = static_cast<int64_t>(format.classes.size());
  if (classes == 0 || classes > std::min(kMost, count)) return 0;
  // Each has as many columns as make the whole about square.
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(count)));
  return classes * std::max<int64_t>(1, side / classes);
}

std::vector<PaintRequest> of_class(int64_t number, int64_t count) {
  std::vector<PaintRequest> requests;
  for (int64_t i = 0; i < count; ++i) requests.push_back({number, {}, i});
  return requests;
}

std::vector<int64_t> likeliest_classes(const PainterView& painter, const std::vector<std::vector<int32_t>>& given) {
  const auto classes = static_cast<int64_t>(painter.format.classes.size());
  if (classes == 0) return std::vector<int64_t>(given.size(), -1);
  std::vector<int64_t> best;
  for (const std::vector<int32_t>& levels : given) {
    std::vector<std::vector<int32_t>> sequences;
    for (int64_t c = 0; c < classes; ++c) sequences.push_back(prompt_of(painter.format, c, levels));
    const std::vector<Score> scores = score_sequences(painter.model, sequences);
    const auto likelier = [](const Score& a, const Score& b) { return a.log_probability < b.log_probability; };
    best.push_back(std::max_element(scores.begin(), scores.end(), likelier) - scores.begin());
  }
  return best;
}

}  // namespace heed::tasks
