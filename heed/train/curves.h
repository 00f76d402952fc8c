// The curves of a run as a picture.
#pragma once

#include <string>

namespace heed::train {

// Loss, validation loss, BLEU and learning rate over steps, from the lines of metrics.jsonl; lines that say something else
// are left out.
std::string curves_svg(const std::string& jsonl);

}  // namespace heed::train
