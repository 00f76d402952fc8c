// Where the sequences of a ragged batch lie in its (tokens, features) matrix. A cheap shared handle.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heed/kernels/dropout.h"

namespace heed {

class Spans {
 public:
  Spans() = default;
  // `first_id` numbers the sequences within the global batch; dropout is keyed by it.
  explicit Spans(std::span<const int64_t> lengths, uint32_t first_id = 0);
  // Sequences that go on: the first row of each is at this position.
  static Spans from_positions(std::span<const int64_t> lengths, std::span<const int64_t> first_positions);
  static Spans dense(int64_t sequences, int64_t length);  // all of one length

  int64_t count() const { return data_ ? static_cast<int64_t>(data_->ids.size()) : 0; }
  int64_t tokens() const { return data_ ? data_->offsets.back() : 0; }
  int64_t length(int64_t sequence) const { return data_->offsets[sequence + 1] - data_->offsets[sequence]; }
  int64_t longest() const { return data_ ? data_->longest : 0; }
  int64_t positions_end() const { return data_ ? data_->positions_end : 0; }  // after the last position of any row
  const int32_t* offsets() const { return data_ ? data_->offsets.data() : nullptr; }
  const uint32_t* ids() const { return data_ ? data_->ids.data() : nullptr; }
  // Of each row in its sequence.
  std::span<const uint32_t> positions() const { return data_ ? data_->position : std::span<const uint32_t>(); }
  kernels::RowIds row_ids() const { return {data_ ? data_->sequence.data() : nullptr, positions().data()}; }

 private:
  Spans(std::span<const int64_t> lengths, std::span<const int64_t> first_positions, uint32_t first_id);

  struct Data {
    std::vector<int32_t> offsets;
    std::vector<uint32_t> ids, sequence, position;
    int64_t longest = 0, positions_end = 0;
  };
  std::shared_ptr<const Data> data_;
};

}  // namespace heed
