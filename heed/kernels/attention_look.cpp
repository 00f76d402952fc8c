#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/attention_look.cpp"
#include <hwy/foreach_target.h>

#include "heed/base/error.h"
#include "heed/kernels/attention_plan.h"
#include "heed/kernels/attention_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

// A block of the rows looked at and where its tiles are computed.
struct View {
  const AttentionLook* look;
  Head h;
  Block b;
  Rows keys;
  float *q_turned, *tile;
};

// Turns the block's queries for scores in the given unit and fills the biases to match.
void set_unit(View& v, float unit, float* line) {
  const Attention& a = *v.h.a;
  const Heads& q = v.look->q;
  v.h.unit = unit;
  if (has_line(a)) {
    fill_line(v.h, line);
    v.h.line = line;
  }
  transpose({place(q, v.h.q_row + v.b.first, v.h.head * a.D), q.ld, v.b.rows, a.D}, v.q_turned, v.b.stride(),
            a.scale * unit);
}

// to[query][key] = tile[key][query] for the queries that see the key.
void write_tile(const View& v, const Tile& t, float* to) {
  for (int64_t q = 0; q < v.b.rows; ++q) {
    for (int64_t k = 0; k < t.keys && dead_queries(v.h, v.b, t.first + k) <= q; ++k) {
      to[q * v.h.nk + t.first + k] = v.tile[k * v.b.stride() + q];
    }
  }
}

void write_scores(const View& v, int64_t seen, float* to) {
  std::fill(to, to + v.b.rows * v.h.nk, -kInfinity);
  for (int64_t first = 0; first < seen; first += kKeyTile) {
    const Tile t{first, std::min(kKeyTile, seen - first)};
    score_tile(v.h, v.b, t, {v.keys, v.q_turned}, v.tile, Range::kAny);
    write_tile(v, t, to);
  }
}

// One tile of scores to weights, now that the largest score and the sum are known.
void weigh_tile(const View& v, const Tile& t, const Running& run) {
  const bool drop = v.look->with_dropout && v.h.a->dropout.p > 0;
  const float stay = 1.0f / (1.0f - v.h.a->dropout.p);
  Kept kept;
  if (drop) draw_kept(v.h, v.b, t, kept);
  for (Segment g = segment_at(v.h, v.b, t, 0); g.begin < t.keys; g = segment_at(v.h, v.b, t, g.end)) {
    for (int64_t r = g.begin; r < g.end; ++r) {
      for (int64_t i = g.vector; i < v.b.vectors; ++i) {
        float* s = v.tile + r * v.b.stride() + i * kWidth;
        // A sum is 1 at least, or 0 with weights of 0.
        Floats16 w = exp2_nonpositive(load(s) - run.largest[i]) / max(set(1.0f), run.sum[i]);
        if (drop) w = only_kept(w * set(stay), kept.keep[r][i]);
        store(w, s);
      }
    }
  }
}

void write_weights(const View& v, int64_t seen, float* to) {
  std::fill(to, to + v.b.rows * v.h.nk, 0.0f);
  Running run = nothing_yet();
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t first = 0; first < seen; first += kKeyTile) {
      const Tile t{first, std::min(kKeyTile, seen - first)};
      if (pass == 0) {
        score_and_compare(v.h, v.b, t, {v.keys, v.q_turned}, v.tile, run);
        alignas(64) float correction[kQueryBlock];
        take_tile(v.h, v.b, t, v.tile, run, correction, false);
      } else {
        score_tile(v.h, v.b, t, {v.keys, v.q_turned}, v.tile, Range::kFinite);
        weigh_tile(v, t, run);
        write_tile(v, t, to);
      }
    }
  }
}

}  // namespace

void look_at_weights(const Attention& a, const AttentionLook& look) {
  const Head h = head_of(a, look.sequence, look.head);
  const Scratch<float> memory((a.D + kKeyTile) * kQueryBlock), line(line_floats(h.nq, h.nk));
  const Scratch<float> gathered(a.k_rows ? h.seen * round_up(a.D, kWidth) : 0);
  Rows keys{place(look.k, a.k_rows ? 0 : h.k_row, h.kv_head * a.D), look.k.ld, h.seen, a.D};
  if (a.k_rows) {
    gather_rows(keys, a.k_rows + h.k_row, gathered.data(), round_up(a.D, kWidth));
    keys = {gathered.data(), round_up(a.D, kWidth), h.seen, a.D};
  }
  for (int64_t row = 0; row < look.rows; row += kQueryBlock) {
    View v{&look,
           h,
           block_of(look.first + row, look.first + look.rows),
           keys,
           memory.data(),
           memory.data() + a.D * kQueryBlock};
    const int64_t seen = keys_of(h, v.b);
    if (look.scores) {
      set_unit(v, 1.0f, line.data());
      write_scores(v, seen, look.scores + row * h.nk);
    }
    if (look.weights) {
      set_unit(v, kLog2e, line.data());
      write_weights(v, seen, look.weights + row * h.nk);
    }
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(look_at_weights);

void attention_weights(const Attention& a, const AttentionLook& look) {
  check_attention(a);
  if (look.sequence < 0 || look.sequence >= a.sequences) {
    fail("[attention] sequence {}: expected 0 to {}", look.sequence, a.sequences - 1);
  }
  if (look.head < 0 || look.head >= a.heads) fail("[attention] head {}: expected 0 to {}", look.head, a.heads - 1);
  const int64_t rows = a.q_offsets[look.sequence + 1] - a.q_offsets[look.sequence];
  if (look.first < 0 || look.rows < 0 || look.first + look.rows > rows) {
    fail("[attention] rows [{}, {}): the sequence has {}", look.first, look.first + look.rows, rows);
  }
  HWY_DYNAMIC_DISPATCH(look_at_weights)(a, look);
}

}  // namespace heed::kernels
#endif
