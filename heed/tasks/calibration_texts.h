// Texts that a language model is run over before its weights get fewer bits: given ones, or such as it writes itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "heed/tasks/generator.h"

namespace heed::tasks {

struct CalibrationConfig {
  int64_t tokens = 49152;    // about so many in all
  int64_t longest = 512;     // tokens of a text, or the context where that is shorter
  uint64_t seed = 20170612;  // of what the model writes
};

// A text in pieces from all of it, each behind the start that the model knows; none where it has no tokens to learn from.
std::vector<std::vector<int32_t>> calibration_pieces(const GeneratorView& generator, std::string_view text,
                                                     const CalibrationConfig& config = {});
// Drawn by the model, from its start or, where it has none, from one of its ids. None where it gives no numbers.
// on_progress(share) is called now and then.
std::vector<std::vector<int32_t>> drawn_texts(const models::Decoder& model, const CalibrationConfig& config = {},
                                              const std::function<void(double)>& on_progress = {});

}  // namespace heed::tasks
