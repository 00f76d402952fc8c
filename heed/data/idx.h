// IDX files, as MNIST comes in: a few big-endian numbers that say how many images of what size, then a byte a pixel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace heed::data {

// At least one byte, or 0 at the end.
using ReadBytes = std::function<size_t(std::span<char>)>;

// Images one after the other: memory is that of one, whatever the file says of itself.
class IdxImages {
 public:
  explicit IdxImages(const std::string& path);  // .gz too
  // `label` stands for the file's name in messages.
  IdxImages(ReadBytes read, std::string label);

  int64_t count() const { return count_; }
  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  // Row by row from the top left; false behind the last, where the file must end.
  bool next(std::vector<uint8_t>& pixels);

 private:
  ReadBytes read_;
  std::string label_;
  int64_t count_ = 0, width_ = 0, height_ = 0, given_ = 0;
};

std::vector<uint8_t> read_idx_labels(const std::string& path);  // .gz too
std::vector<uint8_t> read_idx_labels(const ReadBytes& read, const std::string& label);

}  // namespace heed::data
