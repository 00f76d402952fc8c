// The training steps that `heed bench train` times, on made-up ids with the lengths of real sentences.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heed/nn/context.h"
#include "heed/tensor/ops.h"
#include "heed/train/optimizer.h"

namespace heed::cli {

struct Workload {
  std::string unit;                  // "tokens" or "images"
  std::vector<double> count, flops;  // of each batch
  std::function<LossResult(size_t batch, const nn::Context&)> loss;
  std::shared_ptr<const nn::Parameters> parameters;
  train::OptimizerConfig optimizer;
  double learning_rate = 1e-4;
};

// tiny, base, chargpt, gpt2 or vit.
Workload training_workload(const std::string& preset, uint64_t seed);
const std::vector<std::string>& workload_names();

// Lengths of 16 batches of Multi30k's sentence pairs, one "source:target ..." a line (made by bench/peers).
const char* batch_lengths(const std::string& preset);

}  // namespace heed::cli
