#include "heed/tasks/painter.h"

#include "heed/base/threads.h"
#include "heed/io/test_files.h"
#include "heed/models/directory.h"
#include "heed/tasks/image_grid.h"

namespace heed::tasks {
namespace {

class PainterTest : public ::testing::Test {
 protected:
  static models::Decoder model(int64_t pixels, int64_t vocabulary) {
    models::ModelConfig c = models::preset("llama");
    c.decoder.layers = 2, c.decoder.d_model = 32, c.decoder.d_ff = 48, c.decoder.heads = 4, c.decoder.kv_heads = 2;
    c.decoder.positions.max_length = pixels;
    c.vocabulary = vocabulary;
    c.tokens = {.start = 8, .eos = -1, .unk = -1, .pad = -1};
    models::Decoder made(c, 5);
    for (int64_t i = 0; i < made.parameters.arena_size(); ++i) made.parameters.values()[i] *= 6;
    return made;
  }
  const data::PixelFormat format_{6, 4, 8, {"a", "b", "c"}};
  const models::Decoder model_ = model(24, 11);
  const PaintConfig how_{.sampling = {.temperature = 1.3, .seed = 7}};

  std::vector<std::vector<int32_t>> levels(const PaintConfig& config, const std::vector<PaintRequest>& requests) const {
    std::vector<std::vector<int32_t>> all;
    for (const Painted& one : paint({model_, format_}, config, requests)) all.push_back(one.levels);
    return all;
  }
};

TEST_F(PainterTest, ImagesAreWholeAndOfLevelsAlone) {
  const std::vector<Painted> painted = paint({model_, format_}, how_, of_each_class(format_, 7));
  ASSERT_EQ(painted.size(), 7u);
  for (size_t i = 0; i < painted.size(); ++i) {
    EXPECT_EQ(painted[i].of_class, static_cast<int64_t>(i) % 3);
    EXPECT_EQ(painted[i].levels.size(), 24u);
    for (const int32_t level : painted[i].levels) EXPECT_LT(level, 8);  // no start is drawn
    EXPECT_LT(painted[i].log_probability, 0);
  }
  EXPECT_NE(painted[0].levels, painted[1].levels);
  EXPECT_NE(painted[0].levels, painted[3].levels);  // the next of the same class
}

TEST_F(PainterTest, AnImageDependsOnSeedAndRequestAlone) {
  std::vector<PaintRequest> requests = of_each_class(format_, 7);
  requests.push_back({1, {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, 0});
  const std::vector<std::vector<int32_t>> all = levels(how_, requests);
  for (const int64_t tokens : {1, 50, 100000}) {
    PaintConfig how = how_;
    how.batch_tokens = tokens;
    EXPECT_EQ(levels(how, requests), all);
  }
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(levels(how_, {requests[i]})[0], all[i]);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(levels(how_, requests), all);
  }
  PaintConfig other = how_;
  other.sampling.seed = 8;
  EXPECT_NE(levels(other, requests), all);
  EXPECT_EQ(columns_of_classes(format_, 7), 3);
  EXPECT_EQ(columns_of_classes(format_, 2), 0);
  // By class as in turn.
  EXPECT_EQ(levels(how_, of_class(2, 2)), (std::vector<std::vector<int32_t>>{all[2], all[5]}));
}

TEST_F(PainterTest, WhatIsGivenStays) {
  const std::vector<int32_t> given = {0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7};
  const std::vector<int32_t> whole = levels(how_, {{0, given, 0}})[0];
  EXPECT_EQ(std::vector<int32_t>(whole.begin(), whole.begin() + 12), given);
  EXPECT_EQ(whole.size(), 24u);
  EXPECT_NE(message_of<Error>([&] {
              levels(how_, {{0, whole, 0}});
            }).find("nothing is left to draw"),
            std::string::npos);
  EXPECT_THROW(levels(how_, {{3, {}, 0}}), Error);
}

// The class is the one that the model itself gives the highest probability.
TEST_F(PainterTest, TheLikeliestClass) {
  const std::vector<std::vector<int32_t>> given = {{0, 1, 2, 3, 4, 5}, {7, 7, 7, 7, 7, 7}, {3}, {}};
  const std::vector<int64_t> found = likeliest_classes({model_, format_}, given);
  ASSERT_EQ(found.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    std::vector<double> by_class;
    for (int64_t c = 0; c < 3; ++c) {
      std::vector<int32_t> ids = given[i];
      ids.insert(ids.begin(), format_.start(c));
      ids.pop_back();
      const NoGrad no_grad;
      const models::TokenBatch batch{ids, Spans::dense(1, static_cast<int64_t>(ids.size()))};
      by_class.push_back(model_.loss(batch, given[i], {}, {}).nll);
    }
    EXPECT_EQ(found[i], std::min_element(by_class.begin(), by_class.end()) - by_class.begin());
  }
  const data::PixelFormat without{6, 4, 10, {}};
  EXPECT_EQ(likeliest_classes({model_, without}, given), std::vector<int64_t>(4, -1));
}

TEST_F(PainterTest, ADirectoryOpensWhereItsPartsGoTogether) {
  const TemporaryFolder folder;
  models::save_decoder(folder.file(""), model_);
  const auto opened = [&](const data::PixelFormat& format) {
    put_content(folder.file("pixels.json"), format.json());
    return Painter::open(folder.file(""));
  };
  const Painter painter = opened(format_);
  std::vector<Painted> painted = paint(painter, how_, of_class(1, 1));
  EXPECT_EQ(painted[0].levels, levels(how_, of_class(1, 1))[0]);
  data::PixelFormat wrong = format_;
  wrong.levels = 9;
  EXPECT_NE(
      message_of([&] { opened(wrong); }).find("images of 24 pixels and 12 ids, the model has 24 positions and 11 ids"),
      std::string::npos);
  wrong = format_, wrong.height = 5;
  EXPECT_NE(message_of([&] { opened(wrong); }).find("images of 30 pixels"), std::string::npos);
}

TEST(ImageGrid, PicturesInRowsEnlarged) {
  const RgbImage dark = picture_of({2, 1, {0, 0}}), half = picture_of({2, 1, {255, 255}}, 1);
  EXPECT_EQ(half.pixels[0], 255);
  EXPECT_NE(half.pixels[3], half.pixels[5]);  // a colour, no grey
  const RgbImage grid = image_grid({dark, half, dark});
  // Two columns and rows, each pixel 28 wide, 4 between pictures.
  EXPECT_EQ(grid.width, 4 + 2 * 60);
  EXPECT_EQ(grid.height, 4 + 2 * 32);
  const auto at = [&](int64_t x, int64_t y) { return grid.pixels[static_cast<size_t>(3 * (y * grid.width + x))]; };
  EXPECT_EQ(at(4, 4), 0);
  EXPECT_EQ(at(64, 4), 255);
  EXPECT_EQ(at(91, 31), 255);
  EXPECT_NE(at(92, 31), 255);
  EXPECT_EQ(at(4, 36), 0);
  EXPECT_EQ(at(0, 0), at(70, 40));  // the ground, and where no picture is
  EXPECT_EQ(image_grid({dark, dark, dark}, 3).height, 36);
  EXPECT_EQ(image_grid({picture_of({100, 1, std::vector<uint8_t>(100)})}).width, 108);
}

}  // namespace
}  // namespace heed::tasks
