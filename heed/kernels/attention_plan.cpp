#include "heed/kernels/attention_plan.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::kernels {
namespace {

int64_t rows_of(const int32_t* offsets, int64_t sequence) { return offsets[sequence + 1] - offsets[sequence]; }

int64_t pieces(int64_t rows, int64_t longest) { return std::max<int64_t>(1, (rows + longest - 1) / longest); }

int64_t count_spans(const int32_t* offsets, int64_t sequences, int64_t longest) {
  int64_t n = 0;
  for (int64_t s = 0; s < sequences; ++s) n += pieces(rows_of(offsets, s), longest);
  return n;
}

}  // namespace

WorkSpans::WorkSpans(const int32_t* offsets, int64_t sequences, int64_t longest)
    : size_(count_spans(offsets, sequences, longest)), spans_(size_) {
  int64_t n = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t rows = rows_of(offsets, s);
    // Backwards: under a causal mask the last rows are the longest work, and that should start first.
    for (int64_t i = pieces(rows, longest) - 1; i >= 0; --i) {
      spans_[n++] = {s, i * longest, std::min(rows, (i + 1) * longest)};
    }
  }
}

int64_t longest_of(const int32_t* offsets, int64_t sequences) {
  int64_t longest = 0;
  for (int64_t s = 0; s < sequences; ++s) longest = std::max(longest, rows_of(offsets, s));
  return longest;
}

void check_attention(const Attention& a) {
  if (a.heads <= 0 || a.kv_heads <= 0 || a.heads % a.kv_heads != 0) {
    fail("[attention] {} heads cannot share {} key heads: expected a multiple", a.heads, a.kv_heads);
  }
  if (a.D <= 0 || a.Dv <= 0) fail("[attention] sizes of a head: {} and {}, expected at least 1", a.D, a.Dv);
  if (!(a.dropout.p >= 0 && a.dropout.p < 1)) fail("[attention] dropout {}: expected 0 <= p < 1", a.dropout.p);
  if (a.relative && a.relative_count <= 0) fail("[attention] relative bias: an empty table");
}

void for_pieces(const Attention& a, int64_t n, FunctionRef<void(int64_t, int64_t)> body) {
  constexpr int64_t kWorthThreads = int64_t{1} << 15;  // multiply-adds
  int64_t pairs = 0;
  for (int64_t s = 0; s < a.sequences; ++s) pairs += rows_of(a.q_offsets, s) * rows_of(a.k_offsets, s);
  if (pairs * a.heads * (a.D + a.Dv) < kWorthThreads) {
    if (n > 0) body(0, n);
    return;
  }
  parallel_for(n, std::clamp<int64_t>(n / (32 * num_threads()), 1, 16), body);
}

}  // namespace heed::kernels
