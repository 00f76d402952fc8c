// The folder of a run: who may write it, and what lies in it already.
#pragma once

#include <string>
#include <vector>

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
// Removes what heed writes into a model directory but for the lock and what is staged. Anything else in the folder stays.
void clear_model(const std::string& model);

// The data of a run is made in a folder of its own, so that a request that cannot be met costs nothing that was there.
std::string staging_of(const std::string& model);
// Puts what is staged in its place: stores beside the checkpoints, the rest into the model directory.
void take_staged(const std::string& model);

// Folders that are there only for this run: unless it is kept, those that were not there before go again, as far as
// nothing else lies in them.
class NewFolders {
 public:
  explicit NewFolders(const std::string& model);
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  void keep() { kept_ = true; }

 private:
  std::string model_;
  std::vector<std::string> new_;  // the deepest first
  bool kept_ = false;
};

// Keys in which a resumed run may differ: when it ends, and what it keeps. The others are an error that names them all.
void check_same_run(const TrainConfig& before, const TrainConfig& now);

// Sizes and hashes of the files of a config, one line each.
std::string data_fingerprint(const TrainConfig& config);
// The files of `now` that are not as in `before`, for a message.
std::string changed_files(const std::string& before, const std::string& now);

}  // namespace heed::train
