#include "heed/train/metric.h"

#include "heed/base/error.h"

namespace heed::train {

void check_same_length(const char* metric, size_t hypotheses, size_t references) {
  if (hypotheses != references) {
    fail("[{}] {} hypotheses for {} references, expected as many", metric, hypotheses, references);
  }
}

}  // namespace heed::train
