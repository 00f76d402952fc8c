// How a call of attention is cut into pieces of work. Inside the kernels only.
#pragma once

#include <cstdint>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#include "heed/kernels/attention.h"

namespace heed::kernels {

// Rows [first, last) of one sequence: queries, or keys where the work is cut by keys.
struct Span {
  int64_t sequence, first, last;
};

// Spans of at most `longest` rows that cover every sequence of the offsets; a sequence of no rows has one empty span.
class WorkSpans {
 public:
  WorkSpans(const int32_t* offsets, int64_t sequences, int64_t longest);
  int64_t size() const { return size_; }
  const Span& operator[](int64_t i) const { return spans_[i]; }

 private:
  int64_t size_;
  Scratch<Span> spans_;
};

// The longest sequence of the offsets.
int64_t longest_of(const int32_t* offsets, int64_t sequences);

// Refuses sizes that make no sense, one line each.
void check_attention(const Attention& a);

// body(begin, end) over the n pieces of a call, many enough at a time that handing them out costs nothing; a call of a
// few microseconds stays on its thread.
void for_pieces(const Attention& a, int64_t n, FunctionRef<void(int64_t, int64_t)> body);

}  // namespace heed::kernels
