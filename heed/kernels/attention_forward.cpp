#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/attention_forward.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/attention_softmax-inl.h"

#include "heed/kernels/attention_plan.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

// Working memory of one thread.
struct Room {
  float *keys, *values, *q_turned, *scores, *out, *line;
  static int64_t floats(const Attention& a, int64_t nq, int64_t nk) {
    const int64_t D = round_up(a.D, kWidth), Dv = round_up(a.Dv, kWidth);
    return nk * (D + Dv) + (a.D + kKeyTile + Dv) * kQueryBlock + line_floats(nq, nk);
  }
  Room(const Attention& a, int64_t nk, float* p) {
    keys = p;
    values = keys + nk * round_up(a.D, kWidth);
    q_turned = values + nk * round_up(a.Dv, kWidth);
    scores = q_turned + a.D * kQueryBlock;
    out = scores + kKeyTile * kQueryBlock;
    line = out + kQueryBlock * round_up(a.Dv, kWidth);
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

struct KeysValues {
  Rows keys, values;
};

// The keys and values of a head that `readers` queries read, in place or in the room.
KeysValues keys_values(const Head& h, const AttentionForward& f, int64_t readers, const Room& room) {
  const Attention& a = *h.a;
  if (a.k_rows) {
    const int32_t* index = a.k_rows + h.k_row;
    const Rows keys{room.keys, round_up(a.D, kWidth), h.seen, a.D}, values{room.values, round_up(a.Dv, kWidth), h.seen, a.Dv};
    gather_rows({place(f.k, 0, h.kv_head * a.D), f.k.ld, h.seen, a.D}, index, room.keys, keys.ld);
    gather_rows({place(f.v, 0, h.kv_head * a.Dv), f.v.ld, h.seen, a.Dv}, index, room.values, values.ld);
    return {keys, values};
  }
  const Rows keys{place(f.k, h.k_row, h.kv_head * a.D), f.k.ld, h.seen, a.D};
  const Rows values{place(f.v, h.k_row, h.kv_head * a.Dv), f.v.ld, h.seen, a.Dv};
  return {readers <= kInPlace ? keys : rows_for_product(keys, readers, room.keys),
          rows_for_product(values, readers, room.values)};
}

void forward_block(const Head& h, const Block& b, const AttentionForward& f, const KeysValues& kv, const Room& room) {
  const Attention& a = *h.a;
  const Rows out{room.out, round_up(a.Dv, kWidth), b.rows, a.Dv};
  transpose({place(f.q, h.q_row + b.first, h.head * a.D), f.q.ld, b.rows, a.D}, room.q_turned, b.stride(),
            a.scale * h.unit);
  Running run = nothing_yet();
  alignas(64) float factor[kQueryBlock];
  float* to = f.out + (h.q_row + b.first) * f.out_ld + h.head * a.Dv;
  const int64_t seen = keys_of(h, b);
  if (seen == 0) {
    finish_softmax(h, b, f, run, factor);
    for (int64_t r = 0; r < b.rows; ++r) std::fill_n(to + r * f.out_ld, a.Dv, 0.0f);
  }
  for (int64_t first = 0; first < seen; first += kKeyTile) {
    const Tile t{first, std::min(kKeyTile, seen - first)};
    score_and_compare(h, b, t, {kv.keys, room.q_turned}, room.scores, run);
    if (take_tile(h, b, t, room.scores, run, factor, a.dropout.p > 0) && first > 0) scale_rows(out, room.out, factor);
    TileProduct p{.rows = b.rows, .vectors = out.ld / kWidth, .depth = t.keys,
              .a = room.scores, .a_row = 1, .a_depth = b.stride(),
              .b = kv.values.data + first * kv.values.ld, .b_row = kv.values.ld,
              .c = room.out, .c_row = out.ld, .ahead = h.ahead};
    if (a.causal) p.end = b.first + h.shift + 1 - first;
    if (first > 0) p.start = room.out, p.start_row = out.ld;
    if (first + t.keys == seen) {
      finish_softmax(h, b, f, run, factor);
      p.factor = factor;
      if (out.ld == a.Dv) p.c = to, p.c_row = f.out_ld;
    }
    product(p);
  }
  if (out.ld != a.Dv && seen > 0) write_rows(out, to, f.out_ld, false);
}

// Asks for the queries and the place of the outputs of `rows` rows from `row` on.
void announce_queries(const Attention& a, const AttentionForward& f, int64_t head, int64_t row, int64_t rows, Ahead& ahead) {
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

void forward_span(const Attention& a, const AttentionForward& f, const Span& span, int64_t kv_head, const Room& room,
                  Ahead& ahead) {
  const int64_t group = a.heads / a.kv_heads;
  Head h = head_of(a, span.sequence, kv_head * group);
  const KeysValues kv = keys_values(h, f, (span.last - span.first) * group, room);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    h = head_of(a, span.sequence, head);
    h.ahead = &ahead;
    if (has_line(a)) {
      fill_line(h, room.line);
      h.line = room.line;
    }
    for (int64_t first = span.first; first < span.last; first += kQueryBlock) {
      const int64_t next = first + kQueryBlock;
      if (next < span.last) announce_queries(a, f, head, h.q_row + next, std::min(kQueryBlock, span.last - next), ahead);
      forward_block(h, block_of(first, span.last), f, kv, room);
    }
  }
}

}  // namespace

void attention_forward(const Attention& a, const AttentionForward& f) {
  const int64_t nq = longest_of(a.q_offsets, a.sequences), nk = longest_of(a.k_offsets, a.sequences);
  const WorkSpans spans(a.q_offsets, a.sequences, 8 * kQueryBlock);
  const int64_t pieces = spans.size() * a.kv_heads;
  for_pieces(a, pieces, [&](int64_t begin, int64_t end) {
    const Scratch<float> memory(Room::floats(a, nq, nk));
    const Room room(a, nk, memory.data());
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
