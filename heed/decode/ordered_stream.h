// A stream of requests through one running batch: answers come in the order of the requests, while the rest is still
// being read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace heed::decode {

enum class Input { kReady, kNotYet, kEnd };

struct StreamLimits {
  int64_t batch_tokens = 8192;  // that run together, about
  int64_t window = 1024;        // requests read ahead
};

// Work runs requests: join(requests), step() -> answers, running(), cost(request) in tokens, comes_first(a, b) among
// those that wait, and done_at_once(request, answer) for what needs no step. Requests and answers have number and sample.
template <class Work, class Request, class Answer>
class OrderedStream {
 public:
  using Next = std::function<Input(Request&, bool wait)>;
  using Give = std::function<void(Answer)>;

  OrderedStream(Work& work, const StreamLimits& limits, const Next& next, const Give& give)
      : work_(work), limits_(limits), next_(next), give_(give) {}

  void run() {
    while (true) {
      read_window();
      if (waiting_.empty() && work_.running() == 0) {
        if (ended_) return;
        continue;
      }
      work_.join(first_that_fit());
      for (Answer& answer : work_.step()) keep(std::move(answer));
      give_in_order();
    }
  }

 private:
  using Key = std::pair<int64_t, int64_t>;

  // Waits for input only when there is nothing else to do.
  void read_window() {
    bool fresh = false;
    // What is done and waits for an earlier one counts too: else a short line could wait as long as longer ones come.
    while (!ended_ && static_cast<int64_t>(waiting_.size() + done_.size()) < limits_.window) {
      const bool idle = waiting_.empty() && work_.running() == 0;
      Request request;
      const Input input = next_(request, idle);
      if (input == Input::kNotYet) break;
      if (input == Input::kEnd) {
        ended_ = true;
        break;
      }
      expected_.push_back({request.number, request.sample});
      if (Answer answer; work_.done_at_once(request, answer)) {
        keep(std::move(answer));
        give_in_order();
        continue;
      }
      waiting_.push_back(std::move(request));
      fresh = true;
    }
    if (!fresh) return;
    // They are taken from the end.
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [this](const Request& a, const Request& b) { return work_.comes_first(b, a); });
  }

  // New requests join in groups, since reading one alone is slow.
  std::vector<Request> first_that_fit() {
    const int64_t room = limits_.batch_tokens - running_tokens_;
    if (work_.running() > 0 && room < limits_.batch_tokens / 4) return {};
    std::vector<Request> joining;
    int64_t taken = 0;
    while (!waiting_.empty()) {
      const int64_t cost = work_.cost(waiting_.back());
      const bool nothing_runs = work_.running() == 0 && joining.empty();
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

  Work& work_;
  StreamLimits limits_;
  const Next& next_;
  const Give& give_;
  std::vector<Request> waiting_;
  std::vector<Key> expected_;
  std::map<Key, Answer> done_;
  std::map<Key, int64_t> cost_;
  int64_t running_tokens_ = 0;
  bool ended_ = false;
};

}  // namespace heed::decode
