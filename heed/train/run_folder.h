// The folder of a run: who may write it, and what lies in it already.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heed/io/file_descriptor.h"
#include "heed/train/config.h"

namespace heed::train {

// MODEL/training for one process at a time: the lock goes with it, also when it is killed. Makes the folder where there is
// none. Only who holds the lock may remove what is staged: it goes with the lock.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string folder_;
  FileDescriptor file_;
};

// What may lie in a MODEL that a run begins with: nothing, what a run left that was killed before it wrote its config, or
// a model that it replaces. A folder of something else is never replaced.
enum class Existing { kNothing, kStarted, kOverwrite };
// Writes nothing.
void check_fresh(const std::string& model, Existing existing);
// Whether a file or folder of this name belongs to a model directory; anything else in one is its owner's.
bool is_of_a_model(const std::string& name);
// Removes what heed writes into the config's model directory but for the lock, what is staged, data of the config that lies
// there, and train.toml, by which the folder is known as a model until the next config takes its place. Anything else in
// the folder stays.
void clear_model(const TrainConfig& config);

// Removes what saves left half-written that were killed. Only who holds the lock may.
void clear_temporaries(const std::string& model);

// The data of a run is made in a folder of its own, so that a request that cannot be met costs nothing that was there.
std::string staging_of(const std::string& model);
// Puts what is staged in its place: stores beside the checkpoints, the rest into the model directory.
void take_staged(const std::string& model);

// The folders of a model that were not there before: they go again where nothing lies in them at the end.
class NewFolders {
 public:
  explicit NewFolders(const std::string& model);
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

 private:
  std::vector<std::string> new_;  // the deepest first
};

// Data, base model and output as they are from any folder: what lies in MODEL starts the same run from anywhere.
TrainConfig with_absolute_paths(TrainConfig config);

// Keys in which a resumed run may differ: when it ends (unless the learning rate follows from that), and what it keeps. The
// others are an error that names them all.
void check_same_run(const TrainConfig& before, const TrainConfig& now);
void check_same_task(const TrainConfig& before, const TrainConfig& now);

// Every file of a config can be opened; none is read.
void check_data_files(const TrainConfig& config);
// Sizes and hashes of the files of a config, one line each. Where they are large, `at` is told now and then which share of
// all bytes is read; it may throw.
std::string data_fingerprint(const TrainConfig& config, const std::function<void(double share)>& at = {});
// The files of `now` that are not as in `before`, for a message.
std::string changed_files(const std::string& before, const std::string& now);

// The mark that the data of a run is ready, with its fingerprint.
std::string prepared_mark(const std::string& model);
// The mark that a run came to its end once: its model is not to be begun again by --resume.
std::string finished_mark(const std::string& model);
// For a run whose data would go: copies of its files, among what is staged. Files of one name would be one.
void stage_kept_data(const TrainConfig& config);
// Puts them into MODEL/training/data, and names those in the config.
void take_kept_data(TrainConfig& config);

}  // namespace heed::train
