#include "heed/base/error.h"

#include <algorithm>
#include <numeric>

namespace heed {
namespace {

// Letters put in, left out, changed, or swapped with their neighbour.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> above(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], above[j - 2] + 1);
    }
    std::swap(above, row);
    std::swap(row, next);
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  name = name.substr(0, 64);
  std::string best;
  // A third of the letters may be wrong; the dashes of a flag are not among them.
  const size_t letters = name.size() - std::min(name.find_first_not_of('-'), name.size());
  if (letters < 2) return best;
  size_t best_distance = std::max<size_t>(1, letters / 3);
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance > best_distance || (distance == best_distance && !best.empty())) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string nearest_is(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? "" : "; nearest is '" + near + "'";
}

}  // namespace heed
