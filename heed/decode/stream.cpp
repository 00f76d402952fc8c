#include "heed/decode/stream.h"

#include <utility>

namespace heed::decode {
namespace {

// Sentences of a batch: the longest first, an empty one is answered at once.
struct Sentences {
  Translation translation;
  int64_t beam;

  int64_t running() const { return translation.sentences(); }
  void join(const std::vector<Request>& requests) { translation.join(requests); }
  std::vector<Answer> step() { return translation.step(); }
  int64_t cost(const Request& request) const { return static_cast<int64_t>(request.source.size()) * beam; }
  static bool comes_first(const Request& a, const Request& b) { return a.source.size() > b.source.size(); }
  static bool done_at_once(const Request& request, Answer& answer) {
    if (!request.source.empty()) return false;
    answer = {request.number, request.sample, {Hypothesis{{}, 0, 0, true}}};
    return true;
  }
};

}  // namespace

DecodeIds decode_ids(const models::ModelConfig& config, const std::vector<int32_t>& never) {
  DecodeIds ids{config.tokens.start, config.tokens.eos, never};
  for (const int32_t id : {config.tokens.unk, config.tokens.pad}) {
    if (id >= 0) ids.never.push_back(id);
  }
  return ids;
}

void translate_stream(const models::EncoderDecoder& model, const StreamConfig& config,
                      const std::function<Input(Request&, bool)>& next, const std::function<void(Answer)>& give) {
  Sentences sentences{{model, config.search, decode_ids(model.config, config.never)}, config.search.beam};
  OrderedStream<Sentences, Request, Answer>(sentences, {config.batch_tokens, config.window}, next, give).run();
}

std::vector<Answer> translate_all(const models::EncoderDecoder& model, const StreamConfig& config,
                                  std::vector<Request> requests) {
  std::vector<Answer> answers;
  size_t at = 0;
  const auto next = [&](Request& request, bool) {
    if (at == requests.size()) return Input::kEnd;
    request = std::move(requests[at++]);
    return Input::kReady;
  };
  translate_stream(model, config, next, [&](Answer answer) { answers.push_back(std::move(answer)); });
  return answers;
}

}  // namespace heed::decode
