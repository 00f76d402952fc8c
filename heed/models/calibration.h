// What the linear maps of a language model read while it runs over texts: block by block and map by map, once with exact
// weights and once with those that have been quantised so far, so that each map can make up for what was lost before it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heed/kernels/error_feedback.h"
#include "heed/models/decoder.h"

namespace heed::models {

// A matrix in tiles (kernels/quantised.h).
struct Tiles {
  kernels::NumberType type = kernels::NumberType::kInt8;
  std::vector<uint8_t> bytes;
};

class Calibration {
 public:
  // Token ids of each text, within the context of the model. Two rows of d_model numbers a token are kept.
  Calibration(const std::string& folder, const std::vector<std::vector<int32_t>>& texts);

  // Maps that read the same numbers.
  struct Stage {
    size_t block = 0;
    std::string input;                 // in the trace
    std::vector<std::string> weights;  // names of the parameters
    // A map whose outputs are added to its block's input makes up for all that the sum has lost; others for their inputs.
    enum { kNone, kAttention, kFeedForward } adds = kNone;
  };
  // In the order of the run. When the last stage of a block has been dealt with, pass() it.
  const std::vector<Stage>& stages() const { return stages_; }
  // on_part(share of the texts) is called after each part of them.
  kernels::InputMoments moments(const Stage& stage, const std::function<void(double)>& on_part = {}) const;
  // From now on these maps, whose outputs lie one after the other in the tiles, are computed with them.
  void replace(const Stage& stage, const std::vector<std::string>& weights, const std::shared_ptr<const Tiles>& tiles);
  void pass(size_t block);

 private:
  // Some texts, where they have come to with either weights: (T, C)
  struct Part {
    Spans spans;
    Tensor exact, quantised;
  };
  // What the maps of a stage read, and the sum that their outputs were added to.
  struct Seen {
    Tensor input, sum;
  };
  static Seen look(const Decoder& model, const Stage& stage, const Tensor& x, const Spans& spans);
  void add_stages(const nn::EncoderBlock& block);

  Decoder exact_, quantised_;
  std::vector<Part> parts_;
  std::vector<Stage> stages_;
};

}  // namespace heed::models
