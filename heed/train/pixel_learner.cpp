#include "heed/train/pixel_learner.h"

#include <fmt/format.h>

#include <numbers>

#include "heed/tasks/image_grid.h"
#include "heed/tasks/painter.h"

namespace heed::train {
namespace {

models::ModelConfig model_of(const TrainConfig& config, const data::PixelFormat& format) {
  models::ModelConfig c = model_config(config, 0, format.vocabulary());
  c.decoder.positions.max_length = format.pixels();
  // No id ends an image: its size does.
  c.tokens = {.start = static_cast<int32_t>(format.levels), .eos = -1, .unk = -1, .pad = -1};
  return c;
}

// An image is its own context.
TrainConfig with_context(TrainConfig config, const data::PixelFormat& format) {
  config.model.context = format.pixels();
  return config;
}

// So many of them, from all places alike: images of a class may lie side by side.
std::vector<data::Block> spread(const std::vector<data::Block>& all, int64_t most) {
  const auto count = static_cast<int64_t>(all.size());
  if (most == 0 || most >= count) return all;
  std::vector<data::Block> some;
  for (int64_t i = 0; i < most; ++i) some.push_back(all[static_cast<size_t>(i * count / most)]);
  return some;
}

}  // namespace

PixelLearner::PixelLearner(const TrainConfig& config, const LmData& data, const data::PixelFormat& format)
    : LmLearner(with_context(config, format), data, model_of(config, format)), format_(format) {}

std::string PixelLearner::shown(const data::Block& block) const {
  return fmt::format("image {} of those to train with", block.begin / (format_.pixels() + 1) + 1);
}

void PixelLearner::measure(ValidationReport& r) {
  measure_blocks(r, spread(data::behind_starts(*data_.valid, format_.pixels()), config_.valid.max_images));
  r.bits_per_dim = r.loss / std::numbers::ln2;
  if (config_.valid.samples > 0) draw_samples();
}

// The same numbers are drawn each time, so that the pictures show what changed.
void PixelLearner::draw_samples() const {
  tasks::PaintConfig how;
  how.sampling.seed = static_cast<uint64_t>(config_.train.seed);
  std::vector<RgbImage> pictures;
  for (const tasks::Painted& one :
       tasks::paint({model(), format_}, how, tasks::of_each_class(format_, config_.valid.samples))) {
    pictures.push_back(tasks::picture_of(data::image_of(one.levels, format_)));
  }
  write_png(config_.save.out + "/samples.png",
            tasks::image_grid(pictures, tasks::columns_of_classes(format_, config_.valid.samples)));
}

}  // namespace heed::train
