#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/attention_gradients-inl.h"
#include "heed/kernels/attention_plan.h"
#include "heed/kernels/attention_relative-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

// Working memory of one thread. D and Dv are rounded up to whole vectors.
struct Room {
  int64_t D, Dv;
  float *keys, *values, *dk, *dv;  // (a panel's keys, D or Dv)
  float *q, *dout, *dq;            // (kQueryBlock, D or Dv)
  float *q_turned, *dout_turned;   // (D or Dv, kQueryBlock)
  float *weights, *dscores;        // (kKeyTile, kQueryBlock)
  float *line, *dline;             // see Head
  static int64_t floats(const Attention& a, int64_t nq, int64_t nk) {
    const int64_t D = round_up(a.D, kWidth), Dv = round_up(a.Dv, kWidth);
    return (D + Dv) * (2 * std::min(nk, kPanel) + 3 * kQueryBlock) + 2 * kKeyTile * kQueryBlock +
           2 * line_floats(nq, nk);
  }
  Room(const Attention& a, int64_t nq, int64_t nk, float* p) : D(round_up(a.D, kWidth)), Dv(round_up(a.Dv, kWidth)) {
    const auto take = [&p](int64_t n) {
      p += n;
      return p - n;
    };
    const int64_t held = std::min(nk, kPanel);
    keys = take(held * D), values = take(held * Dv), dk = take(held * D), dv = take(held * Dv);
    q = take(kQueryBlock * D), dout = take(kQueryBlock * Dv), dq = take(kQueryBlock * D);
    q_turned = take(kQueryBlock * D), dout_turned = take(kQueryBlock * Dv);
    weights = take(kKeyTile * kQueryBlock), dscores = take(kKeyTile * kQueryBlock);
    line = take(line_floats(nq, nk)), dline = take(line_floats(nq, nk));
  }
};

// Where gradients are summed.
struct Sums {
  float* data = nullptr;  // null: not wanted
  int64_t ld = 0;
  int64_t first = 0;  // the number of the first row
  float* row(int64_t number) const { return data + (number - first) * ld; }
};

// What one piece of work computes: gradients of queries [q_first, q_last), of keys and values [k_first, k_last). Its
// keys are taken in panels, one after the other.
struct Piece {
  bool queries, keys;
  int64_t q_first, q_last, k_first, k_last;
};

struct Task {
  const Attention* a;
  const AttentionBackward* b;
  Piece piece;
  const Room* room;
  Rows keys, values;
  Sums dq, dk, dv;
  int64_t touched;  // keys below have a sum already
  float fold;       // scale, as far as it is multiplied into the gradients of weights beforehand
  Ahead* ahead;
};

// Queries whose keys are all in the first tile.
bool in_one_tile(const Head& h, const Block& b) { return keys_of(h, b) <= kKeyTile; }

// Gradients of scores are added along their distances; the scale that was left out comes in after that.
void gather_line(const Head& h, const Block& b, const Tile& t, const Room& room) {
  for (int64_t r = 0; r < t.keys; ++r) {
    float* line = room.dline + b.first - (t.first + r) + h.nk - 1;
    const int64_t live = dead_queries(h, b, t.first + r) / kWidth * kWidth;
    for (int64_t v = live; v < b.stride(); v += kWidth) {
      float* ds = room.dscores + r * b.stride() + v;
      store(load(line + v) + load(ds), line + v);
      store(load(ds) * set(h.a->scale), ds);
    }
  }
}

// Rows of keys that have a sum already go on with it, the others start one.
void add_to_keys(const Task& task, TileProduct p, const Tile& t, const Sums& sums) {
  const int64_t old = std::clamp<int64_t>(task.touched - t.first, 0, t.keys);
  p.c = sums.row(t.first);
  p.c_row = sums.ld;
  p.rows = old;
  p.start = p.c;
  p.start_row = p.c_row;
  product(p);
  p.rows = t.keys - old;
  p.start = nullptr;
  p.a += old * p.a_row;
  p.c += old * p.c_row;
  p.begin += old;
  product(p);
}

void add_keys_gradients(const Task& task, const Head& h, const Block& b, const Tile& t) {
  const Room& room = *task.room;
  TileProduct p{.rows = 0,
                .vectors = room.Dv / kWidth,
                .depth = b.rows,
                .a = room.weights,
                .a_row = b.stride(),
                .a_depth = 1,
                .b = room.dout,
                .b_row = room.Dv,
                .c = nullptr,
                .c_row = 0,
                .ahead = h.ahead};
  if (task.a->causal) p.begin = t.first - h.shift - b.first;
  if (task.dv.data) add_to_keys(task, p, t, task.dv);
  p.vectors = room.D / kWidth;
  p.a = room.dscores;
  p.b = room.q;
  p.b_row = room.D;
  if (task.dk.data) add_to_keys(task, p, t, task.dk);
}

void add_queries_gradients(const Task& task, const Head& h, const Block& b, const Tile& t) {
  const Room& room = *task.room;
  TileProduct p{.rows = b.rows,
                .vectors = room.D / kWidth,
                .depth = t.keys,
                .a = room.dscores,
                .a_row = 1,
                .a_depth = b.stride(),
                .b = task.keys.row(t.first),
                .b_row = task.keys.ld,
                .c = task.dq.data,
                .c_row = task.dq.ld,
                .ahead = h.ahead};
  if (t.first > task.piece.k_first) p.start = p.c, p.start_row = p.c_row;
  if (task.a->causal) p.end = b.first + h.shift + 1 - t.first;
  product(p);
}

void backward_tile(const Task& task, const Head& h, const Block& b, const Tile& t, Known& known) {
  const Attention& a = *task.a;
  const Room& room = *task.room;
  score_tile(h, b, t, {task.keys, room.q_turned}, room.weights, known.range);
  for (Segment g = segment_at(h, b, t, 0); g.begin < t.keys; g = segment_at(h, b, t, g.end)) {
    const int64_t v = g.vector * kWidth;
    product({.rows = g.end - g.begin,
             .vectors = b.vectors - g.vector,
             .depth = a.Dv,
             .a = task.values.row(t.first + g.begin),
             .a_row = task.values.ld,
             .a_depth = 1,
             .b = room.dout_turned + v,
             .b_row = b.stride(),
             .c = room.dscores + g.begin * b.stride() + v,
             .c_row = b.stride(),
             .ahead = h.ahead});
    if (a.causal) clear_diagonal(h, b, t, g, room.dscores);
  }
  Kept kept;
  if (a.dropout.p > 0) draw_kept(h, b, t, kept);
  if (in_one_tile(h, b)) {
    step_of_tile<Step::kWeights>(h, b, t, {room.weights, room.dscores}, kept, known);
    for (int64_t v = 0; v < b.vectors; ++v) known.delta[v] = known.delta[v] * known.inverse[v];
    step_of_tile<Step::kFinish>(h, b, t, {room.weights, room.dscores}, kept, known);
  } else {
    step_of_tile<Step::kAll>(h, b, t, {room.weights, room.dscores}, kept, known);
  }
  if (task.b->drelative) gather_line(h, b, t, room);
  if (task.piece.keys) add_keys_gradients(task, h, b, t);
  if (task.piece.queries && task.b->dq.data) add_queries_gradients(task, h, b, t);
}

// Sixteen rows of dout . out at a time: sums of sixteen lanes, turned, added in order.
Floats16 row_products(const Rows& x, const Rows& y, int64_t first) {
  alignas(64) float lanes[kWidth * kWidth], turned[kWidth * kWidth];
  const int64_t rows = std::min<int64_t>(kWidth, x.rows - first);
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x.data + (first + r) * x.ld, *b = y.data + (first + r) * y.ld;
    Floats16 sum = zero();
    int64_t c = 0;
    for (; c + kWidth <= x.columns; c += kWidth) sum = fma(load(a + c), load(b + c), sum);
    if (c < x.columns) sum = fma(load_n(a + c, x.columns - c), load_n(b + c, x.columns - c), sum);
    store(sum, lanes + r * kWidth);
  }
  transpose({lanes, kWidth, rows, kWidth}, turned, kWidth, 1.0f);
  Floats16 total = load(turned);
  for (int64_t i = 1; i < kWidth; ++i) total = total + load(turned + i * kWidth);
  return total;
}

// What the forward kept of a block's rows. Those that saw nothing, and lanes without a query, get weights of zero.
Known recall(const Task& task, const Head& h, const Block& b) {
  Known known;
  for (int64_t v = 0; v < b.vectors; ++v) {
    alignas(64) float largest[kWidth], sum[kWidth];
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t query = v * kWidth + i;
      const SoftmaxRow none{0, 0};
      const SoftmaxRow row = query < b.rows ? task.b->softmax[(h.q_row + b.first + query) * h.a->heads + h.head] : none;
      largest[i] = row.sum == 0 ? kInfinity : row.largest;
      sum[i] = row.sum == 0 ? kInfinity : row.sum;
      if (row.sum != 0 && std::fabs(row.largest) >= kLargest) known.range = Range::kFinite;
    }
    known.largest[v] = load(largest);
    known.inverse[v] = set(1.0f) / load(sum);
  }
  return known;
}

// Copies and turns what the tiles read of a block's queries.
Known prepare_block(const Task& task, const Head& h, const Block& b) {
  const Attention& a = *task.a;
  const Room& room = *task.room;
  const int64_t row = h.q_row + b.first;
  const auto rows_of = [&](const Heads& x, int64_t columns) {
    return Rows{place(x, row, h.head * columns), x.ld, b.rows, columns};
  };
  const Rows q = rows_of(task.b->q, a.D), dout = rows_of(task.b->dout, a.Dv), out = rows_of(task.b->out, a.Dv);
  Known known = recall(task, h, b);
  alignas(64) float factor[kQueryBlock];
  for (int64_t v = 0; v < b.vectors; ++v) {
    known.delta[v] = zero();
    if (!in_one_tile(h, b)) known.delta[v] = row_products(dout, out, v * kWidth) * set(task.fold) * known.inverse[v];
    store(known.inverse[v] * set(1.0f / (1.0f - a.dropout.p)), factor + v * kWidth);
  }
  copy_rows(q, room.q, room.D);
  copy_rows(dout, room.dout, room.Dv, factor);
  transpose({room.q, room.D, b.rows, a.D}, room.q_turned, b.stride(), a.scale * h.unit);
  transpose({room.dout, room.Dv, b.rows, a.Dv}, room.dout_turned, b.stride(), task.fold);
  return known;
}

// The panel's share of a block's gradients.
void backward_block(Task& task, const Head& h, const Block& b) {
  const Attention& a = *task.a;
  const Room& room = *task.room;
  const int64_t seen = keys_of(h, b), begin = task.piece.k_first, end = std::min(seen, task.piece.k_last);
  const HeadsOut& dq = task.b->dq;
  float* to = place(dq, h.q_row + b.first, h.head * a.D);
  // Written once, sums go straight to their place.
  const bool direct = a.D % kWidth == 0 && in_one_tile(h, b) && !dq.accumulate;
  task.dq = direct ? Sums{to, dq.ld} : Sums{room.dq, room.D};
  if (end > begin) {
    Known known = prepare_block(task, h, b);
    for (int64_t first = begin; first < end; first += kKeyTile) {
      backward_tile(task, h, b, {first, std::min(kKeyTile, end - first)}, known);
    }
    task.touched = std::max(task.touched, end);
  }
  if (!task.piece.queries || !dq.data || (begin > 0 && end <= begin)) return;
  for (int64_t r = 0; seen == 0 && r < b.rows; ++r) std::fill_n(task.dq.row(r), a.D, 0.0f);
  if (!direct) write_rows({room.dq, room.D, b.rows, a.D}, to, dq.ld, dq.accumulate || begin > 0);
}

void finish_sums(const Task& task, const Head& h, const Sums& sums, const HeadsOut& to, int64_t columns, bool direct) {
  if (!sums.data) return;
  const int64_t first = task.piece.k_first, last = task.piece.k_last;
  for (int64_t r = std::max(first, task.touched); r < last; ++r) std::fill_n(sums.row(r), columns, 0.0f);
  if (direct) return;
  write_rows({sums.row(first), sums.ld, last - first, columns}, place(to, h.k_row + first, h.kv_head * columns), to.ld,
             to.accumulate);
}

// Asks for what a block of queries touches: `rows` rows from `row` on.
void announce_queries(const Attention& a, const AttentionBackward& b, int64_t head, int64_t row, int64_t rows,
                      Ahead& ahead) {
  if (b.dq.data) ahead.add(place(b.dq, row, head * a.D), b.dq.ld, rows, a.D);
  ahead.add(place(b.dout, row, head * a.Dv), b.dout.ld, rows, a.Dv);
  ahead.add(place(b.q, row, head * a.D), b.q.ld, rows, a.D);
}

// Asks for what a piece of work touches first.
void announce(const Attention& a, const AttentionBackward& b, int64_t sequence, int64_t kv_head, Ahead& ahead) {
  const Head h = head_of(a, sequence, kv_head * (a.heads / a.kv_heads));
  const int64_t keys = std::min(h.nk, kAnnounced);
  if (b.dk.data && h.nq <= kInPlace) ahead.add(place(b.dk, h.k_row, kv_head * a.D), b.dk.ld, keys, a.D);
  if (b.dv.data && h.nq <= kInPlace) ahead.add(place(b.dv, h.k_row, kv_head * a.Dv), b.dv.ld, keys, a.Dv);
  ahead.add(place(b.v, h.k_row, kv_head * a.Dv), b.v.ld, keys, a.Dv);
  ahead.add(place(b.k, h.k_row, kv_head * a.D), b.k.ld, keys, a.D);
  announce_queries(a, b, h.head, h.q_row, std::min(kQueryBlock, h.nq), ahead);
}

// The queries of one head against the keys of the panel.
void backward_head(Task& task, const Head& h) {
  const Attention& a = *task.a;
  const AttentionBackward& b = *task.b;
  const Piece& piece = task.piece;
  for (int64_t first = piece.q_first; first < piece.q_last; first += kQueryBlock) {
    const int64_t next = first + kQueryBlock, rows = std::min(kQueryBlock, piece.q_last - next);
    if (rows > 0) {
      announce_queries(a, b, h.head, h.q_row + next, rows, *task.ahead);
      if (keys_of(h, block_of(next, piece.q_last)) > kKeyTile) {
        task.ahead->add(place(b.out, h.q_row + next, h.head * a.Dv), b.out.ld, rows, a.Dv);
      }
    }
    backward_block(task, h, block_of(first, piece.q_last));
  }
}

// A piece whose keys are no more than a panel.
void backward_panel(Task& task, int64_t sequence, int64_t kv_head, const RelativeTables& tables) {
  const Attention& a = *task.a;
  const AttentionBackward& b = *task.b;
  const Room& room = *task.room;
  const Piece& piece = task.piece;
  const int64_t group = a.heads / a.kv_heads, first = piece.k_first;
  Head h = head_of(a, sequence, kv_head * group);
  const int64_t readers = (piece.q_last - piece.q_first) * group;
  const int64_t keys = std::max<int64_t>(0, std::min(h.seen, piece.k_last) - first);
  const int64_t row = h.k_row + first, column = kv_head * a.D, v_column = kv_head * a.Dv;
  task.keys = rows_for_product({place(b.k, row, column), b.k.ld, keys, a.D, first}, readers, room.keys);
  task.values = {place(b.v, row, v_column), b.v.ld, keys, a.Dv, first};
  if (readers > kInPlace) task.values = rows_for_product(task.values, readers, room.values);
  // Sums go straight to their place when they are few, else by way of the room.
  const bool direct =
      a.D % kWidth == 0 && a.Dv % kWidth == 0 && readers <= kInPlace && b.dk.accumulate == b.dv.accumulate;
  if (piece.keys) {
    if (b.dk.data) task.dk = direct ? Sums{place(b.dk, row, column), b.dk.ld, first} : Sums{room.dk, room.D, first};
    if (b.dv.data) task.dv = direct ? Sums{place(b.dv, row, v_column), b.dv.ld, first} : Sums{room.dv, room.Dv, first};
  }
  task.touched = direct && b.dk.accumulate ? h.nk : first;
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    h = head_of(a, sequence, head);
    h.ahead = task.ahead;
    if (has_line(a)) {
      fill_line(h, room.line);
      h.line = room.line;
    }
    if (b.drelative) std::fill_n(room.dline, line_floats(h.nq, h.nk), 0.0f);
    backward_head(task, h);
    if (b.drelative) tables.fold_line(h, room.dline);
  }
  if (!piece.keys) return;
  finish_sums(task, h, task.dk, b.dk, a.D, direct);
  finish_sums(task, h, task.dv, b.dv, a.Dv, direct);
}

void backward_piece(Task& task, int64_t sequence, int64_t kv_head, const RelativeTables& tables) {
  const int64_t first = task.piece.k_first, last = task.piece.k_last;
  for (int64_t key = first; key == first || key < last; key += kPanel) {
    task.piece.k_first = key;
    task.piece.k_last = std::min(last, key + kPanel);
    backward_panel(task, sequence, kv_head, tables);
  }
}

// Spans are of queries where their gradients are computed, else of keys.
void backward_pass(const Attention& a, const AttentionBackward& b, bool queries, bool keys, int64_t longest,
                   const RelativeTables& tables) {
  const int64_t nq = longest_of(a.q_offsets, a.sequences), nk = longest_of(a.k_offsets, a.sequences);
  const WorkSpans spans(queries ? a.q_offsets : a.k_offsets, a.sequences, longest);
  const int64_t pieces = spans.size() * a.kv_heads;
  for_pieces(a, pieces, [&](int64_t begin, int64_t end) {
    const Scratch<float> memory(Room::floats(a, nq, nk));
    const Room room(a, nq, nk, memory.data());
    for (int64_t i = begin; i < end; ++i) {
      const Span& span = spans[i / a.kv_heads];
      const int64_t n_q = a.q_offsets[span.sequence + 1] - a.q_offsets[span.sequence];
      const int64_t n_k = a.k_offsets[span.sequence + 1] - a.k_offsets[span.sequence];
      Ahead ahead;
      Task task{&a, &b, {queries, keys, 0, n_q, 0, n_k}, &room, {}, {}, {}, {},
                {}, 0,  b.drelative ? 1.0f : a.scale,    &ahead};
      if (i + 1 < pieces) announce(a, b, spans[(i + 1) / a.kv_heads].sequence, (i + 1) % a.kv_heads, ahead);
      if (queries) {
        task.piece.q_first = span.first;
        task.piece.q_last = span.last;
      } else {
        task.piece.k_first = span.first;
        task.piece.k_last = span.last;
      }
      backward_piece(task, span.sequence, i % a.kv_heads, tables);
    }
  });
}

}  // namespace

void attention_gradients(const Attention& a, const AttentionBackward& b) {
  const int64_t whole = int64_t{1} << 40;
  const RelativeTables tables(a, b.drelative != nullptr);
  // With fewer heads than threads the work is cut finer, by queries and then by keys: two products more, the same bits.
  const bool few = a.sequences * a.kv_heads < num_threads() && longest_of(a.q_offsets, a.sequences) > 4 * kQueryBlock;
  if (few && !b.drelative) {
    if (b.dq.data) backward_pass(a, b, true, false, 4 * kQueryBlock, tables);
    if (b.dk.data || b.dv.data) backward_pass(a, b, false, true, 2 * kKeyTile, tables);
    return;
  }
  backward_pass(a, b, true, true, whole, tables);
  if (b.drelative) tables.add_to(b.drelative);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(attention_gradients);

void attention_backward(const Attention& a, const AttentionBackward& b) {
  check_attention(a);
  HWY_DYNAMIC_DISPATCH(attention_gradients)(a, b);
}

}  // namespace heed::kernels
#endif
