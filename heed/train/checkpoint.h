// Everything that a run needs to go on as if it had never stopped, in one file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "heed/io/safetensors.h"

namespace heed::train {

// Where a run is.
struct RunState {
  int64_t step = 0;              // updates done
  int64_t epoch = 0, batch = 0;  // the next batch
  int64_t tokens = 0;            // of source and target so far
  int64_t skipped = 0;           // steps whose loss was no number
  int64_t bad_steps = 0;         // of these, those on end up to now
  double seconds = 0;            // of steps, validations and saves
  int64_t metrics_bytes = 0;     // of the log that belong to the steps so far
  // Validation.
  double best = 0, best_loss = 0;  // of the model that was published
  int64_t best_step = -1, validations_since_best = 0;
  int64_t validated_step = -1;  // the last one that was
  // What patience compares with: without a validation that only a limit brought, so that a run with more steps goes on as
  // if it had always had them.
  double best_due = std::numeric_limits<double>::lowest(), lowest_loss = std::numeric_limits<double>::max();
  std::string written_by;                                   // as this_writer() says; "" where a file does not tell
  bool best_by_loss() const { return best == -best_loss; }  // losses are compared as their negatives: more is better
  // The epoch of the last step, counted from 1; 0 before the first.
  int64_t epoch_of_step() const { return epoch + (batch > 0); }
  bool operator==(const RunState&) const = default;
};
// The version, and what of the CPU changes bits: f32 has the same ones on every kind, native bf16 products have not.
std::string this_writer();

// The arrays of a run, all as long as the arena of parameters.
struct RunArrays {
  int64_t size = 0;
  float* weights = nullptr;
  std::vector<float*> moments;
  float* average = nullptr;  // null: none is kept
};

// Regular ones come at fixed steps and may be averaged; one that a stop left behind, or that was saved between two that
// are far apart, only serves to go on.
enum class CheckpointKind { kRegular, kStopped };
struct CheckpointFile {
  int64_t step;
  CheckpointKind kind;
  std::string path;
};
// Those of a folder, the newest first; of one step, the one that a stop left is the newer. Files that are no checkpoints are left out.
std::vector<CheckpointFile> checkpoints_in(const std::string& folder);
std::string checkpoint_path(const std::string& folder, int64_t step, CheckpointKind kind);

// identity: what must be the same on resume (shape of the model, data); given back as it was.
void write_checkpoint(const std::string& path, const RunState& state, const RunArrays& arrays,
                      const std::string& identity);
// Checks everything, the numbers against their fingerprint too, before it writes a number into the arrays.
RunState read_checkpoint(const std::string& path, const RunArrays& arrays, const std::string& identity);
// The same of a file that is open; `label` stands for its name in messages.
RunState take_checkpoint(const SafeTensors& file, const std::string& label, const RunArrays& arrays,
                         const std::string& identity);
// The weights alone (of the average where one is kept), added to `sum`.
void add_checkpoint_weights(const std::string& path, std::vector<double>& sum);

}  // namespace heed::train
