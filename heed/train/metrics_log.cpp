#include "heed/train/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/bounded_json.h"

namespace heed::train {
namespace {

using nlohmann::json;

// JSON has no NaN.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

}  // namespace

void MetricsLog::open_at(int64_t bytes) {
  const int fd = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) fail_file("[train] cannot open '{}': {}", path(), std::strerror(errno));
  file_.reset(::fdopen(fd, "w"));
  const off_t size = ::lseek(fd, 0, SEEK_END);
  bytes_ = std::min<int64_t>(bytes, size);
  if (::ftruncate(fd, bytes_) != 0 || ::lseek(fd, bytes_, SEEK_SET) < 0) {
    fail_file("[train] cannot cut '{}': {}", path(), std::strerror(errno));
  }
  read_curves();
}

void MetricsLog::read_curves() {
  curves_ = {};
  std::ifstream lines(path(), std::ios::binary);
  for (std::string line; std::getline(lines, line);) curves_.add(parse_bounded(line));
}

void MetricsLog::add_line(const json& line) {
  if (!file_) return;
  const std::string whole = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (std::fwrite(whole.data(), 1, whole.size(), file_.get()) != whole.size() || std::fflush(file_.get()) != 0) {
    fail_file("[train] cannot write '{}': {}", path(), std::strerror(errno));
  }
  bytes_ += static_cast<int64_t>(whole.size());
  curves_.add(line);
}

void MetricsLog::add(const StepReport& r) {
  add_line(json{{"step", r.step},
                {"epoch", r.epoch},
                {"loss", number(r.loss)},
                {"perplexity", number(r.perplexity)},
                {"learning_rate", r.learning_rate},
                {"gradient_norm", number(r.gradient_norm)},
                {"tokens_per_second", number(r.tokens_per_second)},
                {"seconds", r.seconds}});
}

void MetricsLog::add(const ValidationReport& r) {
  json line{{"step", r.step},
            {"epoch", r.epoch},
            {"valid_loss", number(r.loss)},
            {"valid_perplexity", number(r.perplexity)},
            {"best", r.best},
            {"seconds", r.seconds}};
  if (r.bleu >= 0) line["bleu"] = r.bleu, line["chrf"] = r.chrf;
  if (r.bits_per_byte >= 0) line["bits_per_byte"] = number(r.bits_per_byte);
  if (r.bits_per_dim >= 0) line["bits_per_dim"] = number(r.bits_per_dim);
  if (!r.texts.empty()) line["texts"] = r.texts;
  for (const SampleTranslation& s : r.samples) {
    line["samples"].push_back({{"source", s.source}, {"reference", s.reference}, {"translation", s.translation}});
  }
  add_line(line);
}

void MetricsLog::draw_curves() {
  if (drawn_ == bytes_) return;
  write_file_atomically(folder_ + "/curves.svg", curves_.svg());
  drawn_ = bytes_;
}

}  // namespace heed::train
