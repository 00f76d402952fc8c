// What a run tells while it goes. The library itself never prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed::train {

struct StepReport {
  int64_t step = 0, epoch = 0;     // both counted from 1
  int64_t batch = 0, batches = 0;  // done and in all, of the epoch
  double loss = 0;                 // of the labels as they are smoothed, per token
  double perplexity = 0;           // of the plain labels
  double learning_rate = 0, gradient_norm = 0;
  double tokens_per_second = 0;  // read or predicted, lately
  double seconds = 0;            // of the run so far, with validations and saves
  double seconds_left = -1;      // -1: not known
};

struct SampleTranslation {
  std::string source, reference, translation;
};
struct ValidationReport {
  int64_t step = 0, epoch = 0;  // of the last step, as StepReport counts them
  double loss = 0, perplexity = 0;
  double bleu = -1, chrf = -1;  // -1: not computed
  double bits_per_byte = -1;    // of a language model
  double bits_per_dim = -1;     // of a model of images: by quantised pixel
  bool best = false;
  double seconds = 0;  // that it took
  std::vector<SampleTranslation> samples;
  std::vector<std::string> texts;  // that a language model wrote
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepReport&) {}
  virtual void on_validation(const ValidationReport&) {}
  virtual void on_saved(int64_t /*step*/, const std::string& /*path*/) {}
  virtual void on_message(const std::string&) {}
  // Of a stage before training ("tokenizing"), 0 to 1.
  virtual void on_progress(const std::string& /*stage*/, double /*share*/) {}
};

}  // namespace heed::train
