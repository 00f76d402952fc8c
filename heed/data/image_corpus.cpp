#include "heed/data/image_corpus.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>

#include "heed/base/error.h"
#include "heed/data/idx.h"
#include "heed/data/sequence_file.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"

namespace heed::data {
namespace {

namespace fs = std::filesystem;

// One of the config's images: an IDX file, or the PNG files of a folder.
struct Source {
  std::string path;
  bool folder = false;
  std::vector<std::string> files = {};       // of a folder
  std::vector<std::string> file_class = {};  // beside them: the folder that each lies in, "" where it lies in none
  std::vector<uint8_t> labels = {};          // of an IDX file
  int64_t count = 0;
};

bool is_png(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return ending == ".png";
}

Source folder_source(const std::string& path, int64_t& other_files) {
  Source source{.path = path, .folder = true};
  for (const std::string& file : files_under({path})) {
    if (!is_png(file)) {
      ++other_files;
      continue;
    }
    const fs::path inside = fs::path(file).lexically_relative(path);
    const std::string name = inside.has_parent_path() ? inside.begin()->string() : "";
    if (!text::valid_utf8(name)) fail_file("[images] the name of the folder {} is not UTF-8", in_quotes(name));
    source.files.push_back(file);
    source.file_class.push_back(name);
  }
  if (source.files.empty()) fail_file("[images] the folder '{}' holds no PNG file", printable(path));
  source.count = static_cast<int64_t>(source.files.size());
  return source;
}

Source idx_source(const std::string& path, const std::string& labels) {
  Source source{.path = path};
  source.count = IdxImages(path).count();
  if (labels.empty()) return source;
  source.labels = read_idx_labels(labels);
  if (static_cast<int64_t>(source.labels.size()) != source.count) {
    fail_file("[images] '{}' has {} labels, '{}' has {} images: expected as many", printable(labels),
              source.labels.size(), printable(path), source.count);
  }
  return source;
}

bool has_class(const Source& source, int64_t i) {
  return source.folder ? !source.file_class[static_cast<size_t>(i)].empty() : !source.labels.empty();
}

std::string place_of(const Source& source, int64_t i) {
  return source.folder ? printable(source.files[static_cast<size_t>(i)])
                       : fmt::format("{}:{}", printable(source.path), i + 1);
}

// Those of the sources, where the config names none.
std::vector<std::string> found_classes(const std::vector<Source>& sources) {
  std::set<std::string> folders;
  int64_t labels = 0;
  for (const Source& source : sources) {
    folders.insert(source.file_class.begin(), source.file_class.end());
    for (const uint8_t label : source.labels) labels = std::max<int64_t>(labels, label + 1);
  }
  folders.erase("");
  std::vector<std::string> names(folders.begin(), folders.end());
  for (int64_t i = 0; i < labels; ++i) names.push_back(std::to_string(i));
  return names;
}

// Widths that whole squares of pixels reduce an image to.
std::vector<int64_t> possible_widths(const GreyImage& image) {
  std::vector<int64_t> widths;
  const int64_t common = std::gcd(image.width, image.height);
  for (int64_t factor = 1; factor <= common; ++factor) {
    if (common % factor == 0) widths.push_back(image.width / factor);
  }
  return widths;
}

}  // namespace

struct ImageCorpus::State {
  explicit State(ImageConfig how) : config(std::move(how)) {
    if (config.images.empty()) fail("[images] no images are named, expected an IDX file or a folder of PNG files");
    if (!config.labels.empty() && config.labels.size() != config.images.size()) {
      fail("[images] {} files of labels for {} of images: expected one for each", config.labels.size(),
           config.images.size());
    }
    for (size_t i = 0; i < config.images.size(); ++i) {
      const std::string labels = config.labels.empty() || !config.with_classes ? "" : config.labels[i];
      sources.push_back(open_source(config.images[i], labels));
      count += sources.back().count;
    }
    if (!config.with_classes) return;
    classes = config.classes.empty() ? found_classes(sources) : config.classes;
    check_classes();
  }

  Source open_source(const std::string& path, const std::string& labels) {
    std::error_code ignored;  // a name that cannot be looked at is told when it is opened
    if (!fs::is_directory(path, ignored)) return idx_source(path, labels);
    if (!labels.empty()) {
      fail("[images] labels for '{}', which is a folder: expected a folder for each class in it", printable(path));
    }
    return folder_source(path, other_files);
  }

  void check_classes() const {
    for (const Source& source : sources) {
      for (int64_t i = 0; i < source.count; ++i) {
        if (has_class(source, i) == classes.empty()) {
          fail_file("[images] {} has no class: expected one of {}, by labels or a folder for each", place_of(source, i),
                    classes.size());
        }
        if (!classes.empty()) class_of(source, i);
      }
    }
  }

  int64_t class_of(const Source& source, int64_t i) const {
    const auto at = static_cast<size_t>(i);
    if (!source.folder) {
      if (source.labels[at] >= classes.size()) {
        fail_file("[images] {} has the label {}, expected 0 to {}", place_of(source, i), source.labels[at],
                  classes.size() - 1);
      }
      return source.labels[at];
    }
    const auto found = std::find(classes.begin(), classes.end(), source.file_class[at]);
    if (found != classes.end()) return found - classes.begin();
    const std::string near = nearest(source.file_class[at], classes);
    fail_file("[images] {} is of the class {}, which is none of the {}{}", place_of(source, i),
              in_quotes(source.file_class[at]), classes.size(), near.empty() ? "" : ", did you mean '" + near + "'?");
  }

  // All are of the first one's size.
  void check_size(const GreyImage& image, const std::string& place) {
    if (first_place.empty()) first_place = place, width = image.width, height = image.height;
    if (image.width == width && image.height == height) return;
    fail_file("[images] {} is {} x {} pixels, expected {} x {} as {}", place, image.width, image.height, width, height,
              first_place);
  }

  GreyImage fitted(GreyImage image, const std::string& place) const {
    const int64_t wanted = config.width > 0 ? config.width : image.width, factor = image.width / wanted;
    const bool whole = image.width % wanted == 0 && factor > 0 && image.height % factor == 0;
    if (whole && (config.height == 0 || image.height / factor == config.height)) {
      return factor == 1 ? std::move(image) : reduced(image, factor);
    }
    if (config.height > 0) {
      fail_file("[images] {} is {} x {} pixels, expected {} x {} or a whole multiple of it", place, image.width,
                image.height, config.width, config.height);
    }
    fail("[images] {} is {} x {} pixels, which are not reduced to {} in a row: expected one of {}", place, image.width,
         image.height, wanted, fmt::join(possible_widths(image), ", "));
  }

  GreyImage read_next(const Source& source) {
    if (source.folder) return read_grey_png(source.files[static_cast<size_t>(index)]);
    if (!idx) idx.emplace(source.path);
    GreyImage image{idx->width(), idx->height(), {}};
    idx->next(image.pixels);
    return image;
  }

  // Also those that belong to another part: a file that is broken is told either way.
  bool read(Image& image) {
    while (at_source < sources.size() && index == sources[at_source].count) {
      std::vector<uint8_t> nothing;
      if (idx) idx->next(nothing);  // its end, which it looks for
      idx.reset();
      ++at_source, index = 0;
    }
    if (at_source == sources.size()) return false;
    const Source& source = sources[at_source];
    image.place = place_of(source, index);
    image.grey = read_next(source);
    check_size(image.grey, image.place);
    image.of_class = classes.empty() ? -1 : class_of(source, index);
    ++index, ++done;
    return true;
  }

  bool belongs() const {
    const TextPart& p = config.part;
    return p.kind == TextPart::kAll || p.held_out(done - 1) == (p.kind == TextPart::kValid);
  }

  ImageConfig config;
  std::vector<Source> sources;
  std::vector<std::string> classes;
  int64_t count = 0, other_files = 0;
  // Reading.
  size_t at_source = 0;
  int64_t index = 0, done = 0;  // of the next image: in its source, and in all
  std::optional<IdxImages> idx;
  int64_t width = 0, height = 0;
  std::string first_place;
};

ImageCorpus::ImageCorpus(ImageConfig config) : state_(std::make_unique<State>(std::move(config))) {}
ImageCorpus::~ImageCorpus() = default;

bool ImageCorpus::next(Image& image) {
  while (state_->read(image)) {
    if (!state_->belongs()) continue;
    image.grey = state_->fitted(std::move(image.grey), image.place);
    return true;
  }
  return false;
}

const std::vector<std::string>& ImageCorpus::classes() const { return state_->classes; }
int64_t ImageCorpus::count() const { return state_->count; }
int64_t ImageCorpus::other_files() const { return state_->other_files; }
double ImageCorpus::progress() const {
  return state_->count == 0 ? 1.0 : static_cast<double>(state_->done) / static_cast<double>(state_->count);
}

int64_t build_image_store(const std::string& path, ImageCorpus& corpus, const PixelFormat& format,
                          const std::function<void(double share)>& progress) {
  constexpr int64_t kImagesBetween = 1000;  // two reports of how far it is
  SequenceWriter file(path, kTextSequences);
  int64_t images = 0;
  for (Image image; corpus.next(image);) {
    std::vector<int32_t> ids = levels_of(image.grey, format.levels);
    ids.insert(ids.begin(), format.start(image.of_class));
    file.add(ids);
    if (++images % kImagesBetween == 0 && progress) progress(corpus.progress());
  }
  file.finish(static_cast<uint64_t>(images * format.pixels()));
  return images;
}

}  // namespace heed::data
