#include "heed/data/idx.h"

#include <algorithm>
#include <array>
#include <memory>

#include "heed/base/error.h"
#include "heed/data/byte_source.h"
#include "heed/io/printable.h"

namespace heed::data {
namespace {

constexpr int64_t kBytes = 0x08;                   // the type of numbers that images and labels have
constexpr int64_t kLongestSide = 4096;             // as of PNG files
constexpr int64_t kMostPixels = int64_t{1} << 34;  // of a file: what unpacks to more is no data set of pictures
constexpr int64_t kMostLabels = int64_t{1} << 28;

[[noreturn]] void wrong(const std::string& label, const std::string& what) {
  fail_file("[images] '{}' {}", printable(label), what);
}

// As many as there are, up to all of `out`.
size_t read_whole(const ReadBytes& read, std::span<char> out) {
  size_t done = 0;
  for (size_t size = 1; done < out.size() && size > 0; done += size) size = read(out.subspan(done));
  return done;
}

int64_t big_endian(std::span<const char> bytes) {
  int64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// The sizes behind the magic number: bytes in so many dimensions.
std::vector<int64_t> read_sizes(const ReadBytes& read, const std::string& label, int64_t dimensions, const char* what) {
  std::array<char, 4> number{};
  const size_t size = read_whole(read, number);
  if (size < number.size()) wrong(label, fmt::format("has {} bytes, expected an IDX file of {}", size, what));
  const int64_t magic = big_endian(number), expected = kBytes << 8 | dimensions;
  if (magic >> 8 == kBytes && magic != expected) {
    wrong(label, fmt::format("is an IDX file of {} dimensions, expected the {} of {}", magic & 0xFF, dimensions, what));
  }
  if (magic != expected)
    wrong(label, fmt::format("begins with {:08x}, expected {:08x}: IDX {}", magic, expected, what));
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < dimensions; ++i) {
    if (read_whole(read, number) < number.size()) wrong(label, "is cut short in its sizes");
    sizes.push_back(big_endian(number));
  }
  return sizes;
}

void expect_end(const ReadBytes& read, const std::string& label, int64_t count, const char* what) {
  std::array<char, 1> more{};
  if (read(more) > 0) wrong(label, fmt::format("goes on behind the {} {} that it says it has", count, what));
}

ReadBytes bytes_of(const std::string& path) {
  return [source = std::make_shared<ByteSource>(path)](std::span<char> out) { return source->read(out); };
}

}  // namespace

IdxImages::IdxImages(const std::string& path) : IdxImages(bytes_of(path), path) {}

IdxImages::IdxImages(ReadBytes read, std::string label) : read_(std::move(read)), label_(std::move(label)) {
  const std::vector<int64_t> sizes = read_sizes(read_, label_, 3, "images");
  count_ = sizes[0], height_ = sizes[1], width_ = sizes[2];
  if (width_ < 1 || height_ < 1 || width_ > kLongestSide || height_ > kLongestSide) {
    wrong(label_, fmt::format("has images of {} x {} pixels, expected 1 to {} a side", width_, height_, kLongestSide));
  }
  if (count_ > kMostPixels / (width_ * height_)) {
    wrong(label_, fmt::format("says that it has {} images of {} x {}, expected at most {} pixels in all", count_,
                              width_, height_, kMostPixels));
  }
}

bool IdxImages::next(std::vector<uint8_t>& pixels) {
  if (given_ == count_) {
    expect_end(read_, label_, count_, "images");
    return false;
  }
  pixels.resize(static_cast<size_t>(width_ * height_));
  if (read_whole(read_, {reinterpret_cast<char*>(pixels.data()), pixels.size()}) < pixels.size()) {
    wrong(label_, fmt::format("is cut short in image {} of {}", given_ + 1, count_));
  }
  ++given_;
  return true;
}

std::vector<uint8_t> read_idx_labels(const std::string& path) { return read_idx_labels(bytes_of(path), path); }

std::vector<uint8_t> read_idx_labels(const ReadBytes& read, const std::string& label) {
  const int64_t count = read_sizes(read, label, 1, "labels")[0];
  if (count > kMostLabels)
    wrong(label, fmt::format("says that it has {} labels, expected at most {}", count, kMostLabels));
  // Memory is taken as labels come, not as the file promises.
  std::vector<uint8_t> labels;
  std::array<char, 1 << 16> block;
  while (static_cast<int64_t>(labels.size()) < count) {
    const size_t wanted = std::min(block.size(), static_cast<size_t>(count) - labels.size());
    const size_t size = read_whole(read, std::span(block).first(wanted));
    labels.insert(labels.end(), block.begin(), block.begin() + static_cast<int64_t>(size));
    if (size < wanted) wrong(label, fmt::format("is cut short behind label {} of {}", labels.size(), count));
  }
  expect_end(read, label, count, "labels");
  return labels;
}

}  // namespace heed::data
