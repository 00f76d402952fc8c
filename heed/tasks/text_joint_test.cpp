#include "heed/tasks/text_joint.h"

#include <gtest/gtest.h>

namespace heed::tasks {
namespace {

TEST(Joint, ABlankWhereTheWritingHasThem) {
  EXPECT_EQ(joint("The cat.", "A dog."), " ");
  EXPECT_EQ(joint("고양이가 쥐를 잡았다.", "개가 잔다."), " ");
  EXPECT_EQ(joint("고양이가", "쥐를"), " ");
  EXPECT_EQ(joint("“고양이”", "3마리"), " ");
  EXPECT_EQ(joint("我喜欢猫。", "The end"), " ");
  EXPECT_EQ(joint("The end.", "我喜欢猫。"), " ");
  EXPECT_EQ(joint("漢字 한국어", "한국어"), " ");
  EXPECT_EQ(joint("1", "2"), " ");
}

TEST(Joint, NothingWhereItHasNone) {
  EXPECT_EQ(joint("我喜欢猫。", "他走了"), "");
  EXPECT_EQ(joint("他说：“不知道。”", "然后走了"), "");
  EXPECT_EQ(joint("「行く。」", "「来る。」"), "");
  EXPECT_EQ(joint("カタカナー", "ひらがな"), "");
  EXPECT_EQ(joint("我去", "2024年"), "");
  EXPECT_EQ(joint("ＡＢＣ。", "𠀋"), "");
}

TEST(Joint, BlanksBetweenChineseWordsGoOn) {
  EXPECT_EQ(joint("我 喜欢 猫 。", "他 走 了"), " ");
  EXPECT_EQ(joint("我喜欢猫 。", "他 走了"), " ");
}

TEST(Joint, NeverTwoBlanks) {
  EXPECT_EQ(joint("the cat ", "saw"), "");
  EXPECT_EQ(joint("the cat", " saw"), "");
  EXPECT_EQ(joint("", "saw"), "");
  EXPECT_EQ(joint("the cat", ""), "");
}

}  // namespace
}  // namespace heed::tasks
