// A stream of sentences through one running batch of a translator; see ordered_stream.h.
#pragma once

#include <functional>

#include "heed/decode/ordered_stream.h"
#include "heed/decode/translation.h"

namespace heed::decode {

struct StreamConfig {
  SearchConfig search;
  int64_t batch_tokens = 8192;      // source tokens times hypotheses that run together, about
  int64_t window = 1024;            // sentences read ahead, of which the longest run first
  std::vector<int32_t> never = {};  // ids that are not said, beside unk and pad
};

// next(request, wait): the next one, numbered 0, 1, 2, ...; kNotYet only where it may not wait. An empty source is
// answered with an empty hypothesis. give(answer) is called in the order of numbers and, within one, of samples.
void translate_stream(const models::EncoderDecoder& model, const StreamConfig& config,
                      const std::function<Input(Request&, bool wait)>& next, const std::function<void(Answer)>& give);

// The same for sentences that are all there.
std::vector<Answer> translate_all(const models::EncoderDecoder& model, const StreamConfig& config,
                                  std::vector<Request> requests);

DecodeIds decode_ids(const models::ModelConfig& config, const std::vector<int32_t>& never = {});

}  // namespace heed::decode
