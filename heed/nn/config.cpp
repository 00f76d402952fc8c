#include "heed/nn/config.h"

#include <algorithm>

#include "heed/base/error.h"
#include "heed/nn/positions.h"

namespace heed::nn {
namespace {

void check_size(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most) fail("[model] {} is {}: expected {} to {}", name, value, least, most);
}

}  // namespace

void StackConfig::check(bool bidirectional) const {
  check_size("layers", layers, 0, 1000);
  check_size("d_model", d_model, 1, 1 << 20);
  check_size("heads", heads, 1, 1 << 14);
  check_size("d_ff", d_ff, 1, 1 << 22);
  check_size("head_dim", head_dim, 0, 1 << 14);
  check_size("max_length", positions.max_length, 1, int64_t{1} << 30);
  check_size("t5_buckets", positions.t5_buckets, 2, 1 << 16);
  check_size("t5_max_distance", positions.t5_max_distance, 1, int64_t{1} << 30);
  if (positions.kind == PositionKind::kT5) check_t5(bidirectional, positions.t5_buckets, positions.t5_max_distance);
  if (!(positions.rotary_base > 0 && positions.rotary_base < 1e15))
    fail("[model] rotary_base is {}: expected 0 to 1e15", positions.rotary_base);
  const RotaryScale& scale = positions.rotary_scale;
  if (!(scale.factor > 0 && scale.factor <= 1e6)) fail("[model] rotary factor is {}: expected 0 to 1e6", scale.factor);
  if (!(scale.low_frequency_factor > 0 && scale.high_frequency_factor > scale.low_frequency_factor &&
        scale.high_frequency_factor <= 1e6)) {
    fail("[model] rotary frequency factors are {} and {}: expected 0 < low < high", scale.low_frequency_factor,
         scale.high_frequency_factor);
  }
  check_size("rotary original_length", scale.original_length, 1, int64_t{1} << 30);
  if (!(norm_eps >= 0 && norm_eps <= 1)) fail("[model] norm_eps is {}: expected 0 to 1", norm_eps);
  if (!head_dim && d_model % heads != 0) {
    fail("[model] {} features by {} heads: d_model must be divisible by heads", d_model, heads);
  }
  if (key_heads() < 0 || heads % key_heads() != 0) {
    fail("[model] {} heads over {} key heads: expected a divisor of heads", heads, kv_heads);
  }
  if (positions.kind == PositionKind::kRotary && head_size() % 2 != 0) {
    fail("[model] rotary positions turn pairs of features: a head has {}, expected an even number", head_size());
  }
  for (const float p : {dropout.residual, dropout.attention, dropout.activation, dropout.embedding}) {
    if (!(p >= 0 && p < 1)) fail("[model] dropout is {}: expected 0 <= p < 1", p);
  }
}

const std::vector<std::string>& position_kind_names() {
  static const std::vector<std::string> names = {"none", "sinusoidal", "learned", "rotary", "alibi", "t5"};
  return names;
}

std::string name_of(PositionKind kind) { return position_kind_names()[static_cast<size_t>(kind)]; }

PositionKind position_kind(const std::string& name) {
  const auto& names = position_kind_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) fail("[positions] unknown kind '{}'{}", name, nearest_is(name, names));
  return static_cast<PositionKind>(it - names.begin());
}

}  // namespace heed::nn
