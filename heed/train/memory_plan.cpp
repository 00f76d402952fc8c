#include "heed/train/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "heed/base/error.h"
#include "heed/base/memory.h"
#include "heed/models/activation_count.h"
#include "heed/models/parameter_count.h"

namespace heed::train {
namespace {

// Weights, gradients, one or two moments and the moving average.
int64_t bytes_to_train(const TrainConfig& config, int64_t parameters) {
  const int64_t moments = config.train.optimizer == "sgd" ? 1 : 2, averages = config.train.average_decay > 0;
  return int64_t{sizeof(float)} * (2 + moments + averages) * parameters;
}

double gigabytes(int64_t bytes) { return 1e-9 * static_cast<double>(bytes); }

}  // namespace

void check_memory(const TrainConfig& config) {
  constexpr int64_t kFewest = 1000;
  const int64_t vocabulary = std::max(kFewest, config.text.vocabulary);
  const int64_t parameters = models::parameter_parts(model_config(config, vocabulary, vocabulary)).total();
  const bool adapts = config.model.adapts();  // what an adapter is trained beside has weights alone
  const int64_t needed = adapts ? int64_t{sizeof(float)} * parameters : bytes_to_train(config, parameters);
  if (needed > physical_memory()) {
    fail_file("[train] the weights{} need {:.0f} GB, this machine has {:.0f} GB",
              adapts ? "" : ", their gradients and moments", gigabytes(needed), gigabytes(physical_memory()));
  }
}

std::string plan_memory(TrainConfig& config, int64_t parameters, int64_t available) {
  std::string& choice = config.train.activation_checkpointing;
  if (choice != "auto") return "";
  constexpr int64_t kNoMatter = 8;      // the vocabulary: logits are not kept
  constexpr double kComfortable = 0.8;  // of what is free: gradients on their way and the operating system need some
  const models::ModelConfig shape = model_config(config, kNoMatter, kNoMatter);
  const int64_t tokens = std::max(config.train.batch_tokens, config.model.context);  // a block is never cut
  const int64_t kept = models::kept_activations(shape, tokens);
  const int64_t needed = bytes_to_train(config, parameters) + int64_t{sizeof(float)} * kept;
  choice = static_cast<double>(needed) > kComfortable * static_cast<double>(available) ? "on" : "off";
  if (choice == "off") return "";
  return fmt::format(
      "activation checkpointing: a step would need about {:.1f} GB and {:.1f} GB are free; blocks are computed twice "
      "instead of kept, to the same bits",
      gigabytes(needed), gigabytes(available));
}

}  // namespace heed::train
