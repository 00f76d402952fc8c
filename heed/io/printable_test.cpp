#include "heed/io/printable.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Printable, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(printable("plain 한글"), "plain 한글");
  EXPECT_EQ(printable("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
  EXPECT_EQ(printable("\xC2\x9B|\xC2\xA0|\xC2"), "\\x9b|\xC2\xA0|\\xc2");
  EXPECT_EQ(printable("\x9b[2J\xff\xed\x95|"), "\\x9b[2J\\xff\\xed\\x95|");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcde...");
  EXPECT_EQ(printable("a한글", 5), "a한...");
  EXPECT_EQ(printable("한", 1), "...");
}

}  // namespace
}  // namespace heed
