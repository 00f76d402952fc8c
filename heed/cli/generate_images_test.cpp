// heed generate, info and the others with a model of images, as people use them.
#include "heed/cli/trained_test.h"
#include "heed/data/pixel_format.h"
#include "heed/data/test_gzip.h"
#include "heed/data/test_images.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer_files.h"

namespace heed::cli {
namespace {

// A small model of three patterns of 8 x 8 pixels, trained once for all tests.
class ImagesProgram : public Program {
 protected:
  ImagesProgram() {
    if (model_.empty()) make_model();
  }
  static void TearDownTestSuite() {
    fs::remove_all(shared_);
    model_.clear();
  }
  static void make_model() {
    std::string name = (fs::temp_directory_path() / "heed-model-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    shared_ = name;
    std::ofstream(shared_ / "images", std::ios::binary) << data::idx_images(data::patterns(60, 8));
    std::ofstream(shared_ / "labels", std::ios::binary) << data::idx_labels(data::pattern_labels(60));
    train::TrainConfig c = train::default_config("pixels");
    c.data.images = {(shared_ / "images").string()}, c.data.labels = {(shared_ / "labels").string()};
    c.data.classes = {"upper", "left", "모눈"}, c.data.levels = 16;
    c.model.preset = "tiny", c.model.layers = 1, c.model.d_model = 32, c.model.heads = 2, c.model.dropout = 0;
    c.train.batch_tokens = 640, c.train.max_steps = 500, c.train.learning_rate = 0.01, c.valid.samples = 0;
    c.save.out = (shared_ / "model").string();
    train::Observer silent;
    train::run_training(c, {}, silent, [] { return false; });
    model_ = c.save.out;
  }

  // What it says of each image; the picture goes to grid().
  std::vector<json> drawn(std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", model_, "--quiet", "--json", "--out", grid()});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::vector<json> all;
    for (const std::string& line : lines_of(outcome.out)) all.push_back(json::parse(line));
    return all;
  }
  std::string grid() const { return (folder_ / "grid.png").string(); }
  static int64_t class_number(const json& image) {
    const std::string name = image["class"];
    return name == "upper" ? 0 : name == "left" ? 1 : 2;
  }
  // How many of an image's pixels are of the pattern of its class, bright or dark.
  static double likeness(const json& image) {
    const GreyImage expected = data::pattern(8, class_number(image), 0);
    double same = 0;
    for (size_t i = 0; i < 64; ++i) same += (image["levels"][i].get<int>() >= 8) == (expected.pixels[i] >= 128);
    return same / 64;
  }
  void refuse(std::vector<std::string> more, int status, const std::string& part) {
    more.insert(more.begin(), {"generate", model_});
    expect_refused(more, status, part);
    EXPECT_FALSE(fs::exists(grid()));
  }
  std::string images() const { return (shared_ / "images").string(); }

  static inline fs::path shared_;
  static inline std::string model_;
};

TEST_F(ImagesProgram, DrawsAGridOfEveryClass) {
  const std::vector<json> all = drawn({"--images", "16"});
  ASSERT_EQ(all.size(), 16u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["image"], i);
    EXPECT_EQ(class_number(all[i]), static_cast<int64_t>(i % 3));
    EXPECT_EQ(all[i]["levels"].size(), 64u);
    EXPECT_GT(likeness(all[i]), 0.9) << all[i];
    EXPECT_GT(all[i]["bits_per_dim"].get<double>(), 0);
  }
  // A column for each class, of pictures of 8 x 8 pixels, seven times as large; the first pixel is the first image's.
  const GreyImage picture = read_grey_png(grid());
  EXPECT_EQ(picture.width, 4 + 3 * 60);
  EXPECT_EQ(picture.height, 4 + 6 * 60);
  const auto level = static_cast<int32_t>(all[0]["levels"][0].get<int>());
  EXPECT_EQ(picture.pixels[static_cast<size_t>(5 * picture.width + 5)], data::grey_of(level, 16));
  // Without --json nothing but a message.
  const Outcome outcome = run({"generate", model_, "--images", "2", "--out", grid()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "heed: 2 images of 8 x 8 pixels are in '" + grid() + "'\n");
}

TEST_F(ImagesProgram, ByClassSeedAndTemperature) {
  for (const char* name : {"모눈", "2"}) {
    const std::vector<json> boards = drawn({"--images", "3", "--class", name});
    ASSERT_EQ(boards.size(), 3u);
    for (const json& image : boards) EXPECT_EQ(image["class"], "모눈");
    EXPECT_EQ(read_grey_png(grid()).width, 4 + 2 * 60);  // about square
  }
  const auto hot = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--temperature", "5"});
    return drawn(more);
  };
  const std::vector<json> all = hot({"--images", "7", "--seed", "3"}), some = hot({"--images", "2", "--seed", "3"});
  EXPECT_EQ(all[1], some[1]);  // alone as among others
  EXPECT_EQ(hot({"--images", "7", "--seed", "3", "--batch-tokens", "1", "--threads", "1"}), all);
  EXPECT_NE(hot({"--images", "7", "--seed", "4"}), all);
  const std::vector<json> cold = drawn({"--images", "6", "--temperature", "0"});
  EXPECT_EQ(cold[0]["levels"], cold[3]["levels"]);
  EXPECT_NE(all[0]["levels"], all[3]["levels"]);
  EXPECT_EQ(drawn({"--images", "3", "--top-k", "1"})[0]["levels"], cold[0]["levels"]);
}

TEST_F(ImagesProgram, CompletesGivenImages) {
  const std::vector<json> all = drawn({"--complete", images(), "--images", "6"});
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<int32_t> given = data::levels_of(data::pattern(8, static_cast<int64_t>(i % 3), i), 16);
    EXPECT_EQ(all[i]["given"], 32);
    for (size_t at = 0; at < 32; ++at) ASSERT_EQ(all[i]["levels"][at], given[at]);
    EXPECT_EQ(class_number(all[i]), static_cast<int64_t>(i % 3));  // as the upper half shows
    EXPECT_GT(likeness(all[i]), 0.9);
  }
  EXPECT_EQ(read_grey_png(grid()).width, 4 + 4 * 60);  // two pairs a row
  EXPECT_EQ(drawn({"--complete", file("i.gz", data::gzip(read_all(images()))), "--images", "6"}), all);
  EXPECT_EQ(drawn({"--complete", images()}).size(), 16u);
  for (const json& image : drawn({"--complete", images(), "--class", "left"})) EXPECT_EQ(image["class"], "left");
  // A folder of larger ones.
  data::put_png((folder_ / "png" / "a.png").string(), data::pattern(16, 1, 3));
  const std::vector<json> of_folder = drawn({"--complete", (folder_ / "png").string()});
  ASSERT_EQ(of_folder.size(), 1u);
  EXPECT_EQ(of_folder[0]["class"], "left");
}

TEST_F(ImagesProgram, WrongRequests) {
  const std::string out = grid();
  refuse({}, 2, "is a model of images: expected --images N or --complete F, and --out grid.png");
  refuse({"--images", "4"}, 2, "and --out grid.png");
  refuse({"--out", out}, 2, "expected --images N or --complete F");
  for (const char* flag : {"--prompt", "--input", "--stop", "--ban", "--system", "--base"}) {
    refuse({flag, "7", "--images", "2", "--out", out}, 2, std::string(flag) + " is for text: '");
  }
  refuse({"--images", "0", "--out", out}, 2, "--images '0': expected a whole number from 1 to 4096");
  refuse({"--images", "2", "--out", out, "--class", "uper"}, 2, "--class 'uper' is unknown: did you mean 'upper'?");
  refuse({"--images", "2", "--out", out, "--class", "3"}, 2, "is unknown: expected upper, left, 모눈, or 0 to 2");
  refuse({"--images", "2", "--out", out, "--ids"}, 2, "--images with --ids");
  refuse({"--images", "2", "--out", (folder_ / "grid.gif").string()}, 2, "expected a name that ends with .png");
  refuse({"--images", "2", "--out", (folder_ / "none" / "grid.png").string()}, 1, "there is no folder");
  refuse({"--images", "2", "--out", out, "--temperature", "-1"}, 2, "--temperature '-1': expected 0 to");
  refuse({"--complete", (folder_ / "none").string(), "--out", out}, 1, "no such file");
  const std::string small = file("small", data::idx_images(data::patterns(2, 6)));
  refuse({"--complete", small, "--out", out}, 1,
         small + ":1 is 6 x 6 pixels, expected 8 x 8 or a whole multiple of it");
  refuse({"--complete", file("zero", data::idx_images({})), "--out", out}, 1, "has no images");
  refuse({"--complete", file("text", "words"), "--out", out}, 1, "begins with 776f7264");
  // The files of the directory.
  const std::string copy = (folder_ / "copy").string();
  fs::copy(model_, copy);
  std::ofstream(copy + "/pixels.json") << "{}";
  expect_refused({"generate", copy, "--images", "2", "--out", out}, 1, "pixels.json: lacks 'type'");
  expect_refused({"info", copy}, 1, "pixels.json: lacks 'type'");
}

TEST_F(ImagesProgram, OtherCommandsKnowWhatItIs) {
  const json found = run_json({"info", model_});
  EXPECT_EQ(found["kind"], "model of images");
  EXPECT_EQ(found["images"]["width"], 8);
  EXPECT_EQ(found["images"]["levels"], 16);
  EXPECT_EQ(found["images"]["classes"], json({"upper", "left", "모눈"}));
  EXPECT_EQ(found["tokenizer"], nullptr);
  const std::string text = run({"info", model_}).out;
  EXPECT_NE(text.find("  images      8 x 8 pixels of 16 levels of grey, 3 classes: upper, left, 모눈\n"),
            std::string::npos)
      << text;
  expect_refused({"score", model_}, 1, "is a model of images: its ids are no text");
  expect_refused({"tokenize", model_}, 1, "is a model of images");
  // As ids it is a language model like others.
  const Outcome ids = run_with("16 12 12\n", {"generate", model_, "--ids", "--max-tokens", "5", "--temperature", "0"});
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(lines_of(ids.out).size(), 1u);
  const std::string smaller = (folder_ / "smaller").string();
  ASSERT_EQ(run({"quantize", model_, "--out", smaller}).status, 0);
  EXPECT_EQ(run({"generate", smaller, "--images", "3", "--out", grid()}).status, 0);
}

class ImagesOfTextModels : public Program {};

TEST_F(ImagesOfTextModels, TextModelsDoNotDraw) {
  models::ModelConfig config = models::preset("llama");
  config.decoder.layers = 1, config.decoder.d_model = 16, config.decoder.d_ff = 32, config.decoder.heads = 2;
  config.decoder.kv_heads = 2, config.vocabulary = 259;
  const std::string model = (folder_ / "model").string();
  fs::create_directory(model);
  models::save_decoder(model, models::Decoder(config, 5));
  for (const auto& [name, content] : text::byte_files()) std::ofstream(fs::path(model) / name) << content;
  for (const std::vector<std::string>& flag :
       {std::vector<std::string>{"--images", "3"}, {"--out", "grid.png"}, {"--class", "a"}, {"--complete", "a"}}) {
    expect_refused({"generate", model, flag[0], flag[1]}, 2,
                   flag[0] + " is for models of images: '" + model + "' is none");
  }
  expect_refused({"generate", (folder_ / "none").string(), "--images", "3"}, 1, "is no folder");
}

}  // namespace
}  // namespace heed::cli
