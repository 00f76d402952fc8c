#include "heed/io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "heed/io/test_files.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

const fs::path kTests = fs::path(HEED_SOURCE_DIR) / "tests";

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_of(const StoredTensor& tensor) {
  std::vector<T> values(static_cast<size_t>(tensor.elements()));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

std::vector<float> floats_of(const StoredTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  to_f32(tensor, values.data());
  return values;
}

// The bytes of a file with this header, length in front.
std::string file_with(const std::string& header, const std::string& data = {}) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return length + header + data;
}

SafeTensors parse(const std::string& file) { return SafeTensors::parse(std::as_bytes(std::span(file)), "f"); }

TEST(SafeTensors, ReadsAFileOfThePythonLibrary) {
  const auto file = SafeTensors::open((kTests / "golden" / "python.safetensors").string());
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"quote", "a \"b\" \\ c"}}));
  EXPECT_EQ(file.tensors().size(), 16u);
  EXPECT_EQ(file.find("f64").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(floats_of(file.find("f64")), (std::vector<float>{1.5f, -2.25f, 1e-3f, 3.0f}));
  EXPECT_EQ(file.find("f32").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(floats_of(file.find("f32")), (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1, 1.25f}));
  const std::vector<float> halves = floats_of(file.find("f16"));
  EXPECT_EQ(halves, (std::vector<float>{0, 0, 1, -2.5f, 65504, 0x1p-14f, 0x1p-24f, INFINITY}));
  EXPECT_TRUE(std::signbit(halves[1]));
  EXPECT_EQ(floats_of(file.find("bf16")), (std::vector<float>{1, -0.5f, 0x1.c4p127f, 0x1.44p-100f}));
  EXPECT_EQ(values_of<int64_t>(file.find("i64")), (std::vector<int64_t>{-(int64_t{1} << 62), 7}));
  EXPECT_EQ(values_of<int32_t>(file.find("i32")), (std::vector<int32_t>{-5, 6}));
  EXPECT_EQ(values_of<int16_t>(file.find("i16")), (std::vector<int16_t>{-300}));
  EXPECT_EQ(values_of<int8_t>(file.find("i8")), (std::vector<int8_t>{-1, 2, -3}));
  EXPECT_EQ(values_of<uint64_t>(file.find("u64")), (std::vector<uint64_t>{uint64_t{1} << 63}));
  EXPECT_EQ(values_of<uint32_t>(file.find("u32")), (std::vector<uint32_t>{4000000000}));
  EXPECT_EQ(values_of<uint16_t>(file.find("u16")), (std::vector<uint16_t>{65535, 1}));
  EXPECT_EQ(values_of<uint8_t>(file.find("u8")), (std::vector<uint8_t>{0, 255, 128}));
  EXPECT_EQ(values_of<uint8_t>(file.find("bool")), (std::vector<uint8_t>{1, 0}));
  EXPECT_TRUE(file.find("scalar").shape.empty());
  EXPECT_EQ(floats_of(file.find("scalar")), (std::vector<float>{42}));
  EXPECT_EQ(file.find("empty").shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(file.find("empty").elements(), 0);
  EXPECT_EQ(floats_of(file.find("name \"한글\"\n")), (std::vector<float>{9}));
}

TEST(SafeTensors, WritesWhatItReads) {
  const TemporaryFolder folder;
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> small = {7, 8, 9};
  const std::vector<double> wide = {0.1};
  const Metadata metadata = {{"format", "pt"}, {"note", "line\nand \"quotes\""}};
  write_safetensors(folder.file("m"),
                    {{"small", StoredType::kU8, {3}, bytes_of(small)},
                     {"w", StoredType::kF32, {2, 3}, bytes_of(weights)},
                     {"none", StoredType::kF32, {0, 9}, {}},
                     {"wide \x01 é", StoredType::kF64, {}, bytes_of(wide)}},
                    metadata);
  const auto file = SafeTensors::open(folder.file("m"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"wide \x01 é", "w", "none", "small"}));
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.find("w").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(floats_of(file.find("w")), weights);
  EXPECT_EQ(values_of<uint8_t>(file.find("small")), small);
  EXPECT_EQ(values_of<double>(file.find("wide \x01 é")), wide);
  EXPECT_EQ(file.find("none").shape, (std::vector<int64_t>{0, 9}));
  for (const StoredTensor& tensor : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % static_cast<uintptr_t>(size_of(tensor.dtype)), 0u);
  }
}

TEST(SafeTensors, CanReplaceTheFileItReads) {
  const TemporaryFolder folder;
  const std::vector<float> values = {1, 2};
  write_safetensors(folder.file("m"), {{"a", StoredType::kF32, {2}, bytes_of(values)}});
  const auto old = SafeTensors::open(folder.file("m"));
  write_safetensors(folder.file("m"), {{"b", StoredType::kF32, {2}, old.find("a").bytes}});
  EXPECT_EQ(floats_of(old.find("a")), values);
  EXPECT_EQ(floats_of(SafeTensors::open(folder.file("m")).find("b")), values);
}

TEST(SafeTensors, AFailedWriteLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::vector<float> values(100000, 1.0f);
  write_safetensors(folder.file("m"), {{"a", StoredType::kF32, {2}, bytes_of(values).first(8)}});
  FileCalls full;
  full.write = [](int, const void*, size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  const auto write = [&] {
    write_safetensors(folder.file("m"), {{"b", StoredType::kF32, {100000}, bytes_of(values)}}, {}, full);
  };
  EXPECT_EQ(message_of(write), "[write] cannot write '" + folder.file("m") + "': the disk is full");
  EXPECT_TRUE(SafeTensors::open(folder.file("m")).contains("a"));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(SafeTensors, RefusesToWriteWhatCouldNotBeRead) {
  const TemporaryFolder folder;
  const std::vector<float> values = {1, 2};
  const auto refusal = [&](const std::vector<TensorToWrite>& tensors, const Metadata& metadata = {}) {
    return message_of<Error>([&] { write_safetensors(folder.file("m"), tensors, metadata); });
  };
  const TensorToWrite a = {"a", StoredType::kF32, {2}, bytes_of(values)};
  const auto with_shape = [&](std::vector<int64_t> shape) {
    TensorToWrite tensor = a;
    tensor.shape = std::move(shape);
    return std::vector{tensor};
  };
  EXPECT_EQ(refusal({a, a}), "[safetensors] two tensors are named 'a'");
  EXPECT_EQ(refusal(with_shape({3})), "[safetensors] tensor 'a': 8 bytes do not make F32 of shape (3)");
  EXPECT_EQ(refusal(with_shape({-2, -1})), "[safetensors] tensor 'a': 8 bytes do not make F32 of shape (-2,-1)");
  EXPECT_EQ(refusal(with_shape({(int64_t{1} << 62) + 2})),
            "[safetensors] tensor 'a': 8 bytes do not make F32 of shape (4611686018427387906)");
  EXPECT_EQ(refusal(with_shape(std::vector<int64_t>(65, 1))),
            "[safetensors] tensor 'a': 65 dimensions, expected at most 64");
  EXPECT_EQ(refusal({{"__metadata__", StoredType::kF32, {2}, bytes_of(values)}}),
            "[safetensors] a tensor cannot be named '__metadata__'");
  EXPECT_TRUE(refusal({{"\xff", StoredType::kF32, {2}, bytes_of(values)}}).ends_with("is not UTF-8"));
  EXPECT_TRUE(refusal({a}, {{"k", "\xc0"}}).ends_with("is not UTF-8"));
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(SafeTensors, NamesTheNearestTensor) {
  const TemporaryFolder folder;
  write_safetensors(folder.file("m"),
                    {{"encoder.weight", StoredType::kF32, {0}, {}}, {"decoder.bias", StoredType::kF32, {0}, {}}});
  const auto file = SafeTensors::open(folder.file("m"));
  EXPECT_FALSE(file.contains("encoder.wieght"));
  EXPECT_EQ(message_of([&] { file.find("encoder.wieght"); }),
            "[safetensors] " + folder.file("m") + ": no tensor 'encoder.wieght' among 2, nearest is 'encoder.weight'");
  EXPECT_EQ(message_of([&] { file.find("zzz"); }), "[safetensors] " + folder.file("m") + ": no tensor 'zzz' among 2");
}

TEST(SafeTensors, OnlyFloatsBecomeFloats) {
  const std::vector<int64_t> ids = {1};
  const StoredTensor tensor{"ids", StoredType::kI64, {1}, bytes_of(ids)};
  EXPECT_EQ(message_of([&] { floats_of(tensor); }),
            "[safetensors] tensor 'ids': dtype I64, expected F32, F16, BF16 or F64");
}

// What must be said of each broken file of the corpus, after "[safetensors] FILE: ".
const std::map<std::string, std::string> kBroken = {
    {"broken_dtype_number", "tensor 'a': dtype is 32, expected text"},
    {"broken_dtype_unknown",
     "tensor 'a': dtype 'F23' is unknown, expected one of F64, F32, F16, BF16, "
     "I64, I32, I16, I8, U64, U32, U16, U8, BOOL"},
    {"broken_empty_file", "the file is 0 bytes, expected at least 8"},
    {"broken_field_missing", "tensor 'a': shape is missing"},
    {"broken_field_unknown", "tensor 'a': unknown key 'dtyp', expected dtype, shape and data_offsets"},
    {"broken_header_bom", "header does not begin with '{'"},
    {"broken_header_comment", "header is not valid JSON at its byte 2"},
    {"broken_header_cut", "header is not valid JSON at its byte 22"},
    {"broken_header_list", "header does not begin with '{'"},
    {"broken_header_not_utf8", "header is not valid JSON at its byte 3"},
    {"broken_header_space_first", "header does not begin with '{'"},
    {"broken_header_surrogate", "header is not valid JSON at its byte 14"},
    {"broken_header_two_values", "header is not valid JSON at its byte 3"},
    {"broken_header_zero_byte", "header is not valid JSON at its byte 3"},
    {"broken_length_all_ones", "header says it is 18446744073709551615 bytes, expected at most 100000000"},
    {"broken_length_beyond_file", "header says it is 3 bytes, the file has only 2 more"},
    {"broken_length_over_limit", "header says it is 100000001 bytes, expected at most 100000000"},
    {"broken_metadata_list", "__metadata__ is a list, expected an object"},
    {"broken_metadata_number", "__metadata__ 'k' is 1, expected text"},
    {"broken_name_lines",
     "tensor 'a\\x0ab\\x1b[31m\\x9b': data_offsets [0, 3] hold 3 bytes, expected 4 for F32 of shape (1)"},
    {"broken_nesting", "tensor 'a': it is a list, expected an object"},
    {"broken_nesting_objects", "tensor 'a': unknown key 'a', expected dtype, shape and data_offsets"},
    {"broken_nesting_shape",
     "tensor 'a': a size in shape is a list, expected a whole number from 0 to 9223372036854775807"},
    {"broken_no_header", "header does not begin with '{'"},
    {"broken_offsets_backwards", "tensor 'a': data_offsets [4, 0] end before they begin"},
    {"broken_offsets_beyond", "tensor 'a': data_offsets [0, 8] go beyond the data, which is 4 bytes"},
    {"broken_offsets_empty_inside", "tensor 'b': data begins at byte 2, inside tensor 'a' which ends at 4"},
    {"broken_offsets_far_beyond",
     "tensor 'a': data_offsets [9223372036854775803, 9223372036854775807] go beyond the data, which is 4 bytes"},
    {"broken_offsets_hole", "tensor 'b': data begins at byte 8, expected 4: no tensor owns the bytes between"},
    {"broken_offsets_hole_first", "tensor 'a': data begins at byte 4, expected 0: no tensor owns the bytes between"},
    {"broken_offsets_hole_last", "data ends at byte 5, the last tensor at 4: no tensor owns the rest"},
    {"broken_offsets_object", "tensor 'a': data_offsets is an object, expected a list of whole numbers"},
    {"broken_offsets_one", "tensor 'a': data_offsets has length 1, expected 2"},
    {"broken_offsets_overlap", "tensor 'b': data begins at byte 2, inside tensor 'a' which ends at 4"},
    {"broken_offsets_same", "tensor 'b': data begins at byte 0, inside tensor 'a' which ends at 4"},
    {"broken_offsets_size", "tensor 'a': data_offsets [0, 3] hold 3 bytes, expected 4 for F32 of shape (1)"},
    {"broken_offsets_three", "tensor 'a': data_offsets is longer than 2 numbers"},
    {"broken_shape_dimensions", "tensor 'a': shape has more than 64 dimensions"},
    {"broken_shape_fraction",
     "tensor 'a': a size in shape is 1.0, expected a whole number from 0 to 9223372036854775807"},
    {"broken_shape_huge",
     "tensor 'a': a size in shape is 18446744073709551615, expected a whole number from 0 to 9223372036854775807"},
    {"broken_shape_huger",
     "tensor 'a': a size in shape is 184467440737095516150, expected a whole number from 0 to 9223372036854775807"},
    {"broken_shape_infinite", "header is not valid JSON at its byte 34"},
    {"broken_shape_nan", "header is not valid JSON at its byte 30"},
    {"broken_shape_negative",
     "tensor 'a': a size in shape is -1, expected a whole number from 0 to 9223372036854775807"},
    {"broken_shape_product", "tensor 'a': shape (4294967296,4294967296) is too large"},
    {"broken_shape_product_wraps", "tensor 'a': shape (4611686018427387905) is too large"},
    {"broken_shape_product_zero", "tensor 'a': shape (0,9223372036854775807,2) is too large"},
    {"broken_shape_text", "tensor 'a': shape is text '1', expected a list of whole numbers"},
    {"broken_shape_true", "tensor 'a': a size in shape is true, expected a whole number from 0 to 9223372036854775807"},
    {"broken_short_file", "the file is 3 bytes, expected at least 8"},
    {"broken_tensor_null", "tensor 'a': it is null, expected an object"},
    {"broken_twice_field", "tensor 'a': dtype appears twice"},
    {"broken_twice_metadata", "__metadata__ appears twice"},
    {"broken_twice_metadata_name", "__metadata__ 'k' appears twice"},
    {"broken_twice_tensor", "tensor 'a' appears twice"},
};

TEST(SafeTensors, ReadsTheRightFilesAndRefusesTheBrokenOnes) {
  size_t right = 0;
  size_t broken = 0;
  for (const auto& entry : fs::directory_iterator(kTests / "fuzz" / "corpus" / "safetensors")) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    if (name.starts_with("right_")) {
      EXPECT_NO_THROW(SafeTensors::open(entry.path().string()));
      ++right;
      continue;
    }
    const auto expected = kBroken.find(name);
    ASSERT_NE(expected, kBroken.end());
    EXPECT_EQ(message_of([&] { SafeTensors::open(entry.path().string()); }),
              "[safetensors] " + entry.path().string() + ": " + expected->second);
    ++broken;
  }
  EXPECT_EQ(right, 11u);
  EXPECT_EQ(broken, kBroken.size());
}

TEST(SafeTensors, RefusesEveryFileCutShort) {
  const std::string whole = content_of((kTests / "golden" / "python.safetensors").string());
  ASSERT_NO_THROW(parse(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(parse(whole.substr(0, size)), FileError) << size;
  }
  EXPECT_THROW(parse(whole + '\0'), FileError);
}

TEST(SafeTensors, EmptyTensorsKeepTheirPlace) {
  const auto file = parse(file_with(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                    R"("end":{"dtype":"F64","shape":[0],"data_offsets":[2,2]},)"
                                    R"("start":{"dtype":"F64","shape":[7,0],"data_offsets":[0,0]}})",
                                    "xy"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"start", "b", "end"}));
}

TEST(SafeTensors, ALargeHeaderOfNestingIsRefusedAtOnce) {
  std::string deep = "{\"a\":";
  deep.append(10000000, '[');
  EXPECT_EQ(message_of([&] { parse(file_with(deep)); }),
            "[safetensors] f: tensor 'a': it is a list, expected an object");
}

TEST(SafeTensors, ALongNameGivesAShortMessage) {
  const std::string message = message_of([] { parse(file_with("{\"" + std::string(1000000, 'n') + "\":0}")); });
  EXPECT_EQ(message, "[safetensors] f: tensor '" + std::string(100, 'n') + "...': it is 0, expected an object");
}

TEST(StoredType, EveryHalfIsExact) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float found = f16_to_f32(static_cast<uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const int fraction = static_cast<int>(bits & 1023);
    const bool negative = (bits & 0x8000) != 0;
    EXPECT_EQ(std::signbit(found), negative);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(found), fraction != 0);
      EXPECT_EQ(std::isinf(found), fraction == 0);
      continue;
    }
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                          : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    ASSERT_EQ(std::abs(found), magnitude) << bits;
  }
}

TEST(StoredType, NamesGoBothWays) {
  for (const std::string name :
       {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}) {
    const auto type = stored_type_named(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(name_of(*type), name);
  }
  EXPECT_FALSE(stored_type_named("F8_E4M3").has_value());
  EXPECT_EQ(size_of(StoredType::kBF16), 2);
  EXPECT_EQ(size_of(StoredType::kBool), 1);
}

}  // namespace
}  // namespace heed
