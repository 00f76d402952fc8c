#include "heed/tasks/text_stream.h"

#include <algorithm>

#include "heed/text/unicode.h"

namespace heed::tasks {
namespace {

// How many bytes at the end of `text` may be the start of `stop`.
size_t possible_start(std::string_view text, std::string_view stop) {
  size_t n = std::min(text.size(), stop.size() - 1);
  while (n > 0 && text.substr(text.size() - n) != stop.substr(0, n)) --n;
  return n;
}

}  // namespace

std::string GrowingText::add(std::string_view bytes) {
  bytes_ += bytes;
  const size_t ready = bytes_.size() - text::unfinished_bytes(bytes_);
  std::string text = text::replace_invalid(std::string_view(bytes_).substr(0, ready));
  bytes_.erase(0, ready);
  return take(std::move(text));
}

std::string GrowingText::finish() {
  std::string text = take(text::replace_invalid(bytes_));
  bytes_.clear();
  if (!stopped_) text += held_;
  held_.clear();
  return text;
}

std::string GrowingText::take(const std::string& text) {
  if (stopped_) return "";
  held_ += text;
  size_t end = std::string::npos, begin = held_.size(), kept = 0;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) {
      kept = std::max(kept, possible_start(held_, stop));
    } else if (at + stop.size() < end || (at + stop.size() == end && at < begin)) {
      begin = at, end = at + stop.size();
    }
  }
  stopped_ = end != std::string::npos;
  const size_t ready = stopped_ ? begin : held_.size() - kept;
  std::string certain = held_.substr(0, ready);
  held_.erase(0, ready);
  return certain;
}

}  // namespace heed::tasks
