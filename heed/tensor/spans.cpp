#include "heed/tensor/spans.h"

#include <algorithm>
#include <limits>

#include "heed/base/error.h"

namespace heed {

Spans::Spans(std::span<const int64_t> lengths, uint32_t first_id) : Spans(lengths, {}, first_id) {}

Spans::Spans(std::span<const int64_t> lengths, std::span<const int64_t> first_positions, uint32_t first_id) {
  if (!first_positions.empty() && first_positions.size() != lengths.size()) {
    fail("[spans] {} first positions of {} sequences", first_positions.size(), lengths.size());
  }
  auto data = std::make_shared<Data>();
  data->offsets.push_back(0);
  int64_t end = 0;
  for (size_t s = 0; s < lengths.size(); ++s) {
    const int64_t n = lengths[s];
    if (n < 0 || n > std::numeric_limits<int32_t>::max() - end) fail("[spans] length {} of sequence {}", n, s);
    const uint32_t id = first_id + static_cast<uint32_t>(s);
    end += n;
    data->longest = std::max(data->longest, n);
    data->offsets.push_back(static_cast<int32_t>(end));
    data->ids.push_back(id);
    const int64_t first = first_positions.empty() ? 0 : first_positions[s];
    if (first < 0 || first > std::numeric_limits<int32_t>::max() - n)
      fail("[spans] position {} of sequence {}", first, s);
    if (n > 0) data->positions_end = std::max(data->positions_end, first + n);
    for (int64_t p = first; p < first + n; ++p) {
      data->sequence.push_back(id);
      data->position.push_back(static_cast<uint32_t>(p));
    }
  }
  data_ = std::move(data);
}

Spans Spans::from_positions(std::span<const int64_t> lengths, std::span<const int64_t> first_positions) {
  return Spans(lengths, first_positions, 0);
}

Spans Spans::dense(int64_t sequences, int64_t length) {
  // As many sequences as offsets can count; a vector of that many lengths would be asked for first.
  if (sequences < 0 || sequences >= std::numeric_limits<int32_t>::max()) fail("[spans] {} sequences", sequences);
  return Spans(std::vector<int64_t>(static_cast<size_t>(sequences), length));
}

}  // namespace heed
