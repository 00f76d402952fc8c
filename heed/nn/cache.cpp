#include "heed/nn/cache.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "heed/base/error.h"

namespace heed::nn {
namespace {

void write_rows(const Tensor& pool, const Tensor& x, const std::vector<int32_t>& rows) {
  if (x.rows() != static_cast<int64_t>(rows.size())) fail("[cache] {} keys for {} rows", x.rows(), rows.size());
  const size_t bytes = static_cast<size_t>(x.cols()) * sizeof(float);
  for (int64_t r = 0; r < x.rows(); ++r) {
    std::memcpy(pool.data() + rows[static_cast<size_t>(r)] * pool.ld(), x.data() + r * x.ld(), bytes);
  }
}

}  // namespace

void LayerCache::write(const Tensor& k, const Tensor& v) const {
  write_rows(keys, k, rows->added);
  write_rows(values, v, rows->added);
}

std::vector<int32_t> CachePool::take(int64_t rows) {
  if (static_cast<int64_t>(free_.size()) < rows) grow(std::max(2 * capacity_, capacity_ + rows));
  std::vector<int32_t> taken(free_.rbegin(), free_.rbegin() + rows);
  free_.resize(free_.size() - static_cast<size_t>(rows));
  for (const int32_t row : taken) holders_[static_cast<size_t>(row)] = 1;
  return taken;
}

void CachePool::share(std::span<const int32_t> rows) {
  for (const int32_t row : rows) ++holders_[static_cast<size_t>(row)];
}

void CachePool::give(std::span<const int32_t> rows) {
  for (const int32_t row : rows) {
    if (--holders_[static_cast<size_t>(row)] == 0) free_.push_back(row);
  }
}

void CachePool::grow(int64_t capacity) {
  if (capacity > std::numeric_limits<int32_t>::max()) fail("[cache] {} rows: too many", capacity);
  for (std::vector<Tensor>* pools : {&keys_, &values_}) {
    for (Tensor& pool : *pools) {
      const Tensor larger = Tensor::empty({capacity, width_});
      if (pool) std::memcpy(larger.data(), pool.data(), static_cast<size_t>(pool.numel()) * sizeof(float));
      pool = larger;
    }
  }
  std::vector<int32_t> fresh;
  for (int64_t row = capacity - 1; row >= capacity_; --row) fresh.push_back(static_cast<int32_t>(row));
  free_.insert(free_.begin(), fresh.begin(), fresh.end());
  holders_.resize(static_cast<size_t>(capacity));
  capacity_ = capacity;
}

std::vector<LayerCache> CachePool::layers(const CacheRows& rows) const {
  std::vector<LayerCache> all;
  for (size_t i = 0; i < keys_.size(); ++i) all.push_back({keys_[i], values_[i], &rows});
  return all;
}

}  // namespace heed::nn
