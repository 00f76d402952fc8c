#include "heed/data/idx.h"

#include "heed/data/test_gzip.h"
#include "heed/data/test_images.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

class IdxTest : public ::testing::Test {
 protected:
  std::string put(const std::string& content, const std::string& name = "a.idx") {
    put_content(folder_.file(name), content);
    return folder_.file(name);
  }
  std::vector<std::vector<uint8_t>> images(const std::string& path) {
    IdxImages file(path);
    std::vector<std::vector<uint8_t>> all;
    for (std::vector<uint8_t> pixels; file.next(pixels);) all.push_back(pixels);
    EXPECT_EQ(static_cast<int64_t>(all.size()), file.count());
    return all;
  }
  std::string refused(const std::string& content) {
    const std::string path = put(content), message = message_of([&] { images(path); }),
                      start = "[images] '" + path + "' ";
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(message.size(), start.size()));
  }
  std::string refused_labels(const std::string& content) {
    const std::string path = put(content), start = "[images] '" + path + "' ";
    const std::string message = message_of([&] { read_idx_labels(path); });
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(message.size(), start.size()));
  }
  const TemporaryFolder folder_;
};

TEST_F(IdxTest, ImagesAndLabelsPlainAndPacked) {
  const std::vector<GreyImage> made = patterns(5, 6);
  const std::string content = idx_images(made), labels = idx_labels({3, 0, 255});
  for (const std::string& path : {put(content), put(gzip(content), "a.idx.gz")}) {
    const auto found = images(path);
    ASSERT_EQ(found.size(), 5u);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], made[i].pixels);
    EXPECT_EQ(IdxImages(path).width(), 6);
  }
  EXPECT_EQ(read_idx_labels(put(labels)), (std::vector<uint8_t>{3, 0, 255}));
  EXPECT_EQ(read_idx_labels(put(gzip(labels))), (std::vector<uint8_t>{3, 0, 255}));
  // Rows come before columns.
  EXPECT_EQ(IdxImages(put(idx_header({1, 2, 3}) + "abcdef")).height(), 2);
  EXPECT_TRUE(images(put(idx_header({0, 28, 28}))).empty());
  EXPECT_TRUE(read_idx_labels(put(idx_header({0}))).empty());
}

TEST_F(IdxTest, WhatIsNoIdxFile) {
  EXPECT_EQ(refused(""), "has 0 bytes, expected an IDX file of images");
  EXPECT_EQ(refused("\x89PNG\r\n\x1a\n"), "begins with 89504e47, expected 00000803: IDX images");
  EXPECT_EQ(refused(idx_header({2, 3, 3}, 0x0D)), "begins with 00000d03, expected 00000803: IDX images");
  EXPECT_EQ(refused(idx_labels({1, 2})), "is an IDX file of 1 dimensions, expected the 3 of images");
  EXPECT_EQ(refused_labels(idx_images(patterns(2, 4))), "is an IDX file of 3 dimensions, expected the 1 of labels");
  EXPECT_NE(message_of([&] { images(folder_.file("none")); }).find("no such file"), std::string::npos);
}

TEST_F(IdxTest, CutAndLyingFiles) {
  const std::string whole = idx_images(patterns(3, 4));
  EXPECT_EQ(refused(whole.substr(0, 9)), "is cut short in its sizes");
  EXPECT_EQ(refused(whole.substr(0, whole.size() - 1)), "is cut short in image 3 of 3");
  EXPECT_EQ(refused(whole.substr(0, 16)), "is cut short in image 1 of 3");
  EXPECT_EQ(refused(whole + "x"), "goes on behind the 3 images that it says it has");
  EXPECT_EQ(refused_labels(idx_labels({1, 2, 3}).substr(0, 10)), "is cut short behind label 2 of 3");
  EXPECT_EQ(refused_labels(idx_labels({1, 2}) + "x"), "goes on behind the 2 labels that it says it has");
  EXPECT_NE(message_of([&] { images(put(gzip(whole).substr(0, 30), "cut.gz")); }).find("the gzip data is cut short"),
            std::string::npos);
}

// What a file promises takes no memory, and no time beyond what it holds.
TEST_F(IdxTest, SizesThatNoFileHas) {
  EXPECT_EQ(refused(idx_header({1, 0, 28})), "has images of 28 x 0 pixels, expected 1 to 4096 a side");
  EXPECT_EQ(refused(idx_header({1, 4097, 1})), "has images of 1 x 4097 pixels, expected 1 to 4096 a side");
  EXPECT_EQ(refused(idx_header({0xFFFFFFFF, 4096, 4096})),
            "says that it has 4294967295 images of 4096 x 4096, expected at most 17179869184 pixels in all");
  EXPECT_EQ(refused(idx_header({1024, 4096, 4096}) + "few"), "is cut short in image 1 of 1024");
  EXPECT_EQ(refused_labels(idx_header({0xFFFFFFFF})), "says that it has 4294967295 labels, expected at most 268435456");
  EXPECT_EQ(refused_labels(idx_header({268435456}) + "few"), "is cut short behind label 3 of 268435456");
  // A small packed file that unpacks to very much is left where its images end.
  EXPECT_EQ(refused(gzip(idx_header({1, 1, 1}) + std::string(64 << 20, '\0'))),
            "goes on behind the 1 images that it says it has");
}

}  // namespace
}  // namespace heed::data
