#include "heed/train/schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heed/base/error.h"

namespace heed::train {
namespace {

void check(const Schedule& s, int64_t step) {
  if (step < 1) fail("[schedule] step {}: expected 1 or more", step);
  if (s.warmup < 0) fail("[schedule] warmup {}: expected 0 or more", s.warmup);
  if (s.kind == ScheduleKind::kPaper) {
    if (s.d_model < 1) fail("[schedule] d_model {}: expected 1 or more", s.d_model);
    return;
  }
  if (!std::isfinite(s.peak) || !std::isfinite(s.minimum) || s.minimum < 0 || s.peak < s.minimum) {
    fail("[schedule] peak {} and minimum {}: expected 0 <= minimum <= peak", s.peak, s.minimum);
  }
  if (needs_total_steps(s.kind) && s.total_steps <= s.warmup) {
    fail("[schedule] {} steps with a warm-up of {}: expected more steps than warm-up", s.total_steps, s.warmup);
  }
}

}  // namespace

double learning_rate(const Schedule& s, int64_t step) {
  check(s, step);
  const auto at = static_cast<double>(step), warmup = static_cast<double>(s.warmup);
  if (s.kind == ScheduleKind::kPaper) {
    const double falling = 1 / std::sqrt(at);
    const double rising = s.warmup > 0 ? at / (warmup * std::sqrt(warmup)) : falling;
    return std::min(falling, rising) / std::sqrt(static_cast<double>(s.d_model));
  }
  if (step < s.warmup) return s.peak * at / warmup;
  if (s.kind == ScheduleKind::kConstant) return s.peak;
  if (s.kind == ScheduleKind::kSqrt) return std::max(s.minimum, s.peak * std::sqrt(std::max(1.0, warmup) / at));
  const double done = std::min(1.0, (at - warmup) / (static_cast<double>(s.total_steps) - warmup));
  const double left = s.kind == ScheduleKind::kLinear ? 1 - done : (1 + std::cos(std::numbers::pi * done)) / 2;
  return s.minimum + (s.peak - s.minimum) * left;
}

bool needs_total_steps(ScheduleKind kind) { return kind == ScheduleKind::kCosine || kind == ScheduleKind::kLinear; }

const std::vector<std::string>& schedule_kinds() {
  static const std::vector<std::string> names = {"paper", "cosine", "linear", "constant", "sqrt"};
  return names;
}

ScheduleKind schedule_kind(std::string_view name) {
  const std::vector<std::string>& names = schedule_kinds();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<ScheduleKind>(i);
  }
  const std::string near = nearest(name, names);
  if (!near.empty()) fail("[schedule] unknown kind '{}': did you mean '{}'?", name, near);
  fail("[schedule] unknown kind '{}': expected {}", name, fmt::join(names, ", "));
}

}  // namespace heed::train
