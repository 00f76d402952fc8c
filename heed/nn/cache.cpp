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

// The row behind `after`, else the first of a run that is free as a whole. Others are taken where more than half are free,
// as after many hypotheses that ended.
int64_t CachePool::free_row(int64_t after) {
  constexpr int64_t kSmall = 1024;
  const int64_t next = after + 1;
  if (after >= 0 && next % kRun != 0 && holders_[static_cast<size_t>(next)] == 0) return next;
  if (whole_runs_.empty() && (capacity_ < kSmall || free_ <= capacity_ / 2)) grow(std::max(2 * capacity_, kRun));
  if (!whole_runs_.empty()) {
    const int64_t run = whole_runs_.back();
    whole_runs_.pop_back();
    return run * kRun;
  }
  while (holders_[static_cast<size_t>(single_)] != 0) single_ = (single_ + 1) % capacity_;
  return single_;
}

std::vector<int32_t> CachePool::take(int64_t rows, int32_t after) {
  std::vector<int32_t> taken;
  for (int64_t row = after; static_cast<int64_t>(taken.size()) < rows;) {
    row = free_row(row);
    taken.push_back(static_cast<int32_t>(row));
    holders_[static_cast<size_t>(row)] = 1;
    --free_in_run_[static_cast<size_t>(row / kRun)];
    --free_;
  }
  return taken;
}

void CachePool::share(std::span<const int32_t> rows) {
  for (const int32_t row : rows) ++holders_[static_cast<size_t>(row)];
}

void CachePool::give(std::span<const int32_t> rows) {
  for (const int32_t row : rows) {
    if (--holders_[static_cast<size_t>(row)] > 0) continue;
    ++free_;
    if (++free_in_run_[static_cast<size_t>(row / kRun)] == kRun) whole_runs_.push_back(row / kRun);
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
  for (int64_t run = capacity / kRun; run > capacity_ / kRun;) whole_runs_.push_back(--run);  // the first is taken first
  free_in_run_.resize(static_cast<size_t>(capacity / kRun), kRun);
  holders_.resize(static_cast<size_t>(capacity));
  free_ += capacity - capacity_;
  capacity_ = capacity;
}

std::vector<LayerCache> CachePool::layers(const CacheRows& rows) const {
  std::vector<LayerCache> all;
  for (size_t i = 0; i < keys_.size(); ++i) all.push_back({keys_[i], values_[i], &rows});
  return all;
}

}  // namespace heed::nn
