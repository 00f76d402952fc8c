// Images from IDX files (idx.h) or folders of PNG files, all of one size, with their classes where they have some.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heed/data/pixel_format.h"
#include "heed/data/text_corpus.h"

namespace heed::data {

struct ImageConfig {
  std::vector<std::string> images = {};  // IDX files, .gz too, or folders of PNG files; folders in those are classes
  std::vector<std::string> labels = {};  // IDX files, one for each of the images'; none: there are no classes
  // Names of the labels 0, 1, ..., or of the folders; every image must have one of them. None: as they are found.
  std::vector<std::string> classes = {};
  bool with_classes = true;       // false: whatever is there, none
  int64_t width = 0, height = 0;  // that images are reduced to; 0: as they are, or as the other one says
  TextPart part = {};             // a share that is held out is drawn at random
};

struct Image {
  GreyImage grey;
  int64_t of_class = -1;
  std::string place;  // "a/7.png", or of an IDX file "train-images:7"
};

class ImageCorpus {
 public:
  // Looks at names, labels and sizes; every image has a class, or none has.
  explicit ImageCorpus(ImageConfig config);
  ~ImageCorpus();
  // One that is broken, or of another size than the first, is an error that names its place.
  bool next(Image& image);

  const std::vector<std::string>& classes() const;
  int64_t count() const;        // of all parts together
  int64_t other_files() const;  // in the folders, that are no PNG files by their names
  double progress() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Each image as a document: its start and its levels (text_store.h reads the file). Gives back how many there are.
int64_t build_image_store(const std::string& path, ImageCorpus& corpus, const PixelFormat& format,
                          const std::function<void(double share)>& progress = {});

}  // namespace heed::data
