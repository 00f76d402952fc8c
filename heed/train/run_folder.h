// The folder of a run: who may write it, and what lies in it already.
#pragma once

#include <string>

#include "heed/io/file_descriptor.h"
#include "heed/train/config.h"

namespace heed::train {

// One process at a time: the lock goes with it, also when it is killed. Makes the folder where there is none.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);

 private:
  FileDescriptor file_;
};

// What may lie in a MODEL that a run begins with: nothing, what a run left that was killed before it wrote its config, or
// a model that it replaces.
enum class Existing { kNothing, kStarted, kOverwrite };
// Writes nothing.
void check_fresh(const std::string& model, Existing existing);
// Removes what heed writes into a model directory but for the lock. Anything else in the folder stays.
void clear_model(const std::string& model);

// Keys in which a resumed run may differ: when it ends, and what it keeps. The others are an error that names them all.
void check_same_run(const TrainConfig& before, const TrainConfig& now);

// Sizes and hashes of the files of a config, one line each.
std::string data_fingerprint(const TrainConfig& config);
// The files of `now` that are not as in `before`, for a message.
std::string changed_files(const std::string& before, const std::string& now);

}  // namespace heed::train
