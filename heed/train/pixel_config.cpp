// The config of a model of images: its own data, and the decoder of a language model (lm_config.cpp).
#include <fmt/format.h>

#include <set>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/train/task_config.h"

namespace heed::train {
namespace {

TrainConfig defaults() {
  TrainConfig c = lm_task_config().defaults();
  c.task = "pixels";
  c.valid.samples = 16;
  return c;
}

std::vector<ConfigField> data_fields(TrainConfig::Data& d) {
  return {
      {"data.images", &d.images, "IDX files (.gz too), or folders of PNG files, a folder for each class in them"},
      {"data.labels", &d.labels, "IDX files of labels, one for each of the images'"},
      {"data.valid_images", &d.valid_images, "images to validate with"},
      {"data.valid_labels", &d.valid_labels, "their labels"},
      {"data.valid_share", &d.valid_share, "of the images, where none are named to validate with; 0: none", {}, 0, 0.9},
      {"data.classes", &d.classes, "names of the labels 0, 1, ...; without them their numbers"},
      {"data.by_class", &d.by_class, "images begin with their class, where they have one, and can be asked for by it"},
      {"data.size",
       &d.size,
       "pixels of a row that images are reduced to, by means of squares; 0: as they are",
       {},
       0,
       4096},
      {"data.levels", &d.levels, "of grey", {}, 2, 256},
  };
}

// Of a language model's fields those that mean the same here. An image is its own context, and its ids are no other
// model's.
void add_shared(std::vector<ConfigField>& all, const std::vector<ConfigField>& of_text) {
  static const std::set<std::string> kNotOurs = {"model.from", "model.context", "valid.samples", "valid.max_tokens"};
  for (const ConfigField& field : of_text) {
    const std::string key = field.key;
    const bool ours = key.starts_with("valid.") || (key.starts_with("model.") && !key.starts_with("model.lora"));
    if (ours && kNotOurs.count(key) == 0) all.push_back(field);
  }
}

std::vector<ConfigField> fields(TrainConfig& c) {
  std::vector<ConfigField> all = data_fields(c.data);
  add_shared(all, lm_task_config().fields(c));
  return all;
}

std::vector<ConfigField> valid_fields(TrainConfig& c) {
  TrainConfig::Valid& v = c.valid;
  std::vector<ConfigField> all = {
      {"valid.samples", &v.samples, "images drawn each time, in MODEL/samples.png", {}, 0, 1024},
      {"valid.max_images", &v.max_images, "that are measured each time, evenly from all; 0: all"},
  };
  add_shared(all, lm_task_config().valid_fields(c));
  return all;
}

void check(const TrainConfig& config) {
  const TrainConfig::Data& d = config.data;
  if (d.images.empty()) fail("[config] no images to train with: expected data.images (--images F)");
  const auto one_for_each = [](const char* key, size_t labels, size_t images) {
    if (labels == 0 || labels == images) return;
    fail("[config] data.{} names {} files for {} of images: expected one for each", key, labels, images);
  };
  one_for_each("labels", d.labels.size(), d.images.size());
  one_for_each("valid_labels", d.valid_labels.size(), d.valid_images.size());
  std::set<std::string> names;
  for (const std::string& name : d.classes) {
    if (name.empty() || !names.insert(name).second)
      fail("[config] data.classes has {} twice, or without a letter: expected a name for each", in_quotes(name));
  }
}

// The steps of tiny are minutes of two cores, those of small hours, those of base days of sixteen.
const char* auto_preset(int64_t pixels, int64_t cores) {
  constexpr int64_t kMega = 1'000'000;
  if (pixels < 2 * kMega || (pixels < 100 * kMega && cores < 8)) return "tiny";
  return pixels < 1000 * kMega || cores < 16 ? "small" : "base";
}

std::string resolve(TrainConfig& c, int64_t pixels, const Machine& machine) {
  std::string said;
  if (c.model.preset == "auto") {
    c.model.preset = auto_preset(pixels, machine.cores);
    said = fmt::format("preset {}: {:.1f} million pixels, {} cores", c.model.preset, 1e-6 * static_cast<double>(pixels),
                       machine.cores);
  }
  const std::string more = lm_task_config().resolve(c, pixels, machine);
  return said + (said.empty() || more.empty() ? "" : "; ") + more;
}

}  // namespace

const TaskConfig& pixel_task_config() {
  const auto validates = [](const TrainConfig::Data& d) { return !d.valid_images.empty() || d.valid_share > 0; };
  static const TaskConfig task{"pixels", defaults,  fields,  valid_fields,
                               check,    validates, resolve, lm_task_config().model};
  return task;
}

}  // namespace heed::train
