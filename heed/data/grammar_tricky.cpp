#include "heed/data/grammar.h"

namespace heed::data {

const std::vector<TrickySentence>& tricky_sentences() {
  static const std::vector<TrickySentence> all = {
      {{"the cat caught the mouse", "고양이가 쥐를 잡았다"},
       "the verb moves to the end; 고양이 and 쥐 end in a vowel: 가, 를"},
      {{"the boy read a book", "소년이 책을 읽었다"}, "소년 and 책 end in a consonant: 이, 을"},
      {{"the cat did not catch the mouse", "고양이는 쥐를 잡지 않았다"},
       "what did not happen is said about a topic: 는, -지 않다"},
      {{"the farmer did not find the key", "농부는 열쇠를 찾지 못했다"}, "not to find is not to manage: -지 못하다"},
      {{"she will drink two cups of hot coffee ma'am", "그녀는 뜨거운 커피 두 잔을 마실 거예요"},
       "cups are counted by 잔; the future, politely: -ㄹ 거예요"},
      {{"three dogs broke two cups", "개 세 마리가 컵 두 개를 깼다"}, "개 is a dog and also the counter of things"},
      {{"my friend is a doctor sir", "제 친구는 의사예요"}, "politely 내 becomes 제; 의사 ends in a vowel: 예요"},
      {{"he is not a student", "그는 학생이 아니다"}, "not to be is a verb of its own: 이/가 아니다"},
      {{"the queen wears a blue hat", "여왕이 파란 모자를 쓴다"}, "to wear is 쓰다 on the head"},
      {{"the man wore a white shirt", "남자가 하얀 셔츠를 입었다"}, "... and 입다 on the body"},
      {{"i helped the children", "나는 아이들을 도왔다"}, "children is an irregular plural; ㅂ of 돕다 turns into 오"},
      {{"the singer listens to a sad song", "가수가 슬픈 노래를 듣는다"}, "듣다 keeps its ㄷ before a consonant ..."},
      {{"the singer listened to a sad song", "가수가 슬픈 노래를 들었다"}, "... and turns it into ㄹ before a vowel"},
      {{"the farmer sells ten red roses every day", "농부가 매일 빨간 장미 열 송이를 판다"},
       "ㄹ of 팔다 is dropped; flowers are counted by 송이"},
      {{"the king gave the girl's ring to the farmer", "왕이 농부에게 소녀의 반지를 줬다"},
       "whoever gets it takes 에게 and comes first"},
      {{"the boy and the girl went home yesterday", "소년과 소녀가 어제 집에 갔다"},
       "and between nouns is 과 after a consonant, 와 after a vowel"},
      {{"the dog drank water and the cat ate a fish", "개가 물을 마시고 고양이가 물고기를 먹었다"},
       "and between clauses is -고; only the last verb tells the tense"},
      {{"the thief hid the ring in the garden", "도둑이 정원에 반지를 숨겼다"},
       "where something comes to be takes 에, where something is done 에서"},
      {{"our horses are fast and beautiful sir", "저희 말들은 빠르고 아름다워요"},
       "politely 우리 becomes 저희; adjectives take endings as verbs do"},
  };
  return all;
}

}  // namespace heed::data
