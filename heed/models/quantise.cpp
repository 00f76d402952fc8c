#include "heed/models/quantise.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"
#include "heed/kernels/quantised.h"

namespace heed::models {
namespace {

using kernels::NumberType;
using nlohmann::json;
namespace fs = std::filesystem;

// Rounding would make a number of what is none, and a model that cannot run would look whole.
void check_finite(const StoredTensor& tensor) {
  std::vector<float> numbers(static_cast<size_t>(tensor.elements()));
  to_f32(tensor, numbers.data());
  if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); }))
    fail_file("[quantize] '{}' has weights that are no finite numbers", tensor.name);
}

// As (out, in).
std::vector<float> rows_of(const MatrixInFile& m) {
  std::vector<float> stored(static_cast<size_t>(m.tensor->elements()));
  to_f32(*m.tensor, stored.data());
  if (!m.in_out) return stored;
  std::vector<float> turned(stored.size());
  for (int64_t o = 0; o < m.out; ++o) {
    for (int64_t i = 0; i < m.in; ++i) {
      turned[static_cast<size_t>(o * m.in + i)] = stored[static_cast<size_t>(i * m.out + o)];
    }
  }
  return turned;
}

// With feedback, or each weight by itself.
std::shared_ptr<const Tiles> rounded(const MatrixInFile& m, NumberType type, const kernels::Feedback* feedback) {
  const auto tiles = std::make_shared<Tiles>();
  tiles->type = type;
  tiles->bytes.resize(static_cast<size_t>(kernels::quantised_bytes(type, m.out, m.in)));
  const std::vector<float> rows = rows_of(m);
  if (feedback) {
    kernels::quantise_with_feedback(tiles->bytes.data(), type, *feedback, rows.data(), m.out);
  } else {
    kernels::quantise(tiles->bytes.data(), type, rows.data(), m.out, m.in);
  }
  return tiles;
}

struct Errors {
  double squared_error = 0, squared_size = 0;
};
Errors errors_of(const std::vector<float>& exact, const Tiles& tiles, int64_t in) {
  Errors sum;
  std::vector<float> row(static_cast<size_t>(in));
  for (size_t first = 0; first < exact.size(); first += row.size()) {
    kernels::dequantise_row(row.data(), {tiles.bytes.data(), in, tiles.type}, static_cast<int64_t>(first / row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      const double error = double{row[i]} - exact[first + i];
      sum.squared_error += error * error;
      sum.squared_size += double{exact[first + i]} * exact[first + i];
    }
  }
  return sum;
}

std::string read_text(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

QuantisedModel::QuantisedModel(std::string from, const QuantiseOptions& options)
    : from_(std::move(from)), bits_(options.bits) {
  if (bits_ != 8 && bits_ != 4) fail("[quantize] {} bits: expected 8 or 4", bits_);
  model_ = open_decoder(from_);
  for (const MatrixInFile& m : model_.matrices) {
    if (is_tiles(*m.tensor))
      fail_file("[quantize] '{}' is quantised already: expected the model it was made from", from_);
    check_finite(*m.tensor);
    if (!m.fits_in_tiles) report_.kept.push_back(m.tensor->name);
  }
  if (bits_ == 4 && options.texts) calibrate(options.texts(), options.on_progress);
  for (const MatrixInFile& m : model_.matrices) {
    if (m.fits_in_tiles && !tiles_.contains(m.tensor)) tiles_[m.tensor] = rounded(m, type_of(m), nullptr);
  }
  describe();
}

NumberType QuantisedModel::type_of(const MatrixInFile& m) const {
  const bool values = m.parameters.size() == 1 && m.parameters[0].ends_with(".v_proj.weight");
  return bits_ == 8 || m.is_table || values ? NumberType::kInt8 : NumberType::kInt4;
}

void QuantisedModel::calibrate(const std::vector<std::vector<int32_t>>& texts,
                               const std::function<void(double)>& on_progress) {
  if (texts.empty()) return;
  Calibration calibration(from_, texts);
  const std::vector<Calibration::Stage>& stages = calibration.stages();
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto progress = [&](double share) {
      if (on_progress) on_progress((static_cast<double>(i) + share) / static_cast<double>(stages.size()));
    };
    std::optional<kernels::Feedback> feedback;
    for (const MatrixInFile& m : model_.matrices) {
      const bool here =
          std::find(stages[i].weights.begin(), stages[i].weights.end(), m.parameters[0]) != stages[i].weights.end();
      if (!here || !m.fits_in_tiles) continue;
      if (!feedback) feedback = kernels::feedback_of(calibration.moments(stages[i], progress));
      tiles_[m.tensor] = rounded(m, type_of(m), &*feedback);
      calibration.replace(stages[i], m.parameters, tiles_[m.tensor]);
    }
    const bool last = i + 1 == stages.size() || stages[i + 1].block != stages[i].block;
    if (last && i + 1 < stages.size()) calibration.pass(stages[i].block);
  }
}

void QuantisedModel::describe() {
  for (const auto& [name, tensor] : model_.file->tensors()) {
    report_.bytes_before += static_cast<int64_t>(tensor->bytes.size());
    if (!tiles_.contains(tensor)) report_.bytes_after += static_cast<int64_t>(tensor->bytes.size());
  }
  for (const MatrixInFile& m : model_.matrices) {
    if (!m.fits_in_tiles) continue;
    const Tiles& tiles = *tiles_.at(m.tensor);
    const Errors errors = errors_of(rows_of(m), tiles, m.in);
    const auto size = static_cast<int64_t>(tiles.bytes.size());
    report_.matrices.push_back(
        {m.tensor->name, tiles.type, m.out * m.in, size, errors.squared_error, errors.squared_size});
    report_.bytes_after += size;
  }
}

void QuantisedModel::save(const std::string& to) const {
  std::map<const StoredTensor*, std::vector<int64_t>> shapes;
  for (const MatrixInFile& m : model_.matrices) {
    if (m.fits_in_tiles) shapes[m.tensor] = tiles_shape(m.out, m.in, kernels::tile_bytes(tiles_.at(m.tensor)->type));
  }
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, tensor] : model_.file->tensors()) {
    const auto found = tiles_.find(tensor);
    if (found == tiles_.end()) {
      tensors.push_back({name, tensor->dtype, tensor->shape, tensor->bytes});
    } else {
      tensors.push_back({name, StoredType::kU8, shapes.at(tensor), std::as_bytes(std::span(found->second->bytes))});
    }
  }
  json config = json::parse(read_text((fs::path(from_) / "config.json").string()));
  config["quantization_config"] = {{"quant_method", "heed"}, {"bits", bits_}, {"group_size", kernels::kGroup}};
  write_file_atomically((fs::path(to) / "config.json").string(), config.dump(2) + "\n");
  const fs::path generation = fs::path(from_) / "generation_config.json";
  if (fs::exists(generation)) {
    write_file_atomically((fs::path(to) / generation.filename()).string(), read_text(generation.string()));
  }
  write_safetensors((fs::path(to) / "model.safetensors").string(), tensors, {{"format", "pt"}});
}

}  // namespace heed::models
