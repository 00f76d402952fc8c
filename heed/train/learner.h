// What a run trains: a model with its data. The trainer steps through it without knowing of which kind it is.
#pragma once

#include <cstdint>
#include <string>

#include "heed/nn/context.h"
#include "heed/nn/parameters.h"
#include "heed/tensor/ops.h"
#include "heed/train/observer.h"

namespace heed::train {

struct BatchSize {
  int64_t rows = 0;    // tokens that are predicted
  int64_t tokens = 0;  // that are read or predicted
  uint32_t sequences = 0;
};
struct BatchLoss {
  double loss = 0, nll = 0;
};

class Learner {
 public:
  virtual ~Learner() = default;
  virtual const nn::Parameters& parameters() const = 0;
  virtual std::string identity() const = 0;  // of the data: must be the same when a run goes on

  // How many batches an epoch has; which they are is a pure function of seed and epoch. The next four speak of the epoch
  // that was asked for last.
  virtual int64_t batches(int64_t epoch) = 0;
  virtual BatchSize size_of(int64_t batch) const = 0;
  // The loss of a batch; its gradients are added up. first_id numbers its sequences within the step, so that dropout does
  // not depend on how a step is cut into batches.
  virtual BatchLoss learn(int64_t batch, const LossArgs& args, const nn::Context& context, uint32_t first_id) = 0;
  virtual std::string begin_of(int64_t batch) const = 0;  // for messages
  // About as many as any epoch has, by the size of the data alone.
  virtual int64_t usual_batches() const = 0;

  virtual bool validates() const = 0;
  virtual void measure(ValidationReport& report) = 0;   // with what the parameters hold now
  virtual void publish(const std::string& folder) = 0;  // the same, as a model directory
};

}  // namespace heed::train
