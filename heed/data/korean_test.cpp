#include "heed/data/korean.h"

#include <gtest/gtest.h>

#include <vector>

#include "heed/base/error.h"

namespace heed::data {
namespace {

constexpr auto kPlain = Politeness::kPlain;
constexpr auto kPolite = Politeness::kPolite;

TEST(Particles, ByTheFinalConsonant) {
  EXPECT_EQ(subject("고양이"), "고양이가");
  EXPECT_EQ(subject("소년"), "소년이");
  EXPECT_EQ(object("쥐"), "쥐를");
  EXPECT_EQ(object("책"), "책을");
  EXPECT_EQ(topic("그녀"), "그녀는");
  EXPECT_EQ(topic("그들"), "그들은");
  EXPECT_EQ(with("개"), "개와");
  EXPECT_EQ(with("소년"), "소년과");
  EXPECT_EQ(object("책 두 권"), "책 두 권을");
  EXPECT_EQ(object("커피 두 잔"), "커피 두 잔을");
  EXPECT_EQ(subject("개 두 마리"), "개 두 마리가");
}

TEST(Particles, EdgesOfTheHangulBlock) {
  EXPECT_FALSE(ends_in_consonant("가"));
  EXPECT_TRUE(ends_in_consonant("각"));
  EXPECT_TRUE(ends_in_consonant("힣"));
  EXPECT_FALSE(ends_in_consonant("히"));
  for (const char* word : {"", "a", "cat", "j00", "ㄱ", "字", "é"})
    EXPECT_THROW(ends_in_consonant(word), Error) << word;
}

struct Conjugation {
  Predicate word;
  const char *past, *polite_past, *present, *polite_present, *future, *polite_future;
};

void check(const Conjugation& c) {
  EXPECT_EQ(finite(c.word, Tense::kPast, kPlain), c.past);
  EXPECT_EQ(finite(c.word, Tense::kPast, kPolite), c.polite_past);
  EXPECT_EQ(finite(c.word, Tense::kPresent, kPlain), c.present);
  EXPECT_EQ(finite(c.word, Tense::kPresent, kPolite), c.polite_present);
  EXPECT_EQ(finite(c.word, Tense::kFuture, kPlain), c.future);
  EXPECT_EQ(finite(c.word, Tense::kFuture, kPolite), c.polite_future);
}

TEST(Endings, RegularStems) {
  check({{"잡다"}, "잡았다", "잡았어요", "잡는다", "잡아요", "잡을 것이다", "잡을 거예요"});
  check({{"먹다"}, "먹었다", "먹었어요", "먹는다", "먹어요", "먹을 것이다", "먹을 거예요"});
  check({{"읽다"}, "읽었다", "읽었어요", "읽는다", "읽어요", "읽을 것이다", "읽을 거예요"});
  check({{"닫다"}, "닫았다", "닫았어요", "닫는다", "닫아요", "닫을 것이다", "닫을 거예요"});
  check({{"씻다"}, "씻었다", "씻었어요", "씻는다", "씻어요", "씻을 것이다", "씻을 거예요"});
  check({{"찾다"}, "찾았다", "찾았어요", "찾는다", "찾아요", "찾을 것이다", "찾을 거예요"});
}

TEST(Endings, StemsThatMelt) {
  check({{"사다"}, "샀다", "샀어요", "산다", "사요", "살 것이다", "살 거예요"});
  check({{"보다"}, "봤다", "봤어요", "본다", "봐요", "볼 것이다", "볼 거예요"});
  check({{"오다"}, "왔다", "왔어요", "온다", "와요", "올 것이다", "올 거예요"});
  check({{"마시다"}, "마셨다", "마셨어요", "마신다", "마셔요", "마실 것이다", "마실 거예요"});
  check({{"주다"}, "줬다", "줬어요", "준다", "줘요", "줄 것이다", "줄 거예요"});
  check({{"보내다"}, "보냈다", "보냈어요", "보낸다", "보내요", "보낼 것이다", "보낼 거예요"});
  check({{"쉬다"}, "쉬었다", "쉬었어요", "쉰다", "쉬어요", "쉴 것이다", "쉴 거예요"});
  check({{"되다"}, "됐다", "됐어요", "된다", "돼요", "될 것이다", "될 거예요"});
}

TEST(Endings, Hada) {
  check({{"사랑하다"}, "사랑했다", "사랑했어요", "사랑한다", "사랑해요", "사랑할 것이다", "사랑할 거예요"});
}

TEST(Endings, EuIsDropped) {
  check({{"쓰다"}, "썼다", "썼어요", "쓴다", "써요", "쓸 것이다", "쓸 거예요"});
  check({{"크다", StemClass::kRegular, true}, "컸다", "컸어요", "크다", "커요", "클 것이다", "클 거예요"});
  check(
      {{"슬프다", StemClass::kRegular, true}, "슬펐다", "슬펐어요", "슬프다", "슬퍼요", "슬플 것이다", "슬플 거예요"});
  check({{"배고프다", StemClass::kRegular, true},
         "배고팠다",
         "배고팠어요",
         "배고프다",
         "배고파요",
         "배고플 것이다",
         "배고플 거예요"});
}

TEST(Endings, RieulIsDropped) {
  check({{"팔다"}, "팔았다", "팔았어요", "판다", "팔아요", "팔 것이다", "팔 거예요"});
  check({{"만들다"}, "만들었다", "만들었어요", "만든다", "만들어요", "만들 것이다", "만들 거예요"});
  check({{"길다", StemClass::kRegular, true}, "길었다", "길었어요", "길다", "길어요", "길 것이다", "길 거예요"});
}

TEST(Endings, Digeut) {
  check({{"듣다", StemClass::kDigeut}, "들었다", "들었어요", "듣는다", "들어요", "들을 것이다", "들을 거예요"});
  check({{"걷다", StemClass::kDigeut}, "걸었다", "걸었어요", "걷는다", "걸어요", "걸을 것이다", "걸을 거예요"});
}

TEST(Endings, Bieup) {
  check({{"돕다", StemClass::kBieup}, "도왔다", "도왔어요", "돕는다", "도와요", "도울 것이다", "도울 거예요"});
  check({{"무겁다", StemClass::kBieup, true},
         "무거웠다",
         "무거웠어요",
         "무겁다",
         "무거워요",
         "무거울 것이다",
         "무거울 거예요"});
  check({{"아름답다", StemClass::kBieup, true},
         "아름다웠다",
         "아름다웠어요",
         "아름답다",
         "아름다워요",
         "아름다울 것이다",
         "아름다울 거예요"});
  check({{"귀엽다", StemClass::kBieup, true},
         "귀여웠다",
         "귀여웠어요",
         "귀엽다",
         "귀여워요",
         "귀여울 것이다",
         "귀여울 거예요"});
}

TEST(Endings, Reu) {
  check({{"부르다", StemClass::kReu}, "불렀다", "불렀어요", "부른다", "불러요", "부를 것이다", "부를 거예요"});
  check({{"고르다", StemClass::kReu}, "골랐다", "골랐어요", "고른다", "골라요", "고를 것이다", "고를 거예요"});
  check({{"빠르다", StemClass::kReu, true}, "빨랐다", "빨랐어요", "빠르다", "빨라요", "빠를 것이다", "빠를 거예요"});
}

TEST(Endings, Hieut) {
  check({{"빨갛다", StemClass::kHieut, true}, "빨갰다", "빨갰어요", "빨갛다", "빨개요", "빨갈 것이다", "빨갈 거예요"});
  check({{"하얗다", StemClass::kHieut, true}, "하얬다", "하얬어요", "하얗다", "하얘요", "하얄 것이다", "하얄 거예요"});
  check({{"좋다", StemClass::kRegular, true}, "좋았다", "좋았어요", "좋다", "좋아요", "좋을 것이다", "좋을 거예요"});
}

TEST(Endings, Negation) {
  EXPECT_EQ(negative({"잡다"}, Tense::kPast, kPlain), "잡지 않았다");
  EXPECT_EQ(negative({"잡다"}, Tense::kPresent, kPlain), "잡지 않는다");
  EXPECT_EQ(negative({"듣다", StemClass::kDigeut}, Tense::kPresent, kPolite), "듣지 않아요");
  EXPECT_EQ(negative({"팔다"}, Tense::kFuture, kPlain), "팔지 않을 것이다");
  EXPECT_EQ(negative({"돕다", StemClass::kBieup}, Tense::kFuture, kPolite), "돕지 않을 거예요");
  EXPECT_EQ(negative({"크다", StemClass::kRegular, true}, Tense::kPresent, kPlain), "크지 않다");
  EXPECT_EQ(negative({"크다", StemClass::kRegular, true}, Tense::kPast, kPolite), "크지 않았어요");
}

TEST(Endings, Inability) {
  EXPECT_EQ(unable({"찾다"}, Tense::kPast, kPlain), "찾지 못했다");
  EXPECT_EQ(unable({"찾다"}, Tense::kPresent, kPlain), "찾지 못한다");
  EXPECT_EQ(unable({"기억하다"}, Tense::kPresent, kPolite), "기억하지 못해요");
  EXPECT_EQ(unable({"기억하다"}, Tense::kFuture, kPlain), "기억하지 못할 것이다");
}

TEST(Endings, Connective) {
  EXPECT_EQ(connective({"잡다"}), "잡고");
  EXPECT_EQ(connective({"팔다"}), "팔고");
  EXPECT_EQ(connective({"돕다", StemClass::kBieup}), "돕고");
  EXPECT_EQ(connective({"부르다", StemClass::kReu}), "부르고");
}

TEST(Endings, Attributive) {
  const auto form = [](const char* word, StemClass kind) { return attributive({word, kind, true}); };
  EXPECT_EQ(form("크다", StemClass::kRegular), "큰");
  EXPECT_EQ(form("작다", StemClass::kRegular), "작은");
  EXPECT_EQ(form("짧다", StemClass::kRegular), "짧은");
  EXPECT_EQ(form("길다", StemClass::kRegular), "긴");
  EXPECT_EQ(form("빨갛다", StemClass::kHieut), "빨간");
  EXPECT_EQ(form("하얗다", StemClass::kHieut), "하얀");
  EXPECT_EQ(form("무겁다", StemClass::kBieup), "무거운");
  EXPECT_EQ(form("빠르다", StemClass::kReu), "빠른");
  EXPECT_EQ(form("친절하다", StemClass::kRegular), "친절한");
  EXPECT_EQ(form("비싸다", StemClass::kRegular), "비싼");
  EXPECT_EQ(form("맛있다", StemClass::kRegular), "맛있는");
}

TEST(Endings, Copula) {
  EXPECT_EQ(copula("학생", Tense::kPresent, kPlain), "학생이다");
  EXPECT_EQ(copula("의사", Tense::kPresent, kPlain), "의사다");
  EXPECT_EQ(copula("학생", Tense::kPresent, kPolite), "학생이에요");
  EXPECT_EQ(copula("의사", Tense::kPresent, kPolite), "의사예요");
  EXPECT_EQ(copula("학생", Tense::kPast, kPlain), "학생이었다");
  EXPECT_EQ(copula("의사", Tense::kPast, kPolite), "의사였어요");
  EXPECT_EQ(copula("의사", Tense::kFuture, kPlain), "의사가 될 것이다");
  EXPECT_EQ(negative_copula("학생", Tense::kPresent, kPlain), "학생이 아니다");
  EXPECT_EQ(negative_copula("의사", Tense::kPresent, kPolite), "의사가 아니에요");
  EXPECT_EQ(negative_copula("학생", Tense::kPast, kPlain), "학생이 아니었다");
  EXPECT_EQ(negative_copula("의사", Tense::kFuture, kPolite), "의사가 되지 않을 거예요");
}

}  // namespace
}  // namespace heed::data
