#include "heed/decode/stream.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heed::decode {
namespace {

class Stream {
 public:
  Stream(const models::EncoderDecoder& model, const StreamConfig& config,
         const std::function<Input(Request&, bool)>& next, const std::function<void(Answer)>& give)
      : config_(config),
        translation_(model, config.search, decode_ids(model.config, config.known_ids)),
        next_(next),
        give_(give) {}

  void run() {
    while (true) {
      read_window();
      if (waiting_.empty() && translation_.sentences() == 0) {
        if (ended_) return;
        continue;
      }
      translation_.join(longest_that_fit());
      for (Answer& answer : translation_.step()) keep(std::move(answer));
      give_in_order();
    }
  }

 private:
  using Key = std::pair<int64_t, int64_t>;

  // Waits for input only when there is nothing else to do.
  void read_window() {
    bool fresh = false;
    // What is done and waits for an earlier one counts too: else a short line could wait as long as longer ones come.
    while (!ended_ && static_cast<int64_t>(waiting_.size() + done_.size()) < config_.window) {
      const bool idle = waiting_.empty() && translation_.sentences() == 0;
      Request request;
      const Input input = next_(request, idle);
      if (input == Input::kNotYet) break;
      if (input == Input::kEnd) {
        ended_ = true;
        break;
      }
      expected_.push_back({request.number, request.sample});
      if (request.source.empty()) {
        keep({request.number, request.sample, {Hypothesis{{}, 0, 0, true}}});
        give_in_order();
        continue;
      }
      waiting_.push_back(std::move(request));
      fresh = true;
    }
    if (!fresh) return;
    // The shortest first: they are taken from the end.
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const Request& a, const Request& b) { return a.source.size() < b.source.size(); });
  }

  // New sentences join in groups, since encoding one alone is slow.
  std::vector<Request> longest_that_fit() {
    const int64_t room = config_.batch_tokens - running_tokens_;
    if (translation_.sentences() > 0 && room < config_.batch_tokens / 4) return {};
    std::vector<Request> joining;
    int64_t taken = 0;
    while (!waiting_.empty()) {
      const int64_t cost = static_cast<int64_t>(waiting_.back().source.size()) * config_.search.beam;
      const bool nothing_runs = translation_.sentences() == 0 && joining.empty();
      if (taken + cost > room && !nothing_runs) break;
      taken += cost;
      cost_[{waiting_.back().number, waiting_.back().sample}] = cost;
      joining.push_back(std::move(waiting_.back()));
      waiting_.pop_back();
    }
    running_tokens_ += taken;
    return joining;
  }

  void keep(Answer answer) {
    const Key key{answer.number, answer.sample};
    if (const auto it = cost_.find(key); it != cost_.end()) {
      running_tokens_ -= it->second;
      cost_.erase(it);
    }
    done_.emplace(key, std::move(answer));
  }

  void give_in_order() {
    size_t given = 0;
    for (; given < expected_.size(); ++given) {
      const auto it = done_.find(expected_[given]);
      if (it == done_.end()) break;
      give_(std::move(it->second));
      done_.erase(it);
    }
    expected_.erase(expected_.begin(), expected_.begin() + static_cast<int64_t>(given));
  }

  StreamConfig config_;
  Translation translation_;
  const std::function<Input(Request&, bool)>& next_;
  const std::function<void(Answer)>& give_;
  std::vector<Request> waiting_;
  std::vector<Key> expected_;
  std::map<Key, Answer> done_;
  std::map<Key, int64_t> cost_;
  int64_t running_tokens_ = 0;
  bool ended_ = false;
};

}  // namespace

DecodeIds decode_ids(const models::ModelConfig& config, int64_t known_ids) {
  DecodeIds ids{config.tokens.start, config.tokens.eos, {}};
  for (const int32_t id : {config.tokens.unk, config.tokens.pad}) {
    if (id >= 0) ids.never.push_back(id);
  }
  for (int64_t id = known_ids; known_ids > 0 && id < config.vocabulary; ++id) {
    ids.never.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

void translate_stream(const models::EncoderDecoder& model, const StreamConfig& config,
                      const std::function<Input(Request&, bool)>& next, const std::function<void(Answer)>& give) {
  Stream(model, config, next, give).run();
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
