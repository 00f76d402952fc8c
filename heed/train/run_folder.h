// The folder of a run: who may write it, and what lies in it already.
#pragma once

#include <string>

#include "heed/io/file_descriptor.h"
#include "heed/train/config.h"

namespace heed::train {

// One process at a time: the lock goes with it, also when it is killed.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);

 private:
  FileDescriptor file_;
};

// A fresh MODEL: refuses one that exists unless it may be overwritten, and then clears what a model directory holds.
// Anything else in the folder stays.
void make_fresh(const std::string& model, bool overwrite);

// Keys in which a resumed run may differ: when it ends, and what it keeps. The others are an error that names them all.
void check_same_run(const TrainConfig& before, const TrainConfig& now);

// Sizes and hashes of the files of a config, one line each.
std::string data_fingerprint(const TrainConfig& config);

}  // namespace heed::train
