#include "heed/data/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "heed/base/error.h"
#include "heed/data/grammar_sample.h"

namespace heed::data {
namespace {

template <class List>
const auto* find(const List& list, std::string_view english) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.english == english; });
  if (at == list.end()) fail("[test] no word '{}'", english);
  return &*at;
}

// Sentences as a person would put them together; the adjective before a noun: "big cat".
Phrase a_phrase(Determiner determiner, std::string_view words, bool plural = false) {
  Phrase phrase;
  const size_t blank = words.find(' ');
  if (blank != std::string_view::npos) phrase.adjective = find(adjectives(), words.substr(0, blank));
  phrase.noun = find(nouns(), blank == std::string_view::npos ? words : words.substr(blank + 1));
  phrase.determiner = determiner;
  phrase.plural = plural;
  return phrase;
}
Phrase the(std::string_view words) { return a_phrase(Determiner::kThe, words); }
Phrase the_many(std::string_view words) { return a_phrase(Determiner::kThe, words, true); }
Phrase a(std::string_view words) { return a_phrase(Determiner::kA, words); }
Phrase some(std::string_view words) { return a_phrase(Determiner::kNone, words); }
Phrase number(int n, std::string_view words) {
  Phrase phrase = a_phrase(Determiner::kNumber, words);
  phrase.number = n;
  return phrase;
}
Phrase owned(std::string_view owner, std::string_view words, bool plural = false) {
  Phrase phrase = a_phrase(Determiner::kOwner, words, plural);
  phrase.owner = find(owners(), owner);
  return phrase;
}
Phrase owned_by(std::string_view owner, std::string_view words) {
  Phrase phrase = a_phrase(Determiner::kOwnerNoun, words);
  phrase.owner_noun = find(nouns(), owner);
  return phrase;
}
Phrase pronoun(std::string_view english) {
  Phrase phrase;
  phrase.pronoun = find(pronouns(), english);
  return phrase;
}

Sentence does(Phrases who, std::string_view verb, Phrases what = {}, Tense tense = Tense::kPast) {
  Sentence sentence;
  sentence.subject = std::move(who);
  sentence.tense = tense;
  for (const auto list : {verbs(), giving_verbs(), moving_verbs()}) {
    for (const Verb& entry : list) {
      if (entry.english == verb && (what.empty() || takes(entry, *what[0].noun))) sentence.statement.verb = &entry;
    }
  }
  if (!sentence.statement.verb) fail("[test] no verb '{}'", verb);
  sentence.statement.object = std::move(what);
  return sentence;
}
Sentence is(Phrase who, std::string_view adjective, Tense tense = Tense::kPresent) {
  Sentence sentence;
  sentence.subject = {who};
  sentence.tense = tense;
  sentence.statement.adjective = find(adjectives(), adjective);
  return sentence;
}
Sentence is_a(Phrase who, std::string_view job, Tense tense = Tense::kPresent) {
  Sentence sentence = is(who, "kind", tense);
  sentence.statement.adjective = nullptr;
  sentence.statement.job = find(nouns(), job);
  return sentence;
}
Sentence deny(Sentence sentence) {
  sentence.negative = true;
  return sentence;
}
Sentence politely(Sentence sentence, size_t word = 0) {
  sentence.politeness_word = politeness_words()[word];
  return sentence;
}
Sentence when(Sentence sentence, std::string_view time) {
  sentence.time = find(time_words(), time);
  return sentence;
}
Sentence where(Sentence sentence, std::string_view korean) {
  for (const Place& place : places()) {
    if (place.korean == korean) sentence.place = &place;
  }
  return sentence;
}
Sentence to(Sentence sentence, std::string_view korean) {
  sentence.statement.goal = where(sentence, korean).place;
  return sentence;
}
Sentence gives(Phrase who, std::string_view verb, Phrase what, Phrase whom, bool after_to) {
  Sentence sentence = does({who}, verb, {what});
  sentence.statement.recipient = {whom};
  sentence.statement.recipient_after_to = after_to;
  return sentence;
}
Sentence both(Sentence first, const Sentence& second, bool same_subject = false) {
  if (!same_subject) first.second_subject = second.subject;
  first.second = second.statement;
  return first;
}

void expect(const Sentence& sentence, const std::string& english, const std::string& korean) {
  EXPECT_EQ(in_english(sentence), english);
  EXPECT_EQ(in_korean(sentence), korean) << english;
}

constexpr auto kPresent = Tense::kPresent;
constexpr auto kFuture = Tense::kFuture;

TEST(Grammar, Tenses) {
  expect(does({the("cat")}, "catch", {the("mouse")}), "the cat caught the mouse", "고양이가 쥐를 잡았다");
  expect(does({the("cat")}, "catch", {a("fish")}, kPresent), "the cat catches a fish", "고양이가 물고기를 잡는다");
  expect(does({a("boy")}, "open", {the("door")}, kFuture), "a boy will open the door", "소년이 문을 열 것이다");
  expect(politely(does({the("cat")}, "catch", {the("mouse")})), "the cat caught the mouse sir",
         "고양이가 쥐를 잡았어요");
  expect(politely(does({the("bear")}, "sleep", {}, kPresent), 1), "the bear sleeps ma'am", "곰이 자요");
  expect(politely(does({the("bear")}, "walk", {}, kFuture)), "the bear will walk sir", "곰이 걸을 거예요");
}

TEST(Grammar, NegationTakesATopic) {
  expect(deny(does({the("man")}, "buy", {a("car")})), "the man did not buy a car", "남자는 자동차를 사지 않았다");
  expect(deny(does({the_many("woman")}, "read", {a("book")}, kPresent)), "the women do not read a book",
         "여자들은 책을 읽지 않는다");
  expect(deny(does({the("king")}, "help", {the("thief")}, kPresent)), "the king does not help the thief",
         "왕은 도둑을 돕지 않는다");
  expect(politely(deny(does({the("snake")}, "bite", {the("sheep")}, kFuture))), "the snake will not bite the sheep sir",
         "뱀은 양을 물지 않을 거예요");
  expect(deny(does({the("wolf")}, "find", {the("fox")})), "the wolf did not find the fox", "늑대는 여우를 찾지 못했다");
}

TEST(Grammar, Pronouns) {
  expect(does({pronoun("i")}, "drink", {some("water")}), "i drank water", "나는 물을 마셨다");
  expect(politely(does({pronoun("i")}, "drink", {some("water")})), "i drank water sir", "저는 물을 마셨어요");
  expect(does({pronoun("we")}, "drink", {some("water")}), "we drank water", "우리는 물을 마셨다");
  expect(politely(does({pronoun("we")}, "drink", {some("water")})), "we drank water sir", "저희는 물을 마셨어요");
  expect(does({pronoun("they")}, "study", {some("math")}, kPresent), "they study math", "그들은 수학을 공부한다");
  expect(does({pronoun("she")}, "study", {some("korean")}, kPresent), "she studies korean", "그녀는 한국어를 공부한다");
}

TEST(Grammar, Owners) {
  expect(does({owned("my", "cat")}, "eat", {owned("your", "bread")}), "my cat ate your bread",
         "내 고양이가 네 빵을 먹었다");
  expect(politely(does({owned("my", "cat")}, "eat", {owned("your", "bread")})), "my cat ate your bread sir",
         "제 고양이가 선생님의 빵을 먹었어요");
  expect(does({owned_by("girl", "dog")}, "break", {owned("his", "cup")}), "the girl's dog broke his cup",
         "소녀의 개가 그의 컵을 깼다");
  expect(is(owned("our", "new car"), "fast"), "our new car is fast", "우리 새 자동차는 빠르다");
  expect(politely(is(owned("our", "new car"), "fast")), "our new car is fast sir", "저희 새 자동차는 빨라요");
}

TEST(Grammar, EveryCounter) {
  const auto buys = [](int n, const char* what, const char* english, const char* korean) {
    expect(does({pronoun("he")}, "see", {number(n, what)}), std::string("he saw ") + english,
           std::string("그는 ") + korean + " 봤다");
  };
  buys(1, "girl", "one girl", "소녀 한 명을");
  buys(2, "wolf", "two wolves", "늑대 두 마리를");
  buys(3, "book", "three books", "책 세 권을");
  buys(4, "letter", "four letters", "편지 네 통을");
  buys(5, "newspaper", "five newspapers", "신문 다섯 부를");
  buys(6, "box", "six boxes", "상자 여섯 개를");
  buys(7, "knife", "seven knives", "칼 일곱 자루를");
  buys(8, "bicycle", "eight bicycles", "자전거 여덟 대를");
  buys(9, "rose", "nine roses", "장미 아홉 송이를");
  buys(10, "tree", "ten trees", "나무 열 그루를");
  buys(2, "dress", "two dresses", "드레스 두 벌을");
  buys(3, "map", "three maps", "지도 세 장을");
  buys(4, "boat", "four boats", "배 네 척을");
  buys(5, "house", "five houses", "집 다섯 채를");
  expect(does({pronoun("he")}, "listen", {number(2, "song")}), "he listened to two songs", "그는 노래 두 곡을 들었다");
  expect(does({pronoun("he")}, "write", {number(2, "poem")}), "he wrote two poems", "그는 시 두 편을 썼다");
}

TEST(Grammar, MeasuresOfWhatIsNotCounted) {
  expect(does({pronoun("he")}, "drink", {number(1, "cold milk")}), "he drank one cup of cold milk",
         "그는 차가운 우유 한 잔을 마셨다");
  expect(does({pronoun("he")}, "eat", {number(2, "rice")}), "he ate two bowls of rice", "그는 밥 두 그릇을 먹었다");
  expect(does({pronoun("he")}, "eat", {number(3, "bread")}), "he ate three pieces of bread",
         "그는 빵 세 조각을 먹었다");
  expect(is(number(2, "coffee"), "hot"), "two cups of coffee are hot", "커피 두 잔은 뜨겁다");
}

TEST(Grammar, Plurals) {
  expect(does({the_many("child")}, "chase", {the_many("goose")}), "the children chased the geese",
         "아이들이 거위들을 쫓았다");
  expect(does({the_many("thief")}, "sell", {the_many("potato")}, kPresent), "the thieves sell the potatoes",
         "도둑들이 감자를 판다");
}

TEST(Grammar, AnBeforeAVowel) {
  expect(does({a("small bear")}, "eat", {a("orange")}), "a small bear ate an orange", "작은 곰이 오렌지를 먹었다");
}

TEST(Grammar, Describing) {
  expect(is(the("cat"), "big"), "the cat is big", "고양이는 크다");
  expect(politely(is(the_many("flower"), "red", Tense::kPast)), "the flowers were red sir", "꽃은 빨갰어요");
  expect(deny(is(pronoun("i"), "tired")), "i am not tired", "나는 피곤하지 않다");
  expect(deny(is(some("math"), "easy", kFuture)), "math will not be easy", "수학은 쉽지 않을 것이다");
  expect(is_a(owned("my", "friend"), "doctor"), "my friend is a doctor", "내 친구는 의사다");
  expect(politely(is_a(pronoun("i"), "student")), "i am a student sir", "저는 학생이에요");
  expect(deny(is_a(pronoun("they"), "soldier", Tense::kPast)), "they were not soldiers", "그들은 군인이 아니었다");
  expect(is_a(pronoun("she"), "nurse", kFuture), "she will be a nurse", "그녀는 간호사가 될 것이다");
}

TEST(Grammar, GivingAndGoing) {
  expect(gives(the("boy"), "give", a("flower"), the("girl"), false), "the boy gave the girl a flower",
         "소년이 소녀에게 꽃을 줬다");
  expect(gives(the("boy"), "give", a("flower"), the("girl"), true), "the boy gave a flower to the girl",
         "소년이 소녀에게 꽃을 줬다");
  expect(to(does({pronoun("we")}, "go"), "학교"), "we went to school", "우리는 학교에 갔다");
  expect(when(to(does({the("man")}, "come", {}, kFuture), "집"), "soon"), "the man will come home soon",
         "남자가 곧 집에 올 것이다");
}

TEST(Grammar, TimeAndPlace) {
  expect(when(where(does({the("girl")}, "read", {a("book")}), "도서관"), "yesterday"),
         "the girl read a book in the library yesterday", "소녀가 어제 도서관에서 책을 읽었다");
  // Whoever hides something puts it there; whoever does anything else does it there.
  expect(where(does({the("thief")}, "hide", {the("key")}), "공원"), "the thief hid the key in the park",
         "도둑이 공원에 열쇠를 숨겼다");
  expect(where(does({the("thief")}, "lose", {the("key")}), "공원"), "the thief lost the key in the park",
         "도둑이 공원에서 열쇠를 잃어버렸다");
}

TEST(Grammar, And) {
  expect(does({the("boy"), the("girl")}, "make", {a("cake"), some("soup")}),
         "the boy and the girl made a cake and soup", "소년과 소녀가 케이크와 수프를 만들었다");
  expect(both(does({the("girl")}, "read", {a("book")}, kFuture), does({the("girl")}, "drink", {some("milk")}), true),
         "the girl will read a book and drink milk", "소녀가 책을 읽고 우유를 마실 것이다");
  expect(both(does({the("dog")}, "chase", {the("cat")}), does({pronoun("i")}, "laugh")),
         "the dog chased the cat and i laughed", "개가 고양이를 쫓고 나는 웃었다");
  expect(both(is(the("horse"), "big"), is(the("horse"), "fast"), true), "the horse is big and fast",
         "말은 크고 빠르다");
}

// What is shown to people must be what the grammar says.
TEST(Grammar, TrickySentencesAreItsOwn) {
  const Phrase hat = a("blue hat"), song = a("sad song");
  const std::vector<Sentence> built = {
      does({the("cat")}, "catch", {the("mouse")}),
      does({the("boy")}, "read", {a("book")}),
      deny(does({the("cat")}, "catch", {the("mouse")})),
      deny(does({the("farmer")}, "find", {the("key")})),
      politely(does({pronoun("she")}, "drink", {number(2, "hot coffee")}, kFuture), 1),
      does({number(3, "dog")}, "break", {number(2, "cup")}),
      politely(is_a(owned("my", "friend"), "doctor")),
      deny(is_a(pronoun("he"), "student")),
      does({the("queen")}, "wear", {hat}, kPresent),
      does({the("man")}, "wear", {a("white shirt")}),
      does({pronoun("i")}, "help", {the_many("child")}),
      does({the("singer")}, "listen", {song}, kPresent),
      does({the("singer")}, "listen", {song}),
      when(does({the("farmer")}, "sell", {number(10, "red rose")}, kPresent), "every day"),
      gives(the("king"), "give", owned_by("girl", "ring"), the("farmer"), true),
      when(to(does({the("boy"), the("girl")}, "go"), "집"), "yesterday"),
      both(does({the("dog")}, "drink", {some("water")}), does({the("cat")}, "eat", {a("fish")})),
      where(does({the("thief")}, "hide", {the("ring")}), "정원"),
      politely(both(is(owned("our", "horse", true), "fast"), is(the("horse"), "beautiful"), true)),
  };
  ASSERT_EQ(built.size(), tricky_sentences().size());
  for (size_t i = 0; i < built.size(); ++i) {
    const TrickySentence& shown = tricky_sentences()[i];
    expect(built[i], shown.pair.source, shown.pair.target);
    EXPECT_FALSE(shown.why.empty());
    EXPECT_EQ(part_of(built[i], shown.pair.source), std::nullopt);
    EXPECT_TRUE(unknown_words(shown.pair.source).empty());
  }
}

TEST(Grammar, TenseThatEnglishDoesNotSay) {
  EXPECT_FALSE(tense_is_plain(does({pronoun("they")}, "read", {a("book")}, kPresent)));
  EXPECT_TRUE(tense_is_plain(does({pronoun("she")}, "read", {a("book")}, kPresent)));
  EXPECT_TRUE(tense_is_plain(does({pronoun("they")}, "read", {a("book")})));
  EXPECT_TRUE(tense_is_plain(deny(does({pronoun("they")}, "read", {a("book")}, kPresent))));
}

}  // namespace
}  // namespace heed::data
