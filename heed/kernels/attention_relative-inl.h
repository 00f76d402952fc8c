// Gradients of relative biases, gathered by sequence and head and added in that order.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_ATTENTION_RELATIVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_RELATIVE_INL_H_
#undef HEED_KERNELS_ATTENTION_RELATIVE_INL_H_
#else
#define HEED_KERNELS_ATTENTION_RELATIVE_INL_H_
#endif

#include <algorithm>

#include "heed/base/buffer.h"
#include "heed/kernels/attention_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// One table a sequence and head, of the entries that the sequence reaches and no others: all of them together grow with
// the tokens, however long the longest sequence is.
class RelativeTables {
 public:
  RelativeTables(const Attention& a, bool wanted)
      : a_(a), starts_(a.sequences + 1), floats_(place_tables(wanted)), memory_(floats_) {
    std::fill_n(memory_.data(), floats_, 0.0f);
  }

  // The sums along a line of the head are added to its table, distances in order.
  void fold_line(const Head& h, const float* dline) const {
    const Reach reach = reach_of(h);
    float* table = memory_.data() + starts_[h.sequence] + h.head * reach.entries;
    for (int64_t i = 0; i < h.nq + h.nk - 1; ++i) {
      table[relative_entry(a_, h.nk - 1 - i - h.shift) - reach.first] += dline[i];
    }
  }

  // Sequence by sequence.
  void add_to(float* drelative) const {
    for (int64_t s = 0; s < a_.sequences; ++s) {
      const Reach reach = reach_of(head_of(a_, s, 0));
      for (int64_t head = 0; head < a_.heads; ++head) {
        const float* table = memory_.data() + starts_[s] + head * reach.entries;
        float* to = drelative + reach.first * a_.heads + head;
        for (int64_t e = 0; e < reach.entries; ++e) to[e * a_.heads] += table[e];
      }
    }
  }

 private:
  struct Reach {
    int64_t first, entries;
  };
  Reach reach_of(const Head& h) const {
    if (h.nq + h.nk <= 1) return {0, 0};
    const int64_t first = relative_entry(a_, 1 - h.nq - h.shift), last = relative_entry(a_, h.nk - 1 - h.shift);
    return {first, last - first + 1};
  }
  int64_t place_tables(bool wanted) const {
    starts_[0] = 0;
    for (int64_t s = 0; s < a_.sequences; ++s) {
      starts_[s + 1] = starts_[s] + (wanted ? reach_of(head_of(a_, s, 0)).entries * a_.heads : 0);
    }
    return starts_[a_.sequences];
  }

  const Attention& a_;
  const Scratch<int64_t> starts_;
  const int64_t floats_;
  const Scratch<float> memory_;
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
