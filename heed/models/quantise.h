// A model directory in 8 or 4 bits: the matrices of products in tiles (kernels/quantised.h), all else as it was. Other
// libraries refuse it by its "quantization_config".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heed/kernels/numbers.h"
#include "heed/models/calibration.h"
#include "heed/models/directory.h"

namespace heed::models {

struct QuantiseOptions {
  int64_t bits = 8;  // or 4
  // Token ids of texts, asked for once the model is seen to be fit. With them, bits are chosen so that what maps make of
  // these texts changes least (kernels/error_feedback.h); without, so that the weights do.
  std::function<std::vector<std::vector<int32_t>>()> texts = {};
  std::function<void(double share)> on_progress = {};  // while texts are read
};

struct QuantisedMatrix {
  std::string name;
  kernels::NumberType type;
  int64_t numbers, bytes;
  double squared_error, squared_size;
};
struct Quantisation {
  std::vector<QuantisedMatrix> matrices;
  std::vector<std::string> kept;              // matrices whose sizes do not allow it
  int64_t bytes_before = 0, bytes_after = 0;  // of all tensors
};

// The language model of a folder in few bits, still in memory.
class QuantisedModel {
 public:
  // With 4 bits, those matrices have 8 that every word passes (tables of tokens) and that are small for what they cost
  // (values of attention, where they are a tensor of their own).
  QuantisedModel(std::string from, const QuantiseOptions& options);

  const Quantisation& report() const { return report_; }
  // Writes config.json and model.safetensors into a folder.
  void save(const std::string& to) const;

 private:
  void calibrate(const std::vector<std::vector<int32_t>>& texts, const std::function<void(double)>& on_progress);
  kernels::NumberType type_of(const MatrixInFile& m) const;
  void describe();

  std::string from_;
  int64_t bits_;
  OpenDecoder model_;
  std::map<const StoredTensor*, std::shared_ptr<const Tiles>> tiles_;
  Quantisation report_;
};

}  // namespace heed::models
