#include "heed/io/safetensors_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed {
namespace {

// Receives the header piece by piece and builds the table directly: nothing is stored that the format does not know,
// so a hostile header costs no more memory than a few times its own length, and nesting costs nothing at all.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(std::span<const std::byte> data, const std::string& label) : data_(data), label_(label) {}

  SafeTensorsTable take() && { return std::move(table_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    if (value < 0) unexpected(std::to_string(value));
    return number_unsigned(static_cast<number_unsigned_t>(value));
  }
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t, const string_t& spelling) override { unexpected(printable(spelling, 40)); }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { unexpected("binary"); }
  bool start_object(size_t) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(size_t) override;
  bool end_array() override;
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail_file("[safetensors] {}: header is not valid JSON at its byte {}", label_, position);
  }

 private:
  enum class At { kStart, kTop, kMetadata, kTensor, kShape, kOffsets };
  enum Field { kDtype, kShapeField, kOffsetsField, kFields };
  static constexpr std::array<std::string_view, kFields> kFieldNames = {"dtype", "shape", "data_offsets"};

  // Where in the header we are, as the start of a message.
  std::string place() const;
  std::string_view expected() const;
  [[noreturn]] void unexpected(std::string_view found) const {
    fail_file("[safetensors] {}: {} is {}, expected {}", label_, place(), found, expected());
  }
  template <class... Args>
  [[noreturn]] void fail_tensor(fmt::format_string<Args...> format, Args&&... args) const {
    fail_file("[safetensors] {}: tensor {}: {}", label_, in_quotes(tensor_.name),
              fmt::format(format, std::forward<Args>(args)...));
  }
  void start_field(const std::string& name);
  void finish_tensor();

  std::span<const std::byte> data_;
  const std::string& label_;
  SafeTensorsTable table_;
  At at_ = At::kStart;
  bool in_metadata_key_ = false;  // the key last read at the top
  bool metadata_seen_ = false;
  std::string metadata_name_;
  StoredTensor tensor_;
  Field field_ = kDtype;
  std::array<bool, kFields> seen_{};
  std::vector<uint64_t> offsets_;
};

std::string HeaderReader::place() const {
  switch (at_) {
    case At::kStart:
      return "header";
    case At::kTop:
      return in_metadata_key_ ? std::string(kMetadataKey) : "tensor " + in_quotes(tensor_.name) + ": it";
    case At::kMetadata:
      return fmt::format("{} {}", kMetadataKey, in_quotes(metadata_name_));
    case At::kTensor:
      return fmt::format("tensor {}: {}", in_quotes(tensor_.name), kFieldNames[field_]);
    case At::kShape:
      return fmt::format("tensor {}: a size in shape", in_quotes(tensor_.name));
    case At::kOffsets:
      return fmt::format("tensor {}: a number in data_offsets", in_quotes(tensor_.name));
  }
  return {};
}

std::string_view HeaderReader::expected() const {
  switch (at_) {
    case At::kStart:
    case At::kTop:
      return "an object";
    case At::kMetadata:
      return "text";
    case At::kTensor:
      return field_ == kDtype ? "text" : "a list of whole numbers";
    case At::kShape:
    case At::kOffsets:
      return "a whole number from 0 to 9223372036854775807";
  }
  return {};
}

bool HeaderReader::number_unsigned(number_unsigned_t value) {
  if (at_ != At::kShape && at_ != At::kOffsets) unexpected(std::to_string(value));
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) unexpected(std::to_string(value));
  if (at_ == At::kShape) {
    if (tensor_.shape.size() == kMaxDimensions) fail_tensor("shape has more than {} dimensions", kMaxDimensions);
    tensor_.shape.push_back(static_cast<int64_t>(value));
  } else {
    if (offsets_.size() == 2) fail_tensor("data_offsets is longer than 2 numbers");
    offsets_.push_back(value);
  }
  return true;
}

bool HeaderReader::string(string_t& value) {
  if (at_ == At::kMetadata) {
    if (!table_.metadata.emplace(metadata_name_, std::move(value)).second) {
      fail_file("[safetensors] {}: {} {} appears twice", label_, kMetadataKey, in_quotes(metadata_name_));
    }
    return true;
  }
  if (at_ != At::kTensor || field_ != kDtype) unexpected("text " + in_quotes(value));
  const auto type = stored_type_named(value);
  if (!type) fail_tensor("dtype {} is unknown, expected one of {}", in_quotes(value), stored_type_names());
  tensor_.dtype = *type;
  return true;
}

bool HeaderReader::start_object(size_t) {
  if (at_ == At::kStart) {
    at_ = At::kTop;
  } else if (at_ == At::kTop) {
    at_ = in_metadata_key_ ? At::kMetadata : At::kTensor;
  } else {
    unexpected("an object");
  }
  return true;
}

bool HeaderReader::key(string_t& name) {
  if (at_ == At::kMetadata) {
    metadata_name_ = std::move(name);
  } else if (at_ == At::kTensor) {
    start_field(name);
  } else {
    in_metadata_key_ = name == kMetadataKey;
    if (in_metadata_key_ && std::exchange(metadata_seen_, true)) {
      fail_file("[safetensors] {}: {} appears twice", label_, kMetadataKey);
    }
    tensor_ = StoredTensor{};
    tensor_.name = std::move(name);
    offsets_.clear();
    seen_.fill(false);
  }
  return true;
}

void HeaderReader::start_field(const std::string& name) {
  const auto* found = std::find(kFieldNames.begin(), kFieldNames.end(), name);
  if (found == kFieldNames.end()) {
    fail_tensor("unknown key {}, expected dtype, shape and data_offsets", in_quotes(name));
  }
  field_ = static_cast<Field>(found - kFieldNames.begin());
  if (std::exchange(seen_[field_], true)) fail_tensor("{} appears twice", name);
}

bool HeaderReader::end_object() {
  if (at_ == At::kTensor) finish_tensor();
  at_ = At::kTop;
  return true;
}

bool HeaderReader::start_array(size_t) {
  if (at_ != At::kTensor || field_ == kDtype) unexpected("a list");
  at_ = field_ == kShapeField ? At::kShape : At::kOffsets;
  return true;
}

bool HeaderReader::end_array() {
  at_ = At::kTensor;
  return true;
}

void HeaderReader::finish_tensor() {
  for (size_t i = 0; i < kFields; ++i) {
    if (!seen_[i]) fail_tensor("{} is missing", kFieldNames[i]);
  }
  if (offsets_.size() != 2) fail_tensor("data_offsets has length {}, expected 2", offsets_.size());
  const uint64_t begin = offsets_[0];
  const uint64_t end = offsets_[1];
  if (begin > end) fail_tensor("data_offsets [{}, {}] end before they begin", begin, end);
  const int64_t elements = count_elements(tensor_.shape);
  if (elements < 0 || elements > std::numeric_limits<int64_t>::max() / size_of(tensor_.dtype)) {
    fail_tensor("shape ({}) is too large", fmt::join(tensor_.shape, ","));
  }
  const auto size = static_cast<uint64_t>(elements * size_of(tensor_.dtype));
  if (end - begin != size) {
    fail_tensor("data_offsets [{}, {}] hold {} bytes, expected {} for {} of shape ({})", begin, end, end - begin, size,
                name_of(tensor_.dtype), fmt::join(tensor_.shape, ","));
  }
  if (end > data_.size()) {
    fail_tensor("data_offsets [{}, {}] go beyond the data, which is {} bytes", begin, end, data_.size());
  }
  tensor_.bytes = data_.subspan(begin, size);
  table_.tensors.push_back(std::move(tensor_));
}

// The tensors cover the data from its first byte to its last, one after the other.
void check_layout(std::vector<StoredTensor>& tensors, std::span<const std::byte> data, const std::string& label) {
  const auto begin_of = [&](const StoredTensor& tensor) { return tensor.bytes.data() - data.data(); };
  std::stable_sort(tensors.begin(), tensors.end(), [&](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(begin_of(a), a.bytes.size()) < std::pair(begin_of(b), b.bytes.size());
  });
  std::ptrdiff_t covered = 0;
  const StoredTensor* previous = nullptr;
  for (const StoredTensor& tensor : tensors) {
    const std::ptrdiff_t begin = begin_of(tensor);
    if (begin < covered) {
      fail_file("[safetensors] {}: tensor {}: data begins at byte {}, inside tensor {} which ends at {}", label,
                in_quotes(tensor.name), begin, in_quotes(previous->name), covered);
    }
    if (begin > covered) {
      fail_file("[safetensors] {}: tensor {}: data begins at byte {}, expected {}: no tensor owns the bytes between",
                label, in_quotes(tensor.name), begin, covered);
    }
    covered = begin + static_cast<std::ptrdiff_t>(tensor.bytes.size());
    previous = &tensor;
  }
  if (covered != static_cast<std::ptrdiff_t>(data.size())) {
    fail_file("[safetensors] {}: data ends at byte {}, the last tensor at {}: no tensor owns the rest", label,
              data.size(), covered);
  }
}

}  // namespace

int64_t count_elements(std::span<const int64_t> shape) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return -1;
    empty |= size == 0;
    if (size > 0 && product > std::numeric_limits<int64_t>::max() / size) return -1;
    product *= std::max<int64_t>(size, 1);
  }
  return empty ? 0 : product;
}

SafeTensorsTable read_safetensors_header(std::string_view header, std::span<const std::byte> data,
                                         const std::string& label) {
  if (header.empty() || header.front() != '{') {
    fail_file("[safetensors] {}: header does not begin with '{{'", label);
  }
  // The JSON reader would take a zero byte for the end and never look at what follows.
  if (const size_t zero = header.find('\0'); zero != std::string_view::npos) {
    fail_file("[safetensors] {}: header is not valid JSON at its byte {}", label, zero + 1);
  }
  HeaderReader reader(data, label);
  nlohmann::json::sax_parse(header.begin(), header.end(), &reader);
  SafeTensorsTable table = std::move(reader).take();
  check_layout(table.tensors, data, label);
  return table;
}

}  // namespace heed
