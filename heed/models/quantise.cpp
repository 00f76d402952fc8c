#include "heed/models/quantise.h"

#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"
#include "heed/kernels/quantised.h"
#include "heed/models/directory.h"

namespace heed::models {
namespace {

using kernels::NumberType;
using nlohmann::json;
namespace fs = std::filesystem;

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

struct Errors {
  double squared_error = 0, squared_size = 0;
};
Errors errors_of(const std::vector<float>& exact, const std::vector<uint8_t>& tiles, NumberType type, int64_t in) {
  Errors sum;
  std::vector<float> row(static_cast<size_t>(in));
  for (size_t first = 0; first < exact.size(); first += row.size()) {
    kernels::dequantise_row(row.data(), {tiles.data(), in, type}, static_cast<int64_t>(first / row.size()));
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

Quantisation quantise_directory(const std::string& from, const std::string& to, int64_t bits) {
  if (bits != 8 && bits != 4) fail("[quantize] {} bits: expected 8 or 4", bits);
  const OpenDecoder model = open_decoder(from);
  std::map<const StoredTensor*, MatrixInFile> matrices;
  Quantisation result;
  for (const MatrixInFile& m : model.matrices) {
    if (is_tiles(*m.tensor))
      fail_file("[quantize] '{}' is quantised already: expected the model it was made from", from);
    if (m.fits_in_tiles) {
      matrices.emplace(m.tensor, m);
    } else {
      result.kept.push_back(m.tensor->name);
    }
  }
  std::vector<TensorToWrite> tensors;
  std::deque<std::vector<uint8_t>> owned;
  for (const auto& [name, tensor] : model.file->tensors()) {
    result.bytes_before += static_cast<int64_t>(tensor->bytes.size());
    const auto found = matrices.find(tensor);
    if (found == matrices.end()) {
      tensors.push_back({name, tensor->dtype, tensor->shape, tensor->bytes});
    } else {
      const MatrixInFile& m = found->second;
      const NumberType type = bits == 8 || m.is_table ? NumberType::kInt8 : NumberType::kInt4;
      const std::vector<float> rows = rows_of(m);
      auto& tiles = owned.emplace_back(static_cast<size_t>(kernels::quantised_bytes(type, m.out, m.in)));
      kernels::quantise(tiles.data(), type, rows.data(), m.out, m.in);
      const Errors errors = errors_of(rows, tiles, type, m.in);
      const auto size = static_cast<int64_t>(tiles.size());
      result.matrices.push_back({name, type, m.out * m.in, size, errors.squared_error, errors.squared_size});
      tensors.push_back({name, StoredType::kU8, tiles_shape(m.out, m.in, kernels::tile_bytes(type)),
                         std::as_bytes(std::span(tiles))});
    }
    result.bytes_after += static_cast<int64_t>(tensors.back().data.size());
  }
  json config = json::parse(read_text((fs::path(from) / "config.json").string()));
  config["quantization_config"] = {{"quant_method", "heed"}, {"bits", bits}, {"group_size", kernels::kGroup}};
  write_file_atomically((fs::path(to) / "config.json").string(), config.dump(2) + "\n");
  const fs::path generation = fs::path(from) / "generation_config.json";
  if (fs::exists(generation)) {
    write_file_atomically((fs::path(to) / generation.filename()).string(), read_text(generation.string()));
  }
  write_safetensors((fs::path(to) / "model.safetensors").string(), tensors, {{"format", "pt"}});
  return result;
}

}  // namespace heed::models
