#include "heed/nn/position_encoding.h"

#include <algorithm>
#include <bit>

#include "heed/base/error.h"
#include "heed/kernels/rotary.h"
#include "heed/nn/positions.h"

namespace heed::nn {
namespace {

// Tables that grow do so to the next power of two, so that they grow rarely.
int64_t room_for(int64_t longest) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(64, longest))));
}

}  // namespace

PositionEncoding::PositionEncoding(const Scope& scope, const StackConfig& config, bool bidirectional)
    : config_(config), bidirectional_(bidirectional) {
  if (config.positions.kind == PositionKind::kLearned) {
    learned_ = scope.declare("weight", {config.positions.max_length, config.d_model}, Init::normal(0.02f));
  }
  if (config.positions.kind == PositionKind::kT5) {
    learned_ = scope.declare("weight", {config.positions.t5_buckets, config.heads}, Init::normal(0.02f));
  }
  if (config.positions.kind == PositionKind::kAlibi) slopes_ = Tensor::from(alibi_slopes(config.heads), {config.heads});
}

Tensor PositionEncoding::table(int64_t longest) const {
  if (config_.positions.kind == PositionKind::kLearned) {
    if (longest > learned_.rows())
      fail("[positions] a sequence of {}: the learned table has {}", longest, learned_.rows());
    return learned_;
  }
  if (config_.positions.kind != PositionKind::kSinusoidal) return {};
  const std::lock_guard lock(tables_->lock);
  Tensor& sinusoids = tables_->sinusoids;
  if (!sinusoids || sinusoids.rows() < longest) {
    sinusoids = Tensor::empty({room_for(longest), config_.d_model});
    const auto fill = config_.positions.halves ? sinusoidal_halves : sinusoidal;
    fill(sinusoids.data(), sinusoids.rows(), config_.d_model);
  }
  return sinusoids;
}

Tensor PositionEncoding::rotate(const Tensor& x, int64_t heads, const Spans& spans) const {
  if (config_.positions.kind != PositionKind::kRotary) return x;
  return rotary(x, heads, rotary_table(spans.positions_end()), spans);
}

RotaryTable PositionEncoding::rotary_table(int64_t longest) const {
  const std::lock_guard lock(tables_->lock);
  RotaryTable& table = tables_->rotary;
  if (!table.cos || table.cos.rows() < longest) {
    const int64_t P = room_for(longest), D = config_.head_size();
    table = {Tensor::empty({P, D / 2}), Tensor::empty({P, D / 2}), config_.positions.rotary_interleaved};
    kernels::rotary_tables(table.cos.data(), table.sin.data(), P, rotary_frequencies(config_.positions, D));
  }
  return table;
}

const std::vector<int32_t>& PositionEncoding::buckets(int64_t room) const {
  const std::lock_guard lock(tables_->lock);
  std::vector<int32_t>& buckets =
      tables_->t5_buckets[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(room)))];
  for (int64_t d = 1 - room; d < room && static_cast<int64_t>(buckets.size()) < 2 * room - 1; ++d) {
    buckets.push_back(static_cast<int32_t>(
        t5_bucket(d, bidirectional_, config_.positions.t5_buckets, config_.positions.t5_max_distance)));
  }
  return buckets;
}

void PositionEncoding::bias_scores(AttentionArgs& args) const {
  args.slopes = slopes_;
  if (config_.positions.kind == PositionKind::kT5) {
    const int64_t room = room_for(std::max(args.q_spans.longest(), args.k_spans.longest()));
    args.relative = embedding(learned_, buckets(room));
    args.relative_first = 1 - room;
  }
}

}  // namespace heed::nn
