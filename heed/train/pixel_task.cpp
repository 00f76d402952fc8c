// The data of a model of images.
#include <fmt/format.h>

#include "heed/data/image_corpus.h"
#include "heed/io/atomic_file.h"
#include "heed/io/printable.h"
#include "heed/text/tokenizer.h"
#include "heed/train/pixel_learner.h"
#include "heed/train/task.h"

namespace heed::train {
namespace {

using data::TextPart;

constexpr int64_t kMostPixels = 16'384;   // every one looks at all before it
constexpr int64_t kImagesBetween = 1000;  // two reports of how far reading is

class PixelTask final : public Task {
 public:
  int64_t survey(const TrainConfig& config, const Preparation& preparation) override {
    const TrainConfig::Data& d = config.data;
    data::ImageCorpus all(
        {.images = d.images, .labels = d.labels, .classes = d.classes, .with_classes = d.by_class, .width = d.size});
    format_ = {.levels = d.levels, .classes = all.classes()};
    const int64_t count = read_all(all, "train", preparation);
    if (!d.valid_images.empty()) {
      data::ImageCorpus valid(corpus(config, TextPart::kValid));
      read_all(valid, "validate", preparation);
    }
    return count * format_.pixels();
  }

  void stage(const TrainConfig& config, const Preparation& preparation) override {
    if (format_.width == 0) survey(config, preparation);
    write_file_atomically(staging_of(config.save.out) + "/" + text::kPixelsFile, format_.json());
    build_staged_store(config, TextPart::kTrain, preparation);
    if (validates(config)) build_staged_store(config, TextPart::kValid, preparation);
  }

  void open(const TrainConfig& config) override {
    const RunPaths paths{config.save.out};
    format_ = data::PixelFormat::read(paths.model);
    data_.train = open_whole<data::TextStore>(paths, "train.ids");
    data_.identity = fmt::format("{:016x}", data_.train.fingerprint());
    data_.starts_given = true;
    if (validates(config)) data_.valid = open_whole<data::TextStore>(paths, "valid.ids");
  }

  std::unique_ptr<Learner> learner(const TrainConfig& config) const override {
    return std::make_unique<PixelLearner>(config, data_, format_);
  }

  std::string description() const override {
    const std::string classes =
        format_.classes.empty()
            ? ""
            : fmt::format(" in {} classes", with_commas(static_cast<int64_t>(format_.classes.size())));
    const std::string valid =
        data_.valid ? fmt::format("; {} to validate with", with_commas(data_.valid->documents())) : "";
    return fmt::format("{} images{} of {} x {} pixels, {} levels of grey{}", with_commas(data_.train.documents()),
                       classes, format_.width, format_.height, format_.levels, valid);
  }

 private:
  // The images to train with, or to validate with, as the survey found them.
  data::ImageConfig corpus(const TrainConfig& config, TextPart::Kind kind) const {
    const TrainConfig::Data& d = config.data;
    const bool own_files = kind == TextPart::kValid && !d.valid_images.empty();
    data::ImageConfig c;
    c.images = own_files ? d.valid_images : d.images;
    c.labels = own_files ? d.valid_labels : d.labels;
    c.classes = format_.classes, c.with_classes = !format_.classes.empty();
    c.width = format_.width, c.height = format_.height;
    if (d.valid_images.empty() && d.valid_share > 0) {
      c.part = {.kind = kind, .share = d.valid_share, .random = true, .seed = static_cast<uint64_t>(config.train.seed)};
    }
    return c;
  }

  int64_t read_all(data::ImageCorpus& all, const char* purpose, const Preparation& preparation) {
    int64_t count = 0;
    data::Image image;
    for (; all.next(image); ++count) {
      if (count % kImagesBetween == 0) preparation.at("reading", all.progress());
    }
    if (count == 0) fail_file("[train] no images to {} with", purpose);
    if (format_.width == 0) format_.width = image.grey.width, format_.height = image.grey.height;
    if (format_.pixels() > kMostPixels) {
      fail("[train] images of {} x {} pixels are sequences of {}, expected at most {}: --size reduces them",
           format_.width, format_.height, with_commas(format_.pixels()), with_commas(kMostPixels));
    }
    const std::string others =
        all.other_files() > 0 ? fmt::format("; {} other files are left out", with_commas(all.other_files())) : "";
    preparation.observer.on_message(fmt::format("to {} with: {} images{}", purpose, with_commas(count), others));
    return count;
  }

  void build_staged_store(const TrainConfig& config, TextPart::Kind kind, const Preparation& preparation) const {
    const bool valid = kind == TextPart::kValid;
    data::ImageCorpus images(corpus(config, kind));
    const int64_t count =
        data::build_image_store(staging_of(config.save.out) + (valid ? "/valid.ids" : "/train.ids"), images, format_,
                                [&](double share) { preparation.at("quantising", share); });
    if (count == 0) {
      fail_file("[train] no image is left to {} with: {} of all are held out (--valid-share)",
                valid ? "validate" : "train", config.data.valid_share);
    }
  }

  data::PixelFormat format_;
  LmData data_;
};

}  // namespace

std::unique_ptr<Task> make_pixel_task() { return std::make_unique<PixelTask>(); }

}  // namespace heed::train
