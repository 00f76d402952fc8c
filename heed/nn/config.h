// What a stack of Transformer blocks is made of. Plain numbers, checked once by check().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/kernels/activation.h"

namespace heed::nn {

enum class NormKind { kLayer, kRms, kNone };
enum class NormPlace { kPre, kPost };  // x + f(norm(x)), or norm(x + f(x)) as in the paper
enum class PositionKind { kNone, kSinusoidal, kLearned, kRotary, kAlibi, kT5 };

// How rotary positions reach beyond the length that a model was trained for: all frequencies are divided by the factor,
// or those of slow pairs alone, as LLaMA 3 has it.
enum class RotaryScaling { kNone, kLinear, kLlama3 };

struct RotaryScale {
  RotaryScaling kind = RotaryScaling::kNone;
  double factor = 1;
  // LLaMA 3: how often a pair turns within the original length; below it is slow, above it is fast.
  double low_frequency_factor = 1, high_frequency_factor = 4;
  int64_t original_length = 8192;
};

struct PositionConfig {
  PositionKind kind = PositionKind::kSinusoidal;
  int64_t max_length = 512;  // rows of a learned table; the others grow as needed
  bool halves = false;       // sinusoidal: all sines before all cosines, as Marian lays them
  double rotary_base = 10000;
  bool rotary_interleaved = false;
  RotaryScale rotary_scale = {};
  int64_t t5_buckets = 32, t5_max_distance = 128;
};

struct DropoutConfig {
  float residual = 0, attention = 0, activation = 0, embedding = 0;
};

// Which linear maps have a bias, where a stack has biases at all.
struct BiasConfig {
  bool attention_in = true, attention_out = true, feed_forward = true;
  bool all() const { return attention_in && attention_out && feed_forward; }
};

struct StackConfig {
  int64_t layers = 6, d_model = 512, heads = 8, d_ff = 2048;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;  // 0: d_model / heads
  NormKind norm = NormKind::kLayer;
  NormPlace norm_place = NormPlace::kPre;
  bool final_norm = true;
  float norm_eps = 1e-5f;
  kernels::Activation activation = kernels::Activation::kRelu;
  bool gated = false;  // GEGLU, SwiGLU: act(gate) * up
  bool bias = true;
  BiasConfig biases = {};
  bool norm_bias = true;
  bool weights_in_out = false;  // weights stored (in, out), as in GPT-2
  float init_deviation = 0;     // normal with this deviation; 0: Xavier uniform
  PositionConfig positions;
  DropoutConfig dropout;
  // What an experiment may remove.
  bool with_attention = true, with_cross_attention = true, with_feed_forward = true, with_residual = true;

  int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  int64_t head_size() const { return head_dim ? head_dim : d_model / heads; }
  void check(bool bidirectional) const;  // an error where it describes no stack
};

// Names as written in configs and flags; an unknown one is an error with the nearest.
PositionKind position_kind(const std::string& name);
const std::vector<std::string>& position_kind_names();
std::string name_of(PositionKind kind);

}  // namespace heed::nn
