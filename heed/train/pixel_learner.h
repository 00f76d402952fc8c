// Learning to draw: a language model whose documents are images.
#pragma once

#include "heed/data/pixel_format.h"
#include "heed/train/lm_learner.h"

namespace heed::train {

class PixelLearner final : public LmLearner {
 public:
  PixelLearner(const TrainConfig& config, const LmData& data, const data::PixelFormat& format);

  // Bits by pixel of so many levels, and samples as a picture in the model directory.
  void measure(ValidationReport& report) override;

 private:
  std::string shown(const data::Block& block) const override;
  void draw_samples() const;

  const data::PixelFormat format_;
};

}  // namespace heed::train
