#include "heed/data/image_corpus.h"

#include "heed/data/test_gzip.h"
#include "heed/data/test_images.h"
#include "heed/data/text_store.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

class ImageCorpusTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& content) {
    put_content(folder_.file(name), content);
    return folder_.file(name);
  }
  // Folders of two classes, and what is no image.
  std::string folder() {
    for (int i = 0; i < 3; ++i) put_png(folder_.file(fmt::format("all/coat/{}.png", i)), pattern(4, 0, 1));
    put_png(folder_.file("all/가방/x.PNG"), pattern(4, 1, 2));
    put("all/readme.txt", "words");
    put("all/.hidden.png", "words");
    return folder_.file("all");
  }
  static std::vector<Image> all_of(const ImageConfig& config) {
    ImageCorpus corpus(config);
    std::vector<Image> all;
    for (Image image; corpus.next(image);) all.push_back(image);
    EXPECT_EQ(corpus.progress(), 1);
    return all;
  }
  static std::string refused(const ImageConfig& config) {
    return message_of<Error>([&] { all_of(config); });
  }
  const TemporaryFolder folder_;
};

TEST_F(ImageCorpusTest, IdxFilesWithLabels) {
  const std::string a = put("a", idx_images(patterns(4, 6))), b = put("b.gz", gzip(idx_images(patterns(2, 6))));
  const std::string of_a = put("la", idx_labels({0, 1, 2, 0})), of_b = put("lb", idx_labels({4, 1}));
  const std::vector<Image> plain = all_of({.images = {a, b}});
  ASSERT_EQ(plain.size(), 6u);
  EXPECT_EQ(plain[5].grey.pixels, pattern(6, 1, 1).pixels);
  EXPECT_EQ(plain[5].of_class, -1);
  EXPECT_EQ(plain[5].place, b + ":2");
  const ImageConfig labelled{.images = {a, b}, .labels = {of_a, of_b}};
  EXPECT_EQ(ImageCorpus(labelled).classes(), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(all_of(labelled)[4].of_class, 4);
  EXPECT_EQ(all_of({.images = {a, b}, .labels = {of_a, of_b}, .with_classes = false})[4].of_class, -1);
  EXPECT_EQ(refused({.images = {a, b}, .labels = {of_a}}),
            "[images] 1 files of labels for 2 of images: expected one for each");
  EXPECT_EQ(refused({.images = {a}, .labels = {of_b}}),
            "[images] '" + of_b + "' has 2 labels, '" + a + "' has 4 images: expected as many");
  EXPECT_EQ(refused({.images = {a, b}, .labels = {of_a, of_b}, .classes = {"x", "y", "z"}}),
            "[images] " + b + ":1 has the label 4, expected 0 to 2");
  EXPECT_EQ(refused({.images = {a}, .classes = {"x", "y", "z"}}),
            "[images] " + a + ":1 has no class: expected one of 3, by labels or a folder for each");
}

TEST_F(ImageCorpusTest, FoldersOfPngFilesAreClasses) {
  const std::string all = folder();
  const ImageCorpus corpus({.images = {all}});
  EXPECT_EQ(corpus.classes(), (std::vector<std::string>{"coat", "가방"}));
  EXPECT_EQ(corpus.count(), 4);
  EXPECT_EQ(corpus.other_files(), 1);
  const std::vector<Image> images = all_of({.images = {all}});
  EXPECT_EQ(images[0].of_class, 0);
  EXPECT_EQ(images[3].of_class, 1);
  EXPECT_EQ(images[3].grey.pixels, pattern(4, 1, 2).pixels);
  // The order of names is someone else's: a model's.
  EXPECT_EQ(all_of({.images = {all}, .classes = {"가방", "coat"}})[0].of_class, 1);
  EXPECT_NE(refused({.images = {all}, .classes = {"가방", "coats"}})
                .find("is of the class 'coat', which is none of the 2, did you mean 'coats'?"),
            std::string::npos);
  EXPECT_EQ(ImageCorpus({.images = {all + "/coat"}}).classes(), std::vector<std::string>{});
  put_png(all + "/loose.png", pattern(4, 0, 1));
  EXPECT_EQ(refused({.images = {all}}),
            "[images] " + all + "/loose.png has no class: expected one of 2, by labels or a folder for each");
  std::filesystem::create_directory(folder_.file("empty"));
  EXPECT_NE(refused({.images = {folder_.file("empty")}}).find("holds no file"), std::string::npos);
  put("empty/a.txt", "words");
  EXPECT_NE(refused({.images = {folder_.file("empty")}}).find("holds no PNG file"), std::string::npos);
  EXPECT_NE(refused({.images = {all}, .labels = {all}}).find("which is a folder"), std::string::npos);
}

TEST_F(ImageCorpusTest, ImagesOfAnotherSizeAndBrokenOnes) {
  const std::string all = folder();
  put_png(all + "/coat/9.png", {4, 6, std::vector<uint8_t>(24)});
  EXPECT_EQ(refused({.images = {all}}),
            "[images] " + all + "/coat/9.png is 4 x 6 pixels, expected 4 x 4 as " + all + "/coat/0.png");
  put("all/coat/9.png", "no picture");
  EXPECT_TRUE(refused({.images = {all}}).starts_with("[png] '" + all + "/coat/9.png' cannot be read: "));
  EXPECT_NE(refused({.images = {folder_.file("none")}}).find("no such file"), std::string::npos);
  EXPECT_NE(refused({.images = {}}).find("no images are named"), std::string::npos);
}

TEST_F(ImageCorpusTest, ReducedWhereTheSizesDivide) {
  const std::string file = put("a", idx_images({{12, 6, std::vector<uint8_t>(72, 7)}}));
  const std::vector<Image> images = all_of({.images = {file}, .width = 4});
  EXPECT_EQ(images[0].grey.width, 4);
  EXPECT_EQ(images[0].grey.height, 2);
  EXPECT_EQ(images[0].grey.pixels, std::vector<uint8_t>(8, 7));
  EXPECT_EQ(
      refused({.images = {file}, .width = 3}),
      "[images] " + file + ":1 is 12 x 6 pixels, which are not reduced to 3 in a row: expected one of 12, 6, 4, 2");
  EXPECT_NE(refused({.images = {file}, .width = 24}).find("expected one of 12, 6, 4, 2"), std::string::npos);
  EXPECT_EQ(refused({.images = {file}, .width = 6, .height = 6}),
            "[images] " + file + ":1 is 12 x 6 pixels, expected 6 x 6 or a whole multiple of it");
}

TEST_F(ImageCorpusTest, AShareThatIsHeldOutAndTheRestAreAll) {
  const std::string file = put("a", idx_images(patterns(200, 2)));
  const auto places = [&](TextPart::Kind kind) {
    std::vector<std::string> all;
    for (const Image& image :
         all_of({.images = {file}, .part = {.kind = kind, .share = 0.2, .random = true, .seed = 3}}))
      all.push_back(image.place);
    return all;
  };
  std::vector<std::string> train = places(TextPart::kTrain), valid = places(TextPart::kValid);
  EXPECT_EQ(train.size() + valid.size(), 200u);
  EXPECT_GT(valid.size(), 20u);
  EXPECT_LT(valid.size(), 70u);
  for (const std::string& place : valid) EXPECT_EQ(std::find(train.begin(), train.end(), place), train.end());
}

TEST_F(ImageCorpusTest, AnImageIsADocument) {
  const std::string file = put("a", idx_images(patterns(3, 2))), labels = put("l", idx_labels({0, 1, 2}));
  ImageCorpus corpus({.images = {file}, .labels = {labels}});
  const PixelFormat format{2, 2, 8, corpus.classes()};
  EXPECT_EQ(build_image_store(folder_.file("store"), corpus, format), 3);
  const TextStore store = TextStore::open(folder_.file("store"));
  EXPECT_TRUE(store.intact());
  EXPECT_EQ(store.documents(), 3);
  EXPECT_EQ(store.bytes(), 12);
  const std::vector<int32_t> ids(store.ids().begin(), store.ids().end());
  EXPECT_EQ(ids, (std::vector<int32_t>{8, 6, 6, 0, 0, 9, 6, 0, 6, 0, 10, 6, 0, 0, 6}));
}

}  // namespace
}  // namespace heed::data
