#include "heed/io/bounded_json.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(BoundedJson, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_bounded(R"({"a": [1, {"b": "}]["}], "c": "\"[["})")["c"], "\"[[");
  EXPECT_EQ(parse_bounded(nested(128)).size(), 1u);
  EXPECT_EQ(parse_bounded<nlohmann::ordered_json>(R"({"z": 1, "a": 2})").begin().key(), "z");
}

TEST(BoundedJson, RefusesDepthAndNonsense) {
  for (const std::string& text : {nested(129), nested(400'000), std::string(400'000, '{'), std::string("{\"a\":"),
                                  std::string("\"\\"), std::string()}) {
    EXPECT_TRUE(parse_bounded(text).is_discarded()) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace heed
