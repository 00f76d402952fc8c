// Sizes of a tensor, outermost first. Lives inline: making one allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace heed {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  // For sizes that come one by one.
  Shape& append(int64_t dim);

  int rank() const { return rank_; }
  // Negative dimensions count from the end.
  int64_t operator[](int dim) const { return dims_[place(dim)]; }
  int64_t& operator[](int dim) { return dims_[place(dim)]; }
  int64_t numel() const;  // 1 for a scalar; an error where it would overflow
  Shape without_last() const;
  Shape with_last(int64_t dim) const { return without_last().append(dim); }
  bool operator==(const Shape& other) const;
  std::string str() const;  // "(2,3)"

 private:
  size_t place(int dim) const;  // an error where there is no such dimension

  int rank_ = 0;
  std::array<int64_t, kMaxRank> dims_{};
};

// The shape both broadcast to, sizes aligned at the end; an error "[op] ..." where they do not fit.
Shape broadcast(const char* op, const Shape& a, const Shape& b);

}  // namespace heed
