#include "heed/io/sharded_tensors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/io/test_files.h"

namespace heed {
namespace {

using nlohmann::json;
constexpr const char* kIndex = "model.safetensors.index.json";

// A folder with a.safetensors (x, y) and b.safetensors (z), and an index.
class Shards {
 public:
  Shards() {
    write("a.safetensors", {"x", "y"});
    write("b.safetensors", {"z"});
    index({{"x", "a.safetensors"}, {"y", "a.safetensors"}, {"z", "b.safetensors"}});
  }
  void write(const std::string& name, const std::vector<std::string>& tensors) const {
    std::vector<TensorToWrite> list;
    list.reserve(tensors.size());
    for (const std::string& t : tensors) list.push_back({t, StoredType::kF32, {2}, std::as_bytes(std::span(kNumbers))});
    write_safetensors(folder_.file(name), list);
  }
  void index(const json& map) const { put_content(folder_.file(kIndex), json{{"weight_map", map}}.dump()); }
  std::string path() const { return folder_.file("."); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string refusal() const {
    const std::string message = message_of([&] { ShardedTensors::open(path()); });
    EXPECT_TRUE(message.starts_with("[model] '")) << message;
    return message.substr(message.find("': ") + 3);
  }

 private:
  static constexpr float kNumbers[] = {1, 2};
  TemporaryFolder folder_;
};

TEST(ShardedTensors, ManyFilesReadAsOne) {
  const Shards shards;
  const ShardedTensors all = ShardedTensors::open(shards.path());
  EXPECT_EQ(all.tensors().size(), 3u);
  for (const char* name : {"x", "y", "z"}) {
    ASSERT_NE(all.find(name), nullptr);
    std::vector<float> numbers(2);
    to_f32(*all.find(name), numbers.data());
    EXPECT_EQ(numbers, (std::vector<float>{1, 2}));
  }
  EXPECT_EQ(all.find("w"), nullptr);
  EXPECT_TRUE(ShardedTensors::exists(shards.path()));
}

TEST(ShardedTensors, OneFileIsPreferred) {
  const Shards shards;
  shards.write("model.safetensors", {"only"});
  const ShardedTensors all = ShardedTensors::open(shards.path());
  EXPECT_EQ(all.tensors().size(), 1u);
  EXPECT_NE(all.find("only"), nullptr);
}

TEST(ShardedTensors, AnIndexThatLiesIsNamed) {
  const Shards s;
  s.index({{"x", "a.safetensors"}, {"y", "a.safetensors"}, {"z", "c.safetensors"}});
  EXPECT_EQ(s.refusal(), "'z' is in 'c.safetensors', which is not there");
  s.index({{"x", "a.safetensors"}, {"z", "b.safetensors"}});
  EXPECT_EQ(s.refusal(), "'y' of 'a.safetensors' is not in the index");
  s.index({{"x", "a.safetensors"}, {"y", "b.safetensors"}, {"z", "b.safetensors"}});
  EXPECT_EQ(s.refusal(), "'y' is said to be in 'b.safetensors', but 'a.safetensors' holds it");
  s.index({{"x", "a.safetensors"}, {"y", "a.safetensors"}, {"z", "b.safetensors"}, {"w", "b.safetensors"}});
  EXPECT_EQ(s.refusal(), "'b.safetensors' lacks 'w'");
  for (const char* name : {"../a.safetensors", "/a.safetensors", "b/../a.safetensors", "..", "", "a.bin",
                           "a\\a.safetensors", ".safetensors"}) {
    s.index({{"x", name}});
    EXPECT_NE(s.refusal().find("expected the name of a .safetensors file beside the index"), std::string::npos) << name;
  }
  s.index({{"x", 3}});
  EXPECT_EQ(s.refusal(), "the file of 'x' is no name");
  put_content(s.file(kIndex), "{}");
  EXPECT_EQ(s.refusal(), "'weight_map' is no object of names");
  put_content(s.file(kIndex), R"({"weight_map": {}})");
  EXPECT_NE(message_of([&] { ShardedTensors::open(s.path()); }).find("lists no tensors"), std::string::npos);
  put_content(s.file(kIndex), "[");
  EXPECT_NE(message_of([&] { ShardedTensors::open(s.path()); }).find("is no JSON object"), std::string::npos);
}

TEST(ShardedTensors, ADamagedShardIsNamed) {
  const Shards s;
  std::filesystem::resize_file(s.file("b.safetensors"), 20);
  EXPECT_NE(message_of([&] { ShardedTensors::open(s.path()); }).find("b.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace heed
