#include "heed/tensor/shape.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed {

Shape::Shape(std::initializer_list<int64_t> dims) {
  for (const int64_t dim : dims) append(dim);
}

Shape& Shape::append(int64_t dim) {
  if (rank_ == kMaxRank) fail("[shape] more than {} dimensions", kMaxRank);
  if (dim < 0) fail("[shape] negative size {}", dim);
  dims_[rank_++] = dim;
  return *this;
}

size_t Shape::place(int dim) const {
  if (dim < -rank_ || dim >= rank_)
    fail("[shape] dimension {} of {}: expected {} to {}", dim, str(), -rank_, rank_ - 1);
  return static_cast<size_t>(dim < 0 ? dim + rank_ : dim);
}

int64_t Shape::numel() const {
  int64_t n = 1;
  for (int i = 0; i < rank_; ++i) {
    if (__builtin_mul_overflow(n, dims_[i], &n)) fail("[shape] {} has more elements than can be counted", str());
  }
  return n;
}

Shape Shape::without_last() const {
  Shape shape = *this;
  if (shape.rank_ > 0) --shape.rank_;
  return shape;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(dims_.begin(), dims_.begin() + rank_, other.dims_.begin());
}

std::string Shape::str() const { return fmt::format("({})", fmt::join(dims_.begin(), dims_.begin() + rank_, ",")); }

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  Shape out;
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.rank() ? 1 : a[i - (rank - a.rank())];
    const int64_t y = i < rank - b.rank() ? 1 : b[i - (rank - b.rank())];
    if (x != y && x != 1 && y != 1) {
      fail("[{}] shapes {} and {} do not broadcast: expected equal sizes or 1, found {} and {}", op, a.str(), b.str(),
           x, y);
    }
    out.append(x == 1 ? y : x);
  }
  return out;
}

}  // namespace heed
