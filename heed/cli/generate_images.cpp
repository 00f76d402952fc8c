#include "heed/cli/generate_images.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/scene.h"
#include "heed/data/image_corpus.h"
#include "heed/models/directory.h"
#include "heed/tasks/image_grid.h"

namespace heed::cli {
namespace {

constexpr const char* kImageFlags[] = {"--images", "--out", "--class", "--complete"};
constexpr const char* kTextFlags[] = {"--prompt",
                                      "--input",
                                      "--interactive",
                                      "--output",
                                      "--max-tokens",
                                      "--stop",
                                      "--samples",
                                      "--beam",
                                      "--window",
                                      "--logprobs",
                                      "--repetition-penalty",
                                      "--presence-penalty",
                                      "--frequency-penalty",
                                      "--ban",
                                      "--chat",
                                      "--system",
                                      "--base",
                                      "--bias"};

void check_flags(const CLI::App* app, const std::string& model, const ImageOptions& o) {
  for (const char* flag : kTextFlags) {
    if (given(app, flag)) fail("[generate] {} is for text: '{}' is a model of images", flag, model);
  }
  const bool asked = given(app, "--images") || given(app, "--complete");
  if (!asked || !given(app, "--out")) {
    fail("[generate] '{}' is a model of images: expected --images N or --complete F, and --out grid.png", model);
  }
  if (!o.out.ends_with(".png")) fail("[generate] --out '{}': expected a name that ends with .png", o.out);
  check_picture_path("[generate]", o.out);
}

// By its name, or by its number.
int64_t class_named(const std::string& typed, const std::vector<std::string>& classes) {
  if (classes.empty()) fail("[generate] --class {}: the model was trained without classes", in_quotes(typed));
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == typed) return static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    if (std::to_string(i) == typed) return static_cast<int64_t>(i);
  }
  const std::string near = nearest(typed, classes);
  if (!near.empty()) fail("[generate] --class {} is unknown: did you mean '{}'?", in_quotes(typed), near);
  fail("[generate] --class {} is unknown: expected {}, or 0 to {}", in_quotes(typed),
       printable(fmt::format("{}", fmt::join(classes, ", ")), 300), classes.size() - 1);
}

// The upper halves of the first images.
std::vector<std::vector<int32_t>> upper_halves(const ImageOptions& o, const data::PixelFormat& format) {
  data::ImageCorpus corpus(
      {.images = {o.complete}, .with_classes = false, .width = format.width, .height = format.height});
  std::vector<std::vector<int32_t>> given;
  data::Image image;
  while (static_cast<int64_t>(given.size()) < o.images && corpus.next(image)) {
    given.push_back(data::levels_of(image.grey, format.levels));
    given.back().resize(static_cast<size_t>(format.height / 2 * format.width));
  }
  if (given.empty()) fail_file("[generate] '{}' has no images", o.complete);
  return given;
}

std::vector<tasks::PaintRequest> requests_of(const CLI::App* app, const ImageOptions& o,
                                             const tasks::Painter& painter) {
  const int64_t asked = given(app, "--class") ? class_named(o.of_class, painter.format.classes) : -1;
  if (!given(app, "--complete")) {
    return asked >= 0 ? tasks::of_class(asked, o.images) : tasks::of_each_class(painter.format, o.images);
  }
  const std::vector<std::vector<int32_t>> halves = upper_halves(o, painter.format);
  const std::vector<int64_t> classes =
      asked >= 0 ? std::vector<int64_t>(halves.size(), asked) : tasks::likeliest_classes(painter, halves);
  std::vector<tasks::PaintRequest> requests;
  for (size_t i = 0; i < halves.size(); ++i) requests.push_back({classes[i], halves[i]});
  return requests;
}

// Of given images what was given stands before what was made of it.
RgbImage grid_of(const std::vector<tasks::PaintRequest>& requests, const std::vector<tasks::Painted>& painted,
                 int64_t columns, const data::PixelFormat& format) {
  std::vector<RgbImage> pictures;
  for (size_t i = 0; i < painted.size(); ++i) {
    const GreyImage image = data::image_of(painted[i].levels, format);
    const auto known = static_cast<int64_t>(requests[i].given.size());
    if (known > 0) pictures.push_back(tasks::picture_of(image, known));
    pictures.push_back(tasks::picture_of(image));
  }
  return tasks::image_grid(pictures, columns);
}

// Pairs of given and drawn side by side, or a class each, or (0) a square.
int64_t columns_for(const CLI::App* app, int64_t images, const data::PixelFormat& format) {
  if (given(app, "--complete")) return 2 * static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(images) / 2)));
  return given(app, "--class") ? 0 : tasks::columns_of_classes(format, images);
}

void print_json(const std::vector<tasks::PaintRequest>& requests, const std::vector<tasks::Painted>& painted,
                const data::PixelFormat& format) {
  for (size_t i = 0; i < painted.size(); ++i) {
    const tasks::Painted& p = painted[i];
    const auto drawn = static_cast<double>(p.levels.size() - requests[i].given.size());
    nlohmann::json j = {{"image", i},
                        {"class", nullptr},
                        {"given", requests[i].given.size()},
                        {"log_probability", p.log_probability},
                        {"bits_per_dim", -p.log_probability / (std::numbers::ln2 * drawn)},
                        {"levels", p.levels}};
    if (p.of_class >= 0) j["class"] = format.classes[static_cast<size_t>(p.of_class)];
    print(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
}

}  // namespace

void add_image_flags(CLI::App* app, ImageOptions& o) {
  add_whole(app, "--images", o.images, {1, 4096}, "of a model of images: draw so many, their classes in turn");
  add_text(app, "--out", o.out, "the picture to write, a grid of them", "GRID.png");
  add_text(app, "--class", o.of_class, "all of this class: its name or number", "C");
  add_text(
      app, "--complete", o.complete,
      "draw the lower halves of given images, 16 without --images: an IDX file, .gz too, or a folder of PNG files; "
      "without --class each is of the class that its upper half is likeliest in",
      "F");
}

bool draws_images(const CLI::App* app, const models::ModelFolder& model) {
  const bool of_images = data::PixelFormat::in(model.path), by_ids = given(app, "--ids");
  for (const char* flag : kImageFlags) {
    if (!given(app, flag)) continue;
    if (of_images && by_ids) fail("[generate] {} with --ids: expected one of them", flag);
    if (of_images) continue;
    models::read_config(model);  // a folder that is none is told first
    fail("[generate] {} is for models of images: '{}' is none", flag, model.path);
  }
  return of_images && !by_ids;
}

void generate_images(const CLI::App* app, const std::string& model, const ImageOptions& o,
                     const tasks::PaintConfig& config, const Common& common) {
  check_flags(app, model, o);
  config.sampling.check();
  const tasks::Painter painter = tasks::Painter::open(model);
  const std::vector<tasks::PaintRequest> requests = requests_of(app, o, painter);
  const std::vector<tasks::Painted> painted = tasks::paint(painter, config, requests);
  const int64_t columns = columns_for(app, static_cast<int64_t>(painted.size()), painter.format);
  write_png(o.out, grid_of(requests, painted, columns, painter.format));
  if (common.json) print_json(requests, painted, painter.format);
  message(common, fmt::format("{} images of {} x {} pixels are in '{}'", painted.size(), painter.format.width,
                              painter.format.height, o.out));
}

}  // namespace heed::cli
