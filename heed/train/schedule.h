// The learning rate of every step: a linear warm-up, then one of five ways on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::train {

enum class ScheduleKind { kPaper, kCosine, kLinear, kConstant, kSqrt };  // sqrt: peak * sqrt(warmup / step)

struct Schedule {
  ScheduleKind kind = ScheduleKind::kPaper;
  double peak = 1e-3;       // the rate when the warm-up ends; the paper's follows from d_model and warmup
  int64_t d_model = 512;    // read by the paper's alone
  int64_t warmup = 4000;    // steps; 0: none
  int64_t total_steps = 0;  // where cosine and linear arrive at the minimum, and stay
  double minimum = 0;
};

// Of step 1, 2, 3, ... The paper's: d_model^-0.5 * min(step^-0.5, step * warmup^-1.5).
double learning_rate(const Schedule& schedule, int64_t step);

// "paper", "cosine", "linear", "constant", "sqrt"; an unknown name fails with the nearest of them.
ScheduleKind schedule_kind(std::string_view name);
const std::vector<std::string>& schedule_kinds();
bool needs_total_steps(ScheduleKind kind);

}  // namespace heed::train
