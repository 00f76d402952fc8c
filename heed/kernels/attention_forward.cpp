#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/attention_forward.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/attention_one-inl.h"
#include "heed/kernels/attention_plan.h"
#include "heed/kernels/attention_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kSpanBlocks = 8;  // blocks of queries that a piece of work has

// Working memory of one thread: a panel of keys and values, and the sums of the blocks that go on with the next panel.
struct Room {
  float *keys, *values, *q_turned, *scores, *out, *line;
  static int64_t floats(const Attention& a, int64_t nq, int64_t nk) {
    const int64_t D = round_up(a.D, kWidth), Dv = round_up(a.Dv, kWidth);
    const int64_t blocks = nk > kPanel ? kSpanBlocks : 1;
    return std::min(nk, kPanel) * (D + Dv) + (a.D + kKeyTile + blocks * Dv) * kQueryBlock + line_floats(nq, nk);
  }
  Room(const Attention& a, int64_t nq, int64_t nk, float* p) {
    const int64_t keys_held = std::min(nk, kPanel);
    keys = p;
    values = keys + keys_held * round_up(a.D, kWidth);
    q_turned = values + keys_held * round_up(a.Dv, kWidth);
    scores = q_turned + a.D * kQueryBlock;
    line = scores + kKeyTile * kQueryBlock;
    out = line + line_floats(nq, nk);
  }
};

// What each query's sum over values is multiplied with at the end. What the backward needs goes to its place.
void finish_softmax(const Head& h, const Block& b, const AttentionForward& f, const Running& run, float* factor) {
  alignas(64) float largest[kQueryBlock], sum[kQueryBlock];
  const float stay = 1.0f / (1.0f - h.a->dropout.p);
  for (int64_t v = 0; v < b.vectors; ++v) {
    store(set(stay) / run.sum[v], factor + v * kWidth);
    store(run.largest[v], largest + v * kWidth);
    store(run.sum[v], sum + v * kWidth);
  }
  for (int64_t i = 0; i < b.stride(); ++i) factor[i] = sum[i] == 0.0f ? 0.0f : factor[i];  // no key was seen
  if (!f.softmax) return;
  for (int64_t i = 0; i < b.rows; ++i) f.softmax[(h.q_row + b.first + i) * h.a->heads + h.head] = {largest[i], sum[i]};
}

void scale_rows(const Rows& x, float* data, const float* factor) {
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.ld; c += kWidth) store(load(data + r * x.ld + c) * set(factor[r]), data + r * x.ld + c);
  }
}

// Keys [first, last) with their values.
struct Panel {
  int64_t first, last;
  Rows keys, values;
};

// A block's softmax and sums of values so far.
struct Sofar {
  Running run;
  float* out;
};

// Takes the keys of the panel in; with the last that the block sees, its outputs go to their place.
void forward_block(const Head& h, const Block& b, const AttentionForward& f, const Panel& panel, const Room& room,
                   Sofar& sofar) {
  const Attention& a = *h.a;
  const int64_t seen = keys_of(h, b), end = std::min(seen, panel.last);
  alignas(64) float factor[kQueryBlock];
  float* to = f.out + (h.q_row + b.first) * f.out_ld + h.head * a.Dv;
  if (seen == 0 && panel.first == 0) {
    finish_softmax(h, b, f, sofar.run, factor);
    for (int64_t r = 0; r < b.rows; ++r) std::fill_n(to + r * f.out_ld, a.Dv, 0.0f);
  }
  if (panel.first >= end) return;
  const Rows out{sofar.out, round_up(a.Dv, kWidth), b.rows, a.Dv};
  transpose({place(f.q, h.q_row + b.first, h.head * a.D), f.q.ld, b.rows, a.D}, room.q_turned, b.stride(),
            a.scale * h.unit);
  for (int64_t first = panel.first; first < end; first += kKeyTile) {
    const Tile t{first, std::min(kKeyTile, end - first)};
    score_and_compare(h, b, t, {panel.keys, room.q_turned}, room.scores, sofar.run);
    const bool corrected = take_tile(h, b, t, room.scores, sofar.run, factor, a.dropout.p > 0);
    if (corrected && first > 0) scale_rows(out, sofar.out, factor);
    TileProduct p{.rows = b.rows,
                  .vectors = out.ld / kWidth,
                  .depth = t.keys,
                  .a = room.scores,
                  .a_row = 1,
                  .a_depth = b.stride(),
                  .b = panel.values.row(first),
                  .b_row = panel.values.ld,
                  .c = sofar.out,
                  .c_row = out.ld,
                  .ahead = h.ahead};
    if (a.causal) p.end = b.first + h.shift + 1 - first;
    if (first > 0) p.start = sofar.out, p.start_row = out.ld;
    if (first + t.keys == seen) {
      finish_softmax(h, b, f, sofar.run, factor);
      p.factor = factor;
      if (out.ld == a.Dv) p.c = to, p.c_row = f.out_ld;
    }
    product(p);
  }
  if (out.ld != a.Dv && end == seen) write_rows(out, to, f.out_ld, false);
}

// Asks for the queries and the place of the outputs of `rows` rows from `row` on.
void announce_queries(const Attention& a, const AttentionForward& f, int64_t head, int64_t row, int64_t rows,
                      Ahead& ahead) {
  if (rows == 0) return;
  ahead.add(f.out + row * f.out_ld + head * a.Dv, f.out_ld, rows, a.Dv);
  ahead.add(place(f.q, row, head * a.D), f.q.ld, rows, a.D);
}

// Asks for what a piece of work touches first.
void announce(const Attention& a, const AttentionForward& f, const Span& span, int64_t kv_head, Ahead& ahead) {
  const Head h = head_of(a, span.sequence, kv_head * (a.heads / a.kv_heads));
  const int64_t keys = a.k_rows ? 0 : std::min(h.seen, kAnnounced);
  ahead.add(place(f.v, h.k_row, kv_head * a.Dv), f.v.ld, keys, a.Dv);
  ahead.add(place(f.k, h.k_row, kv_head * a.D), f.k.ld, keys, a.D);
  announce_queries(a, f, h.head, h.q_row + span.first, std::min(kQueryBlock, span.last - span.first), ahead);
}

// The keys and values of a head that `readers` queries read, in place or in the room.
Panel panel_of(const Head& h, const AttentionForward& f, int64_t first, int64_t seen, int64_t readers,
               const Room& room) {
  const Attention& a = *h.a;
  const int64_t last = std::min(first + kPanel, seen);
  if (a.k_rows) {
    const int32_t* index = a.k_rows + h.k_row + first;
    const Rows keys{room.keys, round_up(a.D, kWidth), last - first, a.D, first};
    const Rows values{room.values, round_up(a.Dv, kWidth), last - first, a.Dv, first};
    gather_rows({place(f.k, 0, h.kv_head * a.D), f.k.ld, keys.rows, a.D}, index, room.keys, keys.ld);
    gather_rows({place(f.v, 0, h.kv_head * a.Dv), f.v.ld, values.rows, a.Dv}, index, room.values, values.ld);
    return {first, last, keys, values};
  }
  const Rows keys{place(f.k, h.k_row + first, h.kv_head * a.D), f.k.ld, last - first, a.D, first};
  const Rows values{place(f.v, h.k_row + first, h.kv_head * a.Dv), f.v.ld, last - first, a.Dv, first};
  return {first, last, readers <= kInPlace ? keys : rows_for_product(keys, readers, room.keys),
          rows_for_product(values, readers, room.values)};
}

void forward_span(const Attention& a, const AttentionForward& f, const Span& span, int64_t kv_head, const Room& room,
                  Ahead& ahead) {
  const int64_t group = a.heads / a.kv_heads, readers = (span.last - span.first) * group;
  Panel panel{-1, 0, {}, {}};
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    Head h = head_of(a, span.sequence, head);
    h.ahead = &ahead;
    if (has_line(a)) {
      fill_line(h, room.line);
      h.line = room.line;
    }
    if (span.last - span.first == 1 && attend_one(h, f, span.first, room.q_turned, room.out)) continue;
    const int64_t seen = keys_of(h, {span.first, span.last - span.first, 0});
    Sofar sofar[kSpanBlocks];
    for (int64_t key = 0; key == 0 || key < seen; key += kPanel) {
      if (panel.first != key) panel = panel_of(h, f, key, seen, readers, room);
      for (int64_t first = span.first; first < span.last; first += kQueryBlock) {
        const int64_t next = first + kQueryBlock, number = (first - span.first) / kQueryBlock;
        if (next < span.last) {
          announce_queries(a, f, head, h.q_row + next, std::min(kQueryBlock, span.last - next), ahead);
        }
        if (key == 0) sofar[number].run = nothing_yet();
        sofar[number].out = room.out + (seen > kPanel ? number * kQueryBlock * round_up(a.Dv, kWidth) : 0);
        forward_block(h, block_of(first, span.last), f, panel, room, sofar[number]);
      }
    }
  }
}

}  // namespace

void attention_forward(const Attention& a, const AttentionForward& f) {
  const int64_t nq = longest_of(a.q_offsets, a.sequences), nk = longest_of(a.k_offsets, a.sequences);
  const WorkSpans spans(a.q_offsets, a.sequences, kSpanBlocks * kQueryBlock);
  const int64_t pieces = spans.size() * a.kv_heads;
  for_pieces(a, pieces, [&](int64_t begin, int64_t end) {
    const Scratch<float> memory(Room::floats(a, nq, nk));
    const Room room(a, nq, nk, memory.data());
    for (int64_t i = begin; i < end; ++i) {
      Ahead ahead;
      if (i + 1 < pieces) announce(a, f, spans[(i + 1) / a.kv_heads], (i + 1) % a.kv_heads, ahead);
      forward_span(a, f, spans[i / a.kv_heads], i % a.kv_heads, room, ahead);
    }
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(attention_forward);

void attention(const Attention& a, const AttentionForward& f) {
  check_attention(a);
  HWY_DYNAMIC_DISPATCH(attention_forward)(a, f);
}

}  // namespace heed::kernels
#endif
