#include "heed/data/english.h"

#include <gtest/gtest.h>

namespace heed::data {
namespace {

TEST(English, ThirdPerson) {
  EXPECT_EQ(third_person("catch"), "catches");
  EXPECT_EQ(third_person("wash"), "washes");
  EXPECT_EQ(third_person("go"), "goes");
  EXPECT_EQ(third_person("study"), "studies");
  EXPECT_EQ(third_person("buy"), "buys");
  EXPECT_EQ(third_person("see"), "sees");
}

TEST(English, Plurals) {
  EXPECT_EQ(regular_plural("cat"), "cats");
  EXPECT_EQ(regular_plural("box"), "boxes");
  EXPECT_EQ(regular_plural("dress"), "dresses");
  EXPECT_EQ(regular_plural("story"), "stories");
  EXPECT_EQ(regular_plural("key"), "keys");
  EXPECT_EQ(regular_plural("piano"), "pianos");
}

TEST(English, Articles) {
  EXPECT_EQ(article("apple"), "an");
  EXPECT_EQ(article("umbrella"), "an");
  EXPECT_EQ(article("cat"), "a");
}

}  // namespace
}  // namespace heed::data
