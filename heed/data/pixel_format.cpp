#include "heed/data/pixel_format.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "heed/base/error.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"
#include "heed/text/own_file.h"
#include "heed/text/tokenizer.h"

namespace heed::data {
namespace {

constexpr int64_t kGreys = 256, kMostSide = 4096, kMostClasses = 65536;
constexpr size_t kMaxBytes = size_t{16} << 20;

const nlohmann::ordered_json& kind() {
  static const nlohmann::ordered_json kind = {{"type", "pixels"}, {"version", 1}};
  return kind;
}

int64_t number_in(const nlohmann::ordered_json& from, const char* key, int64_t least, int64_t most,
                  const std::string& label) {
  const auto found = from.find(key);
  if (found == from.end()) fail_file("[tokenizer] {}: lacks '{}'", label, key);
  const bool whole = found->is_number_integer() && (!found->is_number_unsigned() || found->get<uint64_t>() >> 63 == 0);
  if (!whole || found->get<int64_t>() < least || found->get<int64_t>() > most) {
    fail_file("[tokenizer] {}: '{}' is {}, expected {} to {}", label, key,
              found->is_structured() ? "a list or object" : printable(found->dump(-1, ' ', true), 64), least, most);
  }
  return found->get<int64_t>();
}

std::vector<std::string> classes_in(const nlohmann::ordered_json& from, const std::string& label) {
  const auto found = from.find("classes");
  if (found == from.end() || !found->is_array() || found->size() > kMostClasses) {
    fail_file("[tokenizer] {}: 'classes' is no list of at most {} names", label, kMostClasses);
  }
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const auto& name : *found) {
    if (!name.is_string() || name.get<std::string>().empty() || !seen.insert(name.get<std::string>()).second) {
      fail_file("[tokenizer] {}: class {} is no name, or that of another", label, names.size());
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

// The least grey of a level.
int64_t least_grey(int64_t level, int64_t levels) { return (kGreys * level + levels - 1) / levels; }

}  // namespace

int64_t PixelFormat::vocabulary() const { return levels + std::max<int64_t>(1, static_cast<int64_t>(classes.size())); }

int32_t PixelFormat::start(int64_t of_class) const {
  const bool right =
      classes.empty() ? of_class == -1 : of_class >= 0 && of_class < static_cast<int64_t>(classes.size());
  if (!right) fail("[images] class {} of {}: expected one of them", of_class, classes.size());
  return static_cast<int32_t>(levels + std::max<int64_t>(0, of_class));
}

std::string PixelFormat::json() const {
  nlohmann::ordered_json all = kind();
  all["width"] = width, all["height"] = height, all["levels"] = levels, all["classes"] = classes;
  return all.dump(1) + "\n";
}

PixelFormat PixelFormat::parse(const std::string& json, const std::string& label) {
  const nlohmann::ordered_json found = text::read_own_file(json, kind(), label, kMaxBytes);
  PixelFormat format;
  format.width = number_in(found, "width", 1, kMostSide, label);
  format.height = number_in(found, "height", 1, kMostSide, label);
  format.levels = number_in(found, "levels", 2, kGreys, label);
  format.classes = classes_in(found, label);
  return format;
}

PixelFormat PixelFormat::read(const std::string& folder) {
  const std::string path = folder + "/" + text::kPixelsFile;
  const MappedFile file(path);
  return parse({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

bool PixelFormat::in(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder + "/" + text::kPixelsFile, ignored);
}

int32_t level_of(uint8_t grey, int64_t levels) { return static_cast<int32_t>(grey * levels / kGreys); }

uint8_t grey_of(int32_t level, int64_t levels) {
  const int64_t even = (2 * level * (kGreys - 1) + levels - 1) / (2 * (levels - 1));
  return static_cast<uint8_t>(std::clamp(even, least_grey(level, levels), least_grey(level + 1, levels) - 1));
}

GreyImage reduced(const GreyImage& image, int64_t factor) {
  GreyImage small{image.width / factor, image.height / factor, {}};
  const int64_t of_square = factor * factor;
  for (int64_t y = 0; y < small.height; ++y) {
    for (int64_t x = 0; x < small.width; ++x) {
      int64_t sum = 0;
      for (int64_t i = 0; i < of_square; ++i) {
        sum += image.pixels[static_cast<size_t>((y * factor + i / factor) * image.width + x * factor + i % factor)];
      }
      small.pixels.push_back(static_cast<uint8_t>((2 * sum + of_square) / (2 * of_square)));
    }
  }
  return small;
}

std::vector<int32_t> levels_of(const GreyImage& image, int64_t levels) {
  std::vector<int32_t> all;
  for (const uint8_t grey : image.pixels) all.push_back(level_of(grey, levels));
  return all;
}

GreyImage image_of(std::span<const int32_t> levels, const PixelFormat& format) {
  GreyImage image{format.width, format.height, {}};
  for (const int32_t level : levels) image.pixels.push_back(grey_of(level, format.levels));
  return image;
}

}  // namespace heed::data
