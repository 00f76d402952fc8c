#include "heed/train/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <vector>

#include "heed/base/error.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kCastagnoli = 0x82f63b78;  // its bits in reverse
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kCastagnoli : crc >> 1;
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = crc_table();

template <class Word>
std::string little_endian(Word word) {
  std::string bytes(sizeof(Word), '\0');
  for (char& byte : bytes) byte = static_cast<char>(word & 0xff), word >>= 8;
  return bytes;
}

// Records hold checksums of data that may hold checksums itself: these are turned and shifted.
std::string masked_crc(std::string_view bytes) { return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8u); }

// --- Protobuf: a field is its number and kind, then its value ---

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string key(int field, int kind) { return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(kind)); }
std::string number_field(int field, int64_t value) { return key(field, 0) + varint(static_cast<uint64_t>(value)); }
std::string double_field(int field, double value) {
  return key(field, 1) + little_endian(std::bit_cast<uint64_t>(value));
}
std::string float_field(int field, float value) {
  return key(field, 5) + little_endian(std::bit_cast<uint32_t>(value));
}
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}

// Fields of Event, Summary, Summary.Value and SessionLog.
constexpr int kTime = 1, kStep = 2, kVersion = 3, kSummary = 5, kSession = 7;
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2;
constexpr int kStatus = 1, kStatusStart = 1;

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

std::string tfrecord(std::string_view message) {
  const std::string length = little_endian(static_cast<uint64_t>(message.size()));
  return length + masked_crc(length) + std::string(message) + masked_crc(message);
}

std::string version_event(double time) { return double_field(kTime, time) + bytes_field(kVersion, "brain.Event:2"); }

std::string start_event(double time, int64_t step) {
  return double_field(kTime, time) + number_field(kStep, step) +
         bytes_field(kSession, number_field(kStatus, kStatusStart));
}

std::string scalars_event(double time, int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& s : scalars) {
    summary += bytes_field(kValue, bytes_field(kTag, s.tag) + float_field(kSimpleValue, static_cast<float>(s.value)));
  }
  return double_field(kTime, time) + number_field(kStep, step) + bytes_field(kSummary, summary);
}

void EventLog::start(int64_t step) {
  std::error_code error;
  fs::create_directories(folder_, error);
  // Read in the order of their names: seconds since 1970 first. Two starts may fall into one second.
  const double time = seconds_since_1970();
  for (auto second = static_cast<int64_t>(time);; ++second) {
    path_ = fmt::format("{}/events.out.tfevents.{:010}.heed", folder_, second);
    file_.reset(std::fopen(path_.c_str(), "wbx"));
    if (file_ || errno != EEXIST) break;
  }
  if (!file_) fail_file("[train] cannot write '{}': {}", path_, std::strerror(errno));
  write(version_event(time));
  write(start_event(time, step));
}

void EventLog::add(const StepReport& r) {
  const Scalar scalars[] = {
      {"train/loss", r.loss}, {"train/perplexity", r.perplexity}, {"train/learning_rate", r.learning_rate}};
  write(scalars_event(seconds_since_1970(), r.step, scalars));
}

void EventLog::add(const ValidationReport& r) {
  std::vector<Scalar> scalars = {{"valid/loss", r.loss}, {"valid/perplexity", r.perplexity}};
  if (r.bleu >= 0) scalars.insert(scalars.end(), {{"valid/bleu", r.bleu}, {"valid/chrf", r.chrf}});
  if (r.bits_per_byte >= 0) scalars.push_back({"valid/bits_per_byte", r.bits_per_byte});
  if (r.bits_per_dim >= 0) scalars.push_back({"valid/bits_per_dim", r.bits_per_dim});
  write(scalars_event(seconds_since_1970(), r.step, scalars));
}

void EventLog::write(const std::string& message) {
  const std::string record = tfrecord(message);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0) {
    fail_file("[train] cannot write '{}': {}", path_, std::strerror(errno));
  }
}

}  // namespace heed::train
