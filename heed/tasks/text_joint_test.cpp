#include "heed/tasks/text_joint.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace heed::tasks {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

void expect_joint(const std::string& between, const Texts& texts) {
  for (const auto& [before, after] : texts)
    EXPECT_EQ(joint(before, after), between) << before.substr(0, 64) << " | " << after.substr(0, 64);
}

TEST(Joint, ABlankWhereTheWritingHasThem) {
  expect_joint(" ", {{"The cat.", "A dog."},
                     {"고양이가 쥐를 잡았다.", "개가 잔다."},
                     {"고양이가", "쥐를"},
                     {"“고양이”", "3마리"},
                     {"我喜欢猫。", "The end"},
                     {"The end.", "我喜欢猫。"},
                     {"漢字 한국어", "한국어"},
                     {"1", "2"}});
}

TEST(Joint, NothingWhereItHasNone) {
  expect_joint("", {{"我喜欢猫。", "他走了"},
                    {"他说：“不知道。”", "然后走了"},
                    {"「行く。」", "「来る。」"},
                    {"カタカナー", "ひらがな"},
                    {"我去", "2024年"},
                    {"ＡＢＣ。", "𠀋"}});
}

TEST(Joint, BlanksBetweenChineseWordsGoOn) {
  expect_joint(" ", {{"我 喜欢 猫 。", "他 走 了"}, {"我喜欢猫 。", "他 走了"}});
}

TEST(Joint, NeverTwoBlanks) {
  expect_joint("", {{"the cat ", "saw"}, {"the cat", " saw"}, {"", "saw"}, {"the cat", ""}});
}

// What is near decides, wherever in a character the far end begins.
TEST(Joint, LongTexts) {
  for (const std::string shift : {"", "a", "ab"}) {
    std::string chinese = shift;
    for (int i = 0; i < 5000; ++i) chinese += "猫";
    expect_joint("",
                 {{"我 喜欢 " + chinese, "他走了"}, {"他走了", chinese.substr(shift.size()) + shift + " 我 喜 欢"}});
    expect_joint(" ", {{chinese + " 我 喜 欢", "他走了"}, {chinese + "the cat", "saw"}});
  }
}

}  // namespace
}  // namespace heed::tasks
