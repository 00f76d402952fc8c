// A permutation that every machine draws alike.
#pragma once

#include <utility>
#include <vector>

#include "heed/base/random.h"

namespace heed::data {

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

}  // namespace heed::data
