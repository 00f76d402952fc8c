// Keys in more than one panel (kPanel of attention_scores-inl.h: 2,048), and keys that are rows of a cache.
#include <gtest/gtest.h>

#include "heed/base/threads.h"
#include "heed/kernels/attention_testing.h"

namespace heed::kernels {
namespace {

constexpr int kPanelKeys = 2048;

struct Forward {
  Floats out;
  std::vector<SoftmaxRow> softmax;
};

// A case whose keys lie anywhere in a cache, some rows in several sequences.
struct Cached {
  Case c;
  Floats k, v;  // the cache
  std::vector<int32_t> rows;

  Cached(const std::vector<int>& nq, const std::vector<int>& nk, const std::vector<int64_t>& sizes, uint64_t seed)
      : c(nq, nk, sizes, seed) {
    Random random(seed, 8);
    const int64_t cache = c.Tk() / 2 + 5;
    k = random_floats(random, cache * c.k_ld), v = random_floats(random, cache * c.v_ld);
    for (int64_t j = 0; j < c.Tk(); ++j) {
      const auto row = static_cast<int64_t>(random.below(static_cast<uint64_t>(cache)));
      rows.push_back(static_cast<int32_t>(row));
      std::copy_n(k.begin() + row * c.k_ld, c.k_ld, c.k.begin() + j * c.k_ld);
      std::copy_n(v.begin() + row * c.v_ld, c.v_ld, c.v.begin() + j * c.v_ld);
    }
  }
  Attention gathering() const {
    Attention a = c.a;
    a.k_rows = rows.data();
    return a;
  }
  Forward forward(const Attention& a, Which which) const {
    Forward f{Floats(static_cast<size_t>(c.Tq() * c.out_ld()), 7.0f),
              std::vector<SoftmaxRow>(static_cast<size_t>(c.Tq() * a.heads))};
    const Heads keys{a.k_rows ? k.data() : c.k.data(), c.k_ld}, values{a.k_rows ? v.data() : c.v.data(), c.v_ld};
    const AttentionForward args{c.heads_q(), keys, values, f.out.data(), c.out_ld(), f.softmax.data()};
    which == Which::kFast ? attention(a, args) : attention_reference(a, args);
    return f;
  }
  // The reference's numbers, and the bits of the same keys copied together.
  void expect_right(const std::string& what) const {
    const Forward got = forward(gathering(), Which::kFast);
    expect_near(got.out, forward(gathering(), Which::kReference).out, 1e-5, what);
    const Forward copied = forward(c.a, Which::kFast);
    EXPECT_TRUE(same_bits(got.out, copied.out)) << what;
    EXPECT_EQ(std::memcmp(got.softmax.data(), copied.softmax.data(), got.softmax.size() * sizeof(SoftmaxRow)), 0)
        << what;
  }
};

TEST(Attention, RowsOfACacheMatchTheReference) {
  const std::vector<std::vector<int64_t>> sizes{{1, 1, 16, 16}, {4, 2, 20, 7}, {3, 1, 1, 32}, {2, 2, 64, 64}};
  for (uint64_t number = 0; number < 24; ++number) {
    Cached cached({1, 5, 0, 70}, {33, 5, 9, 150}, sizes[number % 4], number);
    Random random(number, 3);
    cached.c.a.causal = number % 2;
    if (number % 3 == 0) cached.c.set_key_lengths(random);
    if (number % 3 == 1) cached.c.set_slopes();
    if (number % 5 == 0) cached.c.set_relative(random);
    if (number % 5 == 1) cached.c.set_mask(random, number % 2);
    if (number % 5 == 2) cached.c.set_dropout(random);
    cached.expect_right("case " + std::to_string(number));
  }
}

TEST(Attention, RowsOfACacheMatchTheReferenceOverSeveralPanels) {
  for (const bool causal : {false, true}) {
    for (const bool biased : {false, true}) {
      Cached cached({1, 3, 20, 140, 2}, {kPanelKeys + 1, 2 * kPanelKeys + 100, kPanelKeys, kPanelKeys + 60, 10},
                    {2, 1, 8, 20}, 6);
      Random random(4);
      cached.c.a.causal = causal;
      if (biased) cached.c.set_slopes(), cached.c.set_relative(random);
      cached.expect_right(std::string(causal ? "causal" : "full") + (biased ? ", biased" : ""));
      cached.c.key_lengths = {kPanelKeys, 2 * kPanelKeys + 1, kPanelKeys - 1, kPanelKeys + 1, 0};
      cached.c.a.key_lengths = cached.c.key_lengths.data();
      cached.expect_right(std::string(causal ? "causal" : "full") + ", lengths" + (biased ? ", biased" : ""));
    }
  }
}

// What is seen of a cache, is what was seen of the keys in their own order.
TEST(Attention, WeightsOverRowsOfACacheAreThoseOfTheSameKeys) {
  Cached cached({3, 20}, {40, kPanelKeys + 70}, {4, 2, 12, 8}, 9);
  cached.c.a.causal = true;
  for (const int64_t sequence : {0, 1}) {
    const int64_t rows = cached.c.nq(sequence);
    Floats found(static_cast<size_t>(rows * cached.c.nk(sequence))), expected = found;
    attention_weights(
        cached.gathering(),
        {cached.c.heads_q(), {cached.k.data(), cached.c.k_ld}, sequence, 3, 0, rows, false, found.data()});
    attention_weights(cached.c.a,
                      {cached.c.heads_q(), cached.c.heads_k(), sequence, 3, 0, rows, false, expected.data()});
    EXPECT_TRUE(same_bits(found, expected)) << sequence;
  }
}

TEST(Attention, KeyLengthsThatCrossAPanelMatchTheReference) {
  for (const bool causal : {false, true}) {
    for (const bool accumulate : {false, true}) {
      Case c({20, 4, 90, 1, 30}, {2 * kPanelKeys + 100, 2200, 2200, 2200, kPanelKeys}, {2, 1, 8, 20}, 12);
      c.a.causal = causal;
      c.key_lengths = {2 * kPanelKeys + 1, kPanelKeys + 1, kPanelKeys, kPanelKeys - 1, kPanelKeys};
      c.a.key_lengths = c.key_lengths.data();
      expect_near(run(c, Which::kFast, accumulate), run(c, Which::kReference, accumulate), 1e-5,
                  causal ? "causal" : "full");
    }
  }
}

// Few rows read the keys where they lie, many read copies.
TEST(Attention, FewAndManyQueriesOverSeveralPanelsMatchTheReference) {
  for (const int queries : {1, 2, 15, 17, 256, 257}) {
    Case c({queries}, {kPanelKeys + 130}, {1, 1, 16, 12}, 13);
    c.a.causal = queries % 2;
    expect_near(run(c, Which::kFast), run(c, Which::kReference), 1e-5, std::to_string(queries) + " queries");
  }
}

// Fewer heads than threads: the backward cuts its work by queries and by keys, which may end within a panel.
TEST(Attention, FewHeadsOverSeveralPanelsMatchTheReference) {
  set_num_threads(3);
  for (const bool causal : {false, true}) {
    Case c({300}, {2 * kPanelKeys + 40}, {1, 1, 8, 8}, 14);
    c.a.causal = causal;
    for (const int32_t seen : {2 * kPanelKeys + 40, kPanelKeys + 1, kPanelKeys - 1}) {
      c.key_lengths = {seen};
      c.a.key_lengths = c.key_lengths.data();
      expect_near(run(c, Which::kFast, causal), run(c, Which::kReference, causal), 1e-5,
                  (causal ? "causal " : "full ") + std::to_string(seen));
    }
  }
  set_num_threads(0);
}

// As decoding asks for them: the last rows of a cache alone, the same bits as in the run over all.
TEST(Attention, ARowAloneOverSeveralPanelsEqualsTheRowOfTheFullRun) {
  constexpr int kKeys = kPanelKeys + 140;
  Cached cached({kKeys}, {kKeys}, {2, 1, 8, 16}, 15);
  const Case& c = cached.c;
  cached.c.a.causal = true;
  const Floats full = cached.forward(c.a, Which::kFast).out;
  for (const int64_t rows : {1, 3, 20}) {
    for (const int64_t last : {kPanelKeys - 1, kPanelKeys, kPanelKeys + 1, kPanelKeys + 129, kKeys}) {
      const int32_t q_offsets[] = {0, static_cast<int32_t>(rows)}, k_offsets[] = {0, static_cast<int32_t>(last)};
      Attention a = cached.gathering();
      a.q_offsets = q_offsets, a.k_offsets = k_offsets;
      Floats out(static_cast<size_t>(rows * c.out_ld()));
      attention(a, {{c.q.data() + (last - rows) * c.q_ld, c.q_ld},
                    {cached.k.data(), c.k_ld},
                    {cached.v.data(), c.v_ld},
                    out.data(),
                    c.out_ld(),
                    nullptr});
      EXPECT_TRUE(same_bits(out, rows_of(full, c.out_ld(), last - rows, rows))) << rows << " rows to " << last;
    }
  }
}

}  // namespace
}  // namespace heed::kernels
