#include <utility>

#include "heed/tensor/ops.h"

namespace heed {
namespace {
thread_local Precision precision_now = Precision::kF32;
}

PrecisionScope::PrecisionScope(Precision precision) : before_(std::exchange(precision_now, precision)) {}
PrecisionScope::~PrecisionScope() { precision_now = before_; }
Precision current_precision() { return precision_now; }

}  // namespace heed
