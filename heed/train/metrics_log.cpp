#include "heed/train/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/train/curves.h"

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
}

void MetricsLog::add_line(const std::string& line) {
  if (!file_) return;
  const std::string whole = line + "\n";
  if (std::fwrite(whole.data(), 1, whole.size(), file_.get()) != whole.size() || std::fflush(file_.get()) != 0) {
    fail_file("[train] cannot write '{}': {}", path(), std::strerror(errno));
  }
  bytes_ += static_cast<int64_t>(whole.size());
}

void MetricsLog::add(const StepReport& r) {
  add_line(json{{"step", r.step},
                {"epoch", r.epoch},
                {"loss", number(r.loss)},
                {"perplexity", number(r.perplexity)},
                {"learning_rate", r.learning_rate},
                {"gradient_norm", number(r.gradient_norm)},
                {"tokens_per_second", number(r.tokens_per_second)},
                {"seconds", r.seconds}}
               .dump());
}

void MetricsLog::add(const ValidationReport& r) {
  json line{{"step", r.step},
            {"epoch", r.epoch},
            {"valid_loss", number(r.loss)},
            {"valid_perplexity", number(r.perplexity)},
            {"best", r.best},
            {"seconds", r.seconds}};
  if (r.bleu >= 0) line["bleu"] = r.bleu, line["chrf"] = r.chrf;
  for (const SampleTranslation& s : r.samples) {
    line["samples"].push_back({{"source", s.source}, {"reference", s.reference}, {"translation", s.translation}});
  }
  add_line(line.dump(-1, ' ', false, json::error_handler_t::replace));
}

void MetricsLog::draw_curves() const {
  std::ifstream file(path(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty()) write_file_atomically(folder_ + "/curves.svg", curves_svg(text));
}

}  // namespace heed::train
