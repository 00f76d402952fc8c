// A decoder that draws images, one pixel after another: a model directory whose ids are pixels, in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/data/pixel_format.h"
#include "heed/decode/sampling.h"
#include "heed/models/decoder.h"

namespace heed::tasks {

struct Painter {
  models::Decoder model;
  data::PixelFormat format;

  static Painter open(const std::string& folder);
};
// One that someone else holds.
struct PainterView {
  const models::Decoder& model;
  const data::PixelFormat& format;
  PainterView(const models::Decoder& m, const data::PixelFormat& f) : model(m), format(f) {}
  PainterView(const Painter& p) : model(p.model), format(p.format) {}  // NOLINT(google-explicit-constructor)
};

struct PaintConfig {
  decode::SamplingConfig sampling = {};
  int64_t batch_tokens = 16384;  // pixels of images that are drawn together, about
};

struct PaintRequest {
  int64_t of_class = -1;            // -1: where the model knows none
  std::vector<int32_t> given = {};  // levels of the first pixels
  int64_t sample = 0;               // tells images apart that begin alike
};
struct Painted {
  int64_t of_class = -1;
  std::vector<int32_t> levels;  // of all pixels, given or drawn
  double log_probability = 0;   // of those that were drawn, by the model itself
};

// In the order of the requests. An image depends on the seed and its request alone.
std::vector<Painted> paint(const PainterView& painter, const PaintConfig& config,
                           const std::vector<PaintRequest>& requests);

// So many images, their classes in turn.
std::vector<PaintRequest> of_each_class(const data::PixelFormat& format, int64_t count);
// Columns in which a grid of them shows one class each; 0: there are too many, or none.
int64_t columns_of_classes(const data::PixelFormat& format, int64_t count);
// So many of one class.
std::vector<PaintRequest> of_class(int64_t number, int64_t count);
// The class under which the first pixels of each image are the likeliest.
std::vector<int64_t> likeliest_classes(const PainterView& painter, const std::vector<std::vector<int32_t>>& given);

}  // namespace heed::tasks
