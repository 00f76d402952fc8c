// The data of a run: what is made of the files of its config, and opened again to learn from. The trainer sees the learner
// alone.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "heed/base/error.h"
#include "heed/train/learner.h"
#include "heed/train/preparation.h"
#include "heed/train/run_folder.h"

namespace heed::train {

class Task {
 public:
  virtual ~Task() = default;
  // Reads everything once and tells what it found; the amount is what resolve_config() goes by.
  virtual int64_t survey(const TrainConfig& config, const Preparation& preparation) = 0;
  // Tokenizers and stores, into the staging folder.
  virtual void stage(const TrainConfig& config, const Preparation& preparation) = 0;
  // What stage() made, once it is in its place.
  virtual void open(const TrainConfig& config) = 0;
  // Of what is open; the task outlives it.
  virtual std::unique_ptr<Learner> learner(const TrainConfig& config) const = 0;
  virtual std::string description() const = 0;  // "29,000 pairs, 400,000 source and 420,000 target tokens"
};
std::unique_ptr<Task> make_translator_task();
std::unique_ptr<Task> make_lm_task();
std::unique_ptr<Task> make_pixel_task();
std::unique_ptr<Task> make_task(const TrainConfig& config);

// With the ids as they were written: others would be trained on without a word.
template <class Store>
Store open_whole(const RunPaths& paths, const char* name) {
  const std::string path = paths.in_training(name);
  Store store = Store::open(path);
  if (!store.intact()) {
    fail_file("[store] '{}' is damaged: its ids do not give its fingerprint; without '{}', --resume makes it again",
              path, prepared_mark(paths.model));
  }
  return store;
}

// Those of the model to go on from, into the staging folder.
void stage_tokenizer_files(const std::string& from, const std::string& staging);

// What the tokenizer left out, with places, and what it does not know.
void tell_store(const std::string& left_out, int64_t unknown, int64_t tokens, Observer& observer);

}  // namespace heed::train
