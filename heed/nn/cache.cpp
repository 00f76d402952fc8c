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

bool CachePool::is_free_behind(int64_t row) const {
  return row >= 0 && (row + 1) % kRun != 0 && holders_[static_cast<size_t>(row) + 1] == 0;
}

// Whole runs for as many rows, before any is taken. Single rows do where more than half are free, as after many hypotheses
// that ended.
void CachePool::make_room(int64_t rows, int64_t after) {
  constexpr int64_t kSmall = 1024;
  for (; rows > 0 && is_free_behind(after); ++after) --rows;
  if (static_cast<int64_t>(whole_runs_.size()) * kRun >= rows) return;
  if (free_ >= rows && capacity_ >= kSmall && free_ > capacity_ / 2) return;
  grow((std::max(2 * capacity_, capacity_ + rows) + kRun - 1) / kRun * kRun);
}

// The row behind `after`, else the first of a run that is free as a whole, else any.
int64_t CachePool::free_row(int64_t after) {
  if (is_free_behind(after)) return after + 1;
  if (!whole_runs_.empty()) {
    const int64_t run = whole_runs_.back();
    whole_runs_.pop_back();
    return run * kRun;
  }
  while (holders_[static_cast<size_t>(single_)] != 0) single_ = (single_ + 1) % capacity_;
  return single_;
}

std::vector<int32_t> CachePool::take(int64_t rows, int32_t after) {
  if (after >= 0 && holders_[static_cast<size_t>(after)] == 0) fail("[cache] behind row {}, which nobody holds", after);
  make_room(rows, after);
  std::vector<int32_t> taken(static_cast<size_t>(rows));
  int64_t row = after;
  for (int32_t& one : taken) {
    row = free_row(row);
    one = static_cast<int32_t>(row);
    holders_[static_cast<size_t>(row)] = 1;
    --free_in_run_[static_cast<size_t>(row / kRun)];
    --free_;
  }
  return taken;
}

void CachePool::share(std::span<const int32_t> rows) {
  for (const int32_t row : rows) ++holders_[static_cast<size_t>(row)];
}

// From the last to the first: whoever comes next gets the runs in their order.
void CachePool::give(std::span<const int32_t> rows) {
  for (auto it = rows.rbegin(); it != rows.rend(); ++it) {
    const int32_t row = *it;
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
  for (int64_t run = capacity / kRun; run > capacity_ / kRun;)
    whole_runs_.push_back(--run);  // the first is taken first
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
