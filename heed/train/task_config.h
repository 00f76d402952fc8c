// What the config of one task has of its own; config.cpp has what all share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heed/train/config.h"

namespace heed::train {

struct TaskConfig {
  const char* name;
  TrainConfig (*defaults)();
  std::vector<ConfigField> (*fields)(TrainConfig& config);        // of data, text and model
  std::vector<ConfigField> (*valid_fields)(TrainConfig& config);  // of valid
  void (*check)(const TrainConfig& config);                       // the files are named, and go together
  bool (*validates)(const TrainConfig::Data& data);               // there is data to validate with
  // The preset by the data and the machine, and what it fills; says what it chose and why.
  std::string (*resolve)(TrainConfig& config, int64_t amount, const Machine& machine);
  models::ModelConfig (*model)(const TrainConfig& config, int64_t source_vocabulary, int64_t vocabulary);
};
const TaskConfig& translator_task_config();
const TaskConfig& lm_task_config();
const TaskConfig& pixel_task_config();

void check_task(const TrainConfig& config);  // as the task of the config does
// Where no limit was given, and there is something to lose patience with: fills valid.patience; how to say it, or "".
std::string usual_patience(TrainConfig& config);

// Where none is said: AdamW's, and none of the others.
void fill_weight_decay(TrainConfig::Run& t, double of_adamw);

// What a config with model.from may not say, since that model has its own: keys, and whether they are said.
using SaidKeys = std::vector<std::pair<const char*, bool>>;
void check_from(const TrainConfig& config, const SaidKeys& own);
// Sizes of that model: where the config says any, it says the same.
struct SizeOfModel {
  const char* key;
  int64_t* said;
  int64_t has;
};
void take_sizes(const std::string& from, const std::vector<SizeOfModel>& sizes);

// Puts what the preset says where nothing is said.
template <class T>
void fill(T& value, T otherwise) {
  if (value <= 0) value = otherwise;
}
inline void fill(std::string& value, const char* otherwise) {
  if (value.empty()) value = otherwise;
}

}  // namespace heed::train
