// A model's parameters as tensors of a file, under the file's names.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heed/io/sharded_tensors.h"
#include "heed/nn/parameters.h"

namespace heed::models {

// Where a parameter lies in files: the first of `names` that is there. The name that is written is the first.
struct StoredAs {
  std::vector<std::string> names;
  bool leading_one = false;  // stored (1, n) for (n)
  bool may_be_missing = false;
  bool in_out = false;          // a matrix is stored (in, out), as GPT-2's are
  int64_t part = 0, parts = 1;  // its outputs are this part of so many equal ones: q, k and v in one tensor
};
using Naming = std::function<StoredAs(const std::string& ours)>;
Naming heed_names();

// A piece of a name as heed and as published files have it, with the outputs that such a tensor is there.
struct NamePart {
  const char *ours, *theirs;
  int64_t part = 0, parts = 1;
};
// `ours` with every piece of the table replaced, in its order.
StoredAs renamed(std::string ours, std::span<const NamePart> table);

// How a file holds a model: names, what else may be in it, and whether the model holds its linear maps as (in, out).
struct WeightsLayout {
  Naming naming;
  std::function<bool(const std::string&)> ignored = [](const std::string&) { return false; };
  bool model_in_out = false;
};
// What is missing, unexpected or misshapen is one error that lists it. Needs no memory for the parameters yet.
void check_weights(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout);
// Matrices that only products and tables of tokens read stay in the file, which lives as long as they do; those that the
// file holds in another order or as F64 do not. Their numbers are not looked at: that would read all of the file.
enum class Leave { kAll, kPlain };  // kPlain: not those that are quantised
// in_halves: how products with those stored (in, out) sum.
void leave_stored(const std::shared_ptr<const ShardedTensors>& file, const nn::Parameters& parameters,
                  const WeightsLayout& layout, Leave leave = Leave::kAll, bool in_halves = false);
// Whether the file has the linear maps as (in, out), as GPT-2's do.
bool stored_in_out(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout);
// The tensors that hold matrices of products, each once.
struct MatrixInFile {
  const StoredTensor* tensor;
  int64_t out, in;
  bool in_out;         // how it lies
  bool is_table;       // of tokens
  bool fits_in_tiles;  // else its sizes do not allow it to be quantised
  // The parameters whose outputs it holds one after the other: q, k and v may be in one.
  std::vector<std::string> parameters;
};
std::vector<MatrixInFile> matrices_of_products(const ShardedTensors& file, const nn::Parameters& parameters,
                                               const WeightsLayout& layout);
// A matrix of 8 or 4 bits in a file: U8, tiles by groups by bytes (kernels/quantised.h), always (out, in).
bool is_tiles(const StoredTensor& tensor);
std::vector<int64_t> tiles_shape(int64_t out, int64_t in, int64_t tile_bytes);

// Checks, then reads every parameter that has not been left; one that holds NaN or infinity is an error with its name.
void read_weights(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout);

// Tensors on their way to a file, with the numbers that are no parameter's own.
class TensorsToWrite {
 public:
  // The parameters must outlive the list.
  void add(const nn::Parameters& parameters, const WeightsLayout& layout);
  void add(const std::string& name, std::vector<int64_t> shape, std::vector<float> numbers);
  const std::vector<TensorToWrite>& list() const { return list_; }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, const float* numbers);
  std::vector<TensorToWrite> list_;
  std::deque<std::vector<float>> owned_;
};

}  // namespace heed::models
