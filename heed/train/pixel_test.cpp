// Models of images: their config, what they learn from, and whole runs.
#include <cmath>
#include <numbers>

#include "heed/models/directory.h"
#include "heed/tasks/painter.h"
#include "heed/train/pixel_learner.h"
#include "heed/train/preparation.h"
#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

std::string refused(const std::string& toml) {
  TrainConfig config;
  return message_of<Error>([&] {
    read_config_text(config, toml, "run.toml");
    check_config(config);
  });
}

TEST(PixelConfig, ItsKeysAreItsOwnAndTheDecoders) {
  TrainConfig config;
  read_config_text(config, "task = 'pixels'\n[data]\nimages = 'a'\nlevels = 8\nsize = 14\n[model]\nlayers = 3\n",
                   "run.toml");
  EXPECT_EQ(config.data.images, std::vector<std::string>{"a"});
  EXPECT_EQ(config.data.levels, 8);
  EXPECT_EQ(config.model.layers, 3);
  EXPECT_EQ(config.train.optimizer, "adamw");
  const std::string task = "task = 'pixels'\nsave.out = 'm'\ndata.images = ['a', 'b']\n";
  EXPECT_EQ(refused("task = 'pixels'\nsave.out = 'm'\n"),
            "[config] no images to train with: expected data.images (--images F)");
  EXPECT_EQ(refused(task + "data.labels = 'l'\n"),
            "[config] data.labels names 1 files for 2 of images: expected one for each");
  EXPECT_EQ(refused(task + "data.valid_labels = 'l'\n"),
            "[config] data.valid_labels names 1 files for 0 of images: expected one for each");
  EXPECT_NE(refused(task + "data.classes = ['a', 'b', 'a']\n").find("data.classes has 'a' twice"), std::string::npos);
  EXPECT_NE(refused(task + "data.levels = 1\n").find("data.levels is 1, expected 2 to 256"), std::string::npos);
  EXPECT_NE(refused(task + "data.levels = 257\n").find("data.levels is 257, expected 2 to 256"), std::string::npos);
  EXPECT_NE(refused(task + "model.context = 3\n").find("is a key of the task 'lm'"), std::string::npos);
  EXPECT_NE(refused(task + "data.text = 'b'\n").find("is a key of the task 'lm'"), std::string::npos);
  EXPECT_NE(refused("task = 'lm'\ndata.levels = 3\n").find("is a key of the task 'pixels'"), std::string::npos);
}

TEST(PixelConfig, ResolvingLeavesNothingOpen) {
  for (const char* arch : {"gpt2", "llama"}) {
    for (const char* preset : {"auto", "tiny", "small", "base"}) {
      TrainConfig config = default_config("pixels");
      config.data.images = {"a"}, config.save.out = "model";
      config.model.arch = arch, config.model.preset = preset;
      check_config(config);
      resolve_config(config, 10'000'000);
      check_resolved(config);
      const std::string once = config_text(config);
      EXPECT_EQ(once.find(" = \"\"\n"), once.npos) << once;
      EXPECT_EQ(resolve_config(config, 10'000'000), "");
      TrainConfig read;
      read_config_text(read, once, "train.toml");
      EXPECT_EQ(config_text(read), once);
    }
  }
  TrainConfig config = default_config("pixels");
  EXPECT_TRUE(resolve_config(config, 11'760'000, {2, false})
                  .starts_with("preset tiny: 11.8 million pixels, 2 cores; at most "));
}

class PixelRun : public testing::Test {
 protected:
  RunResult run(const RunOptions& options = {}) {
    listener_ = {};
    return run_training(config_, options, listener_, [] { return false; });
  }
  std::string refused() {
    return message_of<Error>([&] { run({.overwrite = true}); });
  }
  data::PixelFormat format() const { return data::PixelFormat::read(config_.save.out); }

  TemporaryFolder folder_;
  TrainConfig config_ = tiny_run("pixels", folder_);
  Listener listener_;
};

TEST_F(PixelRun, LearnsWhatItIsShown) {
  config_.train.max_steps = 200, config_.valid.every = 100, config_.model.dropout = 0;
  run();
  const ValidationReport& last = listener_.validations.back();
  EXPECT_LT(last.bits_per_dim, 0.1);  // three patterns without noise at four levels, told by their classes
  EXPECT_LT(last.bits_per_dim, listener_.validations.front().bits_per_dim);
  EXPECT_NEAR(last.bits_per_dim, last.loss / std::numbers::ln2, 1e-12);
  EXPECT_EQ(last.bits_per_byte, -1);
  EXPECT_EQ(last.bleu, -1);
  const std::string log = content_of(config_.save.out + "/metrics.jsonl");
  EXPECT_NE(log.find("\"bits_per_dim\":"), std::string::npos);
  EXPECT_NE(content_of(config_.save.out + "/curves.svg").find("bits by dimension"), std::string::npos);
  EXPECT_EQ(format().classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(format().pixels(), 16);
  // The samples are three images, one of each class, and the model draws them as it was told.
  EXPECT_EQ(read_grey_png(config_.save.out + "/samples.png").width, 3 * (56 + 4) + 4);
  const tasks::Painter painter = tasks::Painter::open(config_.save.out);
  for (int64_t c = 0; c < 3; ++c) {
    const std::vector<tasks::Painted> painted =
        tasks::paint(painter, {.sampling = {.temperature = 0}}, tasks::of_class(c, 1));
    EXPECT_EQ(painted[0].levels, data::levels_of(data::pattern(4, c, 5), 4)) << c;
  }
}

// What is reported is what a pixel costs: -log2 p, without the class, over all pixels of all images.
TEST_F(PixelRun, BitsPerDimensionAreThoseOfTheModel) {
  config_.valid.max_images = 0, config_.train.max_steps = 3;
  run();
  const models::Decoder model = models::load_decoder(config_.save.out);
  const data::PixelFormat f = format();
  double nats = 0;
  for (int64_t i = 0; i < 6; ++i) {
    std::vector<int32_t> labels = data::levels_of(data::pattern(4, i % 3, static_cast<uint64_t>(i)), f.levels);
    std::vector<int32_t> ids = labels;
    ids.insert(ids.begin(), f.start(i % 3));
    ids.pop_back();
    const NoGrad no_grad;
    const models::TokenBatch batch{ids, Spans::dense(1, 16)};
    nats += model.loss(batch, labels, {}, {}).nll;
  }
  EXPECT_NEAR(listener_.validations.back().bits_per_dim, nats / (6 * 16 * std::numbers::ln2), 1e-6);
}

TEST_F(PixelRun, EveryWayToReadImages) {
  const auto trains = [&](const std::vector<std::string>& classes) {
    EXPECT_EQ(run({.overwrite = true}).state.step, 6);
    EXPECT_EQ(format().classes, classes);
    EXPECT_TRUE(std::isfinite(listener_.validations.back().bits_per_dim));
  };
  const TrainConfig labelled = config_;
  config_.data.classes = {"upper", "left", "board"};
  trains({"upper", "left", "board"});
  config_.data.by_class = false;
  trains({});
  config_ = labelled;
  config_.data.labels.clear(), config_.data.valid_labels.clear();
  trains({});
  config_.data.valid_images.clear(), config_.data.valid_share = 0.3;
  trains({});
  config_.data.size = 2, config_.data.levels = 256;
  trains({});
  EXPECT_EQ(format().pixels(), 4);
  EXPECT_EQ(format().levels, 256);
  config_.data.images = {folder_.file("folder")}, config_.data.size = 0;
  for (int i = 0; i < 12; ++i) {
    data::put_png(folder_.file(fmt::format("folder/{}/{}.png", i % 3 ? "coat" : "가방", i)),
                  data::pattern(6, i % 3, 1));
  }
  trains({"coat", "가방"});
  EXPECT_EQ(run({.resume = true}).state.step, 6);
  data::put_png(folder_.file("folder/coat/new.png"), data::pattern(6, 1, 1));
  EXPECT_NE(message_of([&] { run({.resume = true}); }).find("the data changed since the run was saved"),
            std::string::npos);
  config_.data.valid_share = 0;
  run({.overwrite = true});
  EXPECT_TRUE(listener_.validations.empty());
}

TEST_F(PixelRun, AnImageIsReadWholeAndItsClassIsNotPredicted) {
  config_.train.batch_tokens = 50;  // three images and a bit
  run();
  resolve_config(config_, 0);
  const RunPaths paths{config_.save.out};
  LmData data;
  data.train = data::TextStore::open(paths.in_training("train.ids"));
  data.starts_given = true;
  PixelLearner learner(config_, data, format());
  EXPECT_EQ(learner.batches(0), 10);
  EXPECT_EQ(learner.size_of(0).rows, 48);
  EXPECT_EQ(learner.size_of(0).sequences, 3u);
  EXPECT_TRUE(learner.begin_of(0).starts_with("image "));
  const TextBatch batch = text_batch(data.train, data::behind_starts(data.train, format().pixels()), {0, true});
  EXPECT_EQ(batch.tokens.ids[0], 4);   // the start of class 0
  EXPECT_EQ(batch.tokens.ids[16], 5);  // of class 1
  EXPECT_EQ(*std::max_element(batch.labels.begin(), batch.labels.end()), 3);
}

TEST_F(PixelRun, WrongImages) {
  const TrainConfig right = config_;
  const auto wrong = [&](const std::function<void()>& change) {
    config_ = right;
    change();
    return refused();
  };
  const std::string train = config_.data.images[0], valid = config_.data.valid_images[0];
  EXPECT_EQ(wrong([&] { config_.data.size = 3; }),
            "[images] " + train + ":1 is 4 x 4 pixels, which are not reduced to 3 in a row: expected one of 4, 2, 1");
  EXPECT_NE(wrong([&] {
              config_.data.classes = {"a", "b"};
            }).find(":3 has the label 2, expected 0 to 1"),
            std::string::npos);
  EXPECT_NE(wrong([&] { config_.data.valid_labels.clear(); }).find("has no class: expected one of 3"),
            std::string::npos);
  EXPECT_NE(wrong([&] {
              config_.data.valid_images.clear(), config_.data.valid_labels.clear(), config_.data.valid_share = 1e-9;
            }).find("no image is left to validate with"),
            std::string::npos);
  put_content(valid, data::idx_images(data::patterns(6, 6)));
  EXPECT_EQ(wrong([] {}), "[images] " + valid + ":1 is 6 x 6 pixels, expected 4 x 4 or a whole multiple of it");
  put_content(train, data::idx_images({}));
  EXPECT_EQ(wrong([&] { config_.data.labels.clear(); }), "[train] no images to train with");
  put_content(train, "words");
  EXPECT_NE(wrong([] {}).find("begins with 776f7264, expected 00000803: IDX images"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(right.save.out));
}

// A model of images is a model directory: what opens those opens it, and what wants text says so.
TEST_F(PixelRun, ItIsAModelDirectoryWithoutText) {
  run();
  const models::ModelConfig config = models::read_config(config_.save.out);
  EXPECT_EQ(models::model_type(config), "gpt2");
  EXPECT_EQ(config.vocabulary, 7);
  EXPECT_EQ(config.tokens.start, 4);
  EXPECT_EQ(config.tokens.eos, -1);
  EXPECT_EQ(config.decoder.positions.max_length, 16);
  EXPECT_FALSE(text::has_tokenizer(config_.save.out));
  EXPECT_EQ(message_of([&] { text::load_tokenizer(config_.save.out); }),
            "[tokenizer] '" + config_.save.out + "' is a model of images: its ids are no text");
  // Another run in its place takes it away.
  TrainConfig other = tiny_run("lm", folder_);
  run_training(other, {.overwrite = true}, listener_, [] { return false; });
  EXPECT_FALSE(data::PixelFormat::in(config_.save.out));
  EXPECT_FALSE(std::filesystem::exists(config_.save.out + "/samples.png"));
}

}  // namespace
}  // namespace heed::train
