// Hangul for PNG pictures: a syllable is composed of its letters, each a few strokes.
#pragma once

#include <vector>

#include "heed/cli/scene.h"

namespace heed::cli {

// Whether `c` is one of the 11,172 syllables or a single letter.
bool is_hangul(char32_t c);
// Closed outlines in units of the em, y upwards from the base line; the advance is one em.
std::vector<std::vector<Point>> hangul_outlines(char32_t c);

}  // namespace heed::cli
