#include "heed/tensor/spans.h"

#include <algorithm>
#include <limits>

#include "heed/base/error.h"

namespace heed {

Spans::Spans(std::span<const int64_t> lengths, uint32_t first_id) {
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
    for (int64_t p = 0; p < n; ++p) {
      data->sequence.push_back(id);
      data->position.push_back(static_cast<uint32_t>(p));
    }
  }
  data_ = std::move(data);
}

Spans Spans::dense(int64_t sequences, int64_t length) {
  // As many sequences as offsets can count; a vector of that many lengths would be asked for first.
  if (sequences < 0 || sequences >= std::numeric_limits<int32_t>::max()) fail("[spans] {} sequences", sequences);
  return Spans(std::vector<int64_t>(static_cast<size_t>(sequences), length));
}

}  // namespace heed
