#include "heed/data/grammar_words.h"

namespace heed::data {
namespace {

constexpr Kinds kAnyone = kPerson | kAnimal;

constexpr Noun kNouns[] = {
    {"girl", "", "소녀", "명", kPerson | kChildlike},
    {"boy", "", "소년", "명", kPerson | kChildlike},
    {"man", "men", "남자", "명", kPerson},
    {"woman", "women", "여자", "명", kPerson},
    {"child", "children", "아이", "명", kPerson | kChildlike | kRelated},
    {"nurse", "", "간호사", "명", kPerson | kJob | kRelated},
    {"friend", "", "친구", "명", kPerson | kRelated},
    {"student", "", "학생", "명", kPerson | kJob | kRelated},
    {"doctor", "", "의사", "명", kPerson | kJob | kRelated},
    {"farmer", "", "농부", "명", kPerson | kJob},
    {"singer", "", "가수", "명", kPerson | kJob | kArt},
    {"painter", "", "화가", "명", kPerson | kJob | kArt},
    {"soldier", "", "군인", "명", kPerson | kJob},
    {"thief", "thieves", "도둑", "명", kPerson | kJob},
    {"king", "", "왕", "명", kPerson | kArt},
    {"queen", "", "여왕", "명", kPerson | kArt},

    {"cat", "", "고양이", "마리", kAnimal},
    {"dog", "", "개", "마리", kAnimal | kMoves},
    {"mouse", "mice", "쥐", "마리", kAnimal | kSmall},
    {"bird", "", "새", "마리", kAnimal | kSmall | kFine},
    {"rabbit", "", "토끼", "마리", kAnimal | kSmall | kMoves},
    {"fish", "fish", "물고기", "마리", kAnimal | kSmall | kFeed},
    {"frog", "", "개구리", "마리", kAnimal | kSmall},
    {"goose", "geese", "거위", "마리", kAnimal | kSmall},
    {"snake", "", "뱀", "마리", kAnimal | kSmall | kLong},
    {"horse", "", "말", "마리", kAnimal | kMoves | kFine},
    {"bear", "", "곰", "마리", kAnimal},
    {"tiger", "", "호랑이", "마리", kAnimal | kMoves},
    {"wolf", "wolves", "늑대", "마리", kAnimal | kMoves},
    {"fox", "", "여우", "마리", kAnimal | kMoves},
    {"sheep", "sheep", "양", "마리", kAnimal},
    {"pig", "", "돼지", "마리", kAnimal},
    {"monkey", "", "원숭이", "마리", kAnimal | kMoves},

    {"apple", "", "사과", "개", kFood | kFeed | kWashed | kGoods | kGift},
    {"orange", "", "오렌지", "개", kFood | kFeed | kWashed | kGoods | kGift},
    {"egg", "", "달걀", "개", kFood | kFeed | kBreaks | kGoods | kWarm},
    {"potato", "potatoes", "감자", "개", kFood | kFeed | kWashed | kGoods | kWarm},
    {"carrot", "", "당근", "개", kFood | kFeed | kWashed | kGoods},
    {"cake", "", "케이크", "개", kFood | kMade | kGoods | kGift},
    {"bread", "-", "빵", "조각", kFood | kFeed | kMade | kGoods | kWarm, "piece"},
    {"meat", "-", "고기", "조각", kFood | kFeed | kGoods | kWarm, "piece"},
    {"rice", "-", "밥", "그릇", kFood | kFeed | kWarm, "bowl"},
    {"soup", "-", "수프", "그릇", kFood | kMade | kWarm, "bowl"},
    {"water", "-", "물", "잔", kDrink | kLapped | kWarm, "cup"},
    {"milk", "-", "우유", "잔", kDrink | kLapped | kWarm | kGoods, "cup"},
    {"coffee", "-", "커피", "잔", kDrink | kWarm | kGoods, "cup"},
    {"tea", "-", "차", "잔", kDrink | kWarm | kGoods, "cup"},
    {"juice", "-", "주스", "잔", kDrink | kGoods | kMade, "cup"},

    {"book", "", "책", "권", kText | kWritten | kGoods | kGift | kKept | kThing | kArt | kColoured},
    {"magazine", "", "잡지", "권", kText | kGoods | kKept | kThing | kArt},
    {"letter", "", "편지", "통", kText | kWritten | kGift | kKept | kLong | kThing},
    {"newspaper", "", "신문", "부", kText | kGoods | kThing},
    {"poem", "", "시", "편", kText | kWritten | kLong | kFine | kArt},
    {"story", "", "이야기", "편", kText | kWritten | kSound | kLong | kFine | kArt},
    {"song", "", "노래", "곡", kSound | kWritten | kMade | kLong | kFine | kArt},
    {"music", "-", "음악", "", kSound | kMade | kFine},
    {"math", "-", "수학", "", kStudy},
    {"history", "-", "역사", "", kStudy},
    {"english", "-", "영어", "", kStudy},
    {"korean", "-", "한국어", "", kStudy},
    {"science", "-", "과학", "", kStudy},

    {"ball", "", "공", "개", kThing | kThrown | kGoods | kGift | kKept | kColoured},
    {"stone", "", "돌", "개", kThing | kThrown | kPushed},
    {"cup", "", "컵", "개", kThing | kBreaks | kWashed | kGoods | kGift | kMade | kColoured | kKept},
    {"plate", "", "접시", "개", kThing | kBreaks | kWashed | kGoods | kMade | kColoured},
    {"box", "", "상자", "개", kThing | kOpens | kPushed | kMade | kKept | kColoured},
    {"bag", "", "가방", "개", kThing | kOpens | kThrown | kGoods | kGift | kMade | kKept | kColoured},
    {"door", "", "문", "개", kThing | kOpens | kPushed | kMade | kColoured},
    {"window", "", "창문", "개", kThing | kOpens | kBreaks | kPushed},
    {"chair", "", "의자", "개", kThing | kPushed | kGoods | kMade | kDrawn | kColoured},
    {"key", "", "열쇠", "개", kThing | kThrown | kGift | kKept | kMade},
    {"umbrella", "", "우산", "개", kThing | kGoods | kGift | kKept | kColoured | kLong},
    {"knife", "knives", "칼", "자루", kThing | kWashed | kGoods | kKept | kMade | kLong},
    {"pencil", "", "연필", "자루", kThing | kGoods | kGift | kKept | kColoured | kLong},
    {"car", "", "자동차", "대", kThing | kPushed | kGoods | kDrawn | kMade | kMoves | kColoured},
    {"bicycle", "", "자전거", "대", kThing | kPushed | kGoods | kDrawn | kMoves | kColoured},
    {"computer", "", "컴퓨터", "대", kThing | kGoods | kMade | kMoves},
    {"piano", "", "피아노", "대", kThing | kPlayed | kPushed | kGoods | kColoured},
    {"guitar", "", "기타", "대", kThing | kPlayed | kGoods | kMade | kColoured},
    {"drum", "", "북", "개", kThing | kPlayed | kGoods | kMade},
    {"boat", "", "배", "척", kThing | kPushed | kGoods | kDrawn | kMade | kMoves | kColoured},
    {"house", "", "집", "채", kThing | kDrawn | kGoods | kFine | kColoured},
    {"picture", "", "그림", "장", kThing | kDrawn | kGoods | kGift | kKept | kFine | kArt},
    {"map", "", "지도", "장", kThing | kDrawn | kGoods | kGift | kKept},
    {"flower", "", "꽃", "송이", kThing | kDrawn | kGoods | kGift | kFine | kColoured},
    {"rose", "", "장미", "송이", kThing | kDrawn | kGoods | kGift | kFine | kColoured},
    {"tree", "", "나무", "그루", kThing | kDrawn | kFine},
    {"hat", "", "모자", "개", kThing | kHead | kThrown | kGoods | kGift | kMade | kKept | kColoured},
    {"shirt", "", "셔츠", "벌", kThing | kBody | kGoods | kGift | kMade | kColoured},
    {"coat", "", "코트", "벌", kThing | kBody | kGoods | kMade | kColoured | kLong},
    {"dress", "", "드레스", "벌", kThing | kBody | kGoods | kMade | kColoured | kFine | kLong},
    {"ring", "", "반지", "개", kThing | kFinger | kGoods | kGift | kMade | kKept | kFine},
};

constexpr auto kRegular = StemClass::kRegular;
constexpr Kinds kVisible = kAnyone | kThing;

constexpr Verb kVerbs[] = {
    {"eat", "ate", {"먹다"}, kPerson, kFood},
    {"eat", "ate", {"먹다"}, kAnimal, kFeed},
    {"drink", "drank", {"마시다"}, kPerson, kDrink},
    {"drink", "drank", {"마시다"}, kAnimal, kLapped},
    {"read", "read", {"읽다"}, kPerson, kText},
    {"write", "wrote", {"쓰다"}, kPerson, kWritten},
    {"catch", "caught", {"잡다"}, kAnyone, kSmall},
    {"chase", "chased", {"쫓다"}, kAnyone, kAnyone},
    {"bite", "bit", {"물다"}, kAnimal, kAnyone},
    {"see", "saw", {"보다"}, kAnyone, kVisible},
    {"find", "found", {"찾다"}, kAnyone, kAnyone | kKept, "", true, true},
    {"like", "liked", {"좋아하다"}, kPerson, kVisible | kFood | kDrink | kText | kSound | kStudy, "", false},
    {"like", "liked", {"좋아하다"}, kAnimal, kAnyone | kFeed, "", false},
    {"love", "loved", {"사랑하다"}, kPerson, kAnyone, "", false},
    {"help", "helped", {"돕다", StemClass::kBieup}, kAnyone, kAnyone},
    {"meet", "met", {"만나다"}, kAnyone, kAnyone},
    {"call", "called", {"부르다", StemClass::kReu}, kPerson, kAnyone},
    {"wait", "waited", {"기다리다"}, kAnyone, kAnyone, "for"},
    {"remember", "remembered", {"기억하다"}, kPerson, kAnyone | kSound | kText, "", false, true},
    {"buy", "bought", {"사다"}, kPerson, kGoods},
    {"sell", "sold", {"팔다"}, kPerson, kGoods},
    {"choose", "chose", {"고르다", StemClass::kReu}, kPerson, kGoods},
    {"make", "made", {"만들다"}, kPerson, kMade},
    {"draw", "drew", {"그리다"}, kPerson, kDrawn | kAnyone},
    {"listen", "listened", {"듣다", StemClass::kDigeut}, kPerson, kSound, "to"},
    {"study", "studied", {"공부하다"}, kPerson, kStudy},
    {"play", "played", {"치다"}, kPerson, kPlayed},
    {"wash", "washed", {"씻다"}, kPerson, kWashed},
    {"open", "opened", {"열다"}, kPerson, kOpens},
    {"close", "closed", {"닫다"}, kPerson, kOpens},
    {"push", "pushed", {"밀다"}, kAnyone, kPushed},
    {"throw", "threw", {"던지다"}, kPerson, kThrown},
    {"break", "broke", {"깨다"}, kAnyone, kBreaks},
    {"lose", "lost", {"잃어버리다"}, kPerson, kKept},
    {"hide", "hid", {"숨기다"}, kPerson, kKept, "", true, false, "에"},
    {"wear", "wore", {"쓰다"}, kPerson, kHead},
    {"wear", "wore", {"입다"}, kPerson, kBody},
    {"wear", "wore", {"끼다"}, kPerson, kFinger},

    {"sleep", "slept", {"자다"}, kAnyone, 0},
    {"run", "ran", {"달리다"}, kPerson | kMoves, 0},
    {"walk", "walked", {"걷다", StemClass::kDigeut}, kPerson | kMoves, 0},
    {"swim", "swam", {"수영하다"}, kAnyone, 0},
    {"rest", "rested", {"쉬다"}, kAnyone, 0},
    {"cry", "cried", {"울다"}, kAnyone, 0},
    {"laugh", "laughed", {"웃다"}, kPerson, 0},
    {"sing", "sang", {"노래하다"}, kPerson, 0},
    {"dance", "danced", {"춤추다"}, kPerson, 0},
    {"work", "worked", {"일하다"}, kPerson, 0},
};

constexpr Verb kGivingVerbs[] = {
    {"give", "gave", {"주다"}, kPerson, kGift},
    {"send", "sent", {"보내다"}, kPerson, kGift},
    {"show", "showed", {"보여주다"}, kPerson, kGift},
};

constexpr Verb kMovingVerbs[] = {
    {"go", "went", {"가다"}, kPerson | kMoves, 0},
    {"come", "came", {"오다"}, kPerson | kMoves, 0},
};

constexpr Kinds kSized = kAnimal | kThing;

constexpr Adjective kAdjectives[] = {
    {"big", {"크다", kRegular, true}, kSized, Scale::kSize},
    {"small", {"작다", kRegular, true}, kSized, Scale::kSize},
    {"red", {"빨갛다", StemClass::kHieut, true}, kColoured, Scale::kColour},
    {"blue", {"파랗다", StemClass::kHieut, true}, kColoured, Scale::kColour},
    {"yellow", {"노랗다", StemClass::kHieut, true}, kColoured, Scale::kColour},
    {"white", {"하얗다", StemClass::kHieut, true}, kColoured | kAnimal, Scale::kColour},
    {"black", {"까맣다", StemClass::kHieut, true}, kColoured | kAnimal, Scale::kColour},
    {"new", {"새롭다", StemClass::kBieup, true}, kThing | kSound, Scale::kNone, "새"},
    {"expensive", {"비싸다", kRegular, true}, kGoods, Scale::kPrice},
    {"cheap", {"싸다", kRegular, true}, kGoods, Scale::kPrice},
    {"beautiful", {"아름답다", StemClass::kBieup, true}, kFine},
    {"cute", {"귀엽다", StemClass::kBieup, true}, kAnimal | kChildlike},
    {"kind", {"친절하다", kRegular, true}, kPerson},
    {"happy", {"행복하다", kRegular, true}, kAnyone, Scale::kMood},
    {"sad", {"슬프다", kRegular, true}, kAnyone | kSound, Scale::kMood},
    {"smart", {"똑똑하다", kRegular, true}, kAnyone},
    {"hungry", {"배고프다", kRegular, true}, kAnyone},
    {"tired", {"피곤하다", kRegular, true}, kPerson},
    {"famous", {"유명하다", kRegular, true}, kArt},
    {"fast", {"빠르다", StemClass::kReu, true}, kMoves, Scale::kSpeed},
    {"slow", {"느리다", kRegular, true}, kMoves, Scale::kSpeed},
    {"long", {"길다", kRegular, true}, kLong, Scale::kLength},
    {"short", {"짧다", kRegular, true}, kLong, Scale::kLength},
    {"heavy", {"무겁다", StemClass::kBieup, true}, kKept | kPushed, Scale::kWeight},
    {"light", {"가볍다", StemClass::kBieup, true}, kKept, Scale::kWeight},
    {"hot", {"뜨겁다", StemClass::kBieup, true}, kWarm, Scale::kHeat},
    {"cold", {"차갑다", StemClass::kBieup, true}, kWarm | kDrink, Scale::kHeat},
    {"delicious", {"맛있다", kRegular, true}, kFood | kDrink},
    {"interesting", {"재미있다", kRegular, true}, kText | kStudy},
    {"difficult", {"어렵다", StemClass::kBieup, true}, kText | kStudy, Scale::kEase},
    {"easy", {"쉽다", StemClass::kBieup, true}, kText | kStudy, Scale::kEase},
};

constexpr Pronoun kPronouns[] = {
    {"i", "나", "저", false},      {"he", "그", "그", true},        {"she", "그녀", "그녀", true},
    {"we", "우리", "저희", false}, {"they", "그들", "그들", false},
};

// Whoever speaks politely to a "you" calls it 선생님.
constexpr Owner kOwners[] = {
    {"my", "내", "제"},          {"your", "네", "선생님의"}, {"his", "그의", "그의"},
    {"her", "그녀의", "그녀의"}, {"our", "우리", "저희"},    {"their", "그들의", "그들의"},
};

constexpr Place kPlaces[] = {
    {"in the park", "to the park", "공원"},
    {"in the kitchen", "to the kitchen", "부엌"},
    {"in the library", "to the library", "도서관"},
    {"in the garden", "to the garden", "정원"},
    {"in the forest", "to the forest", "숲"},
    {"at the market", "to the market", "시장"},
    {"at the river", "to the river", "강"},
    {"at school", "to school", "학교"},
    {"at home", "home", "집"},
};

constexpr TimeWord kTimeWords[] = {
    {"yesterday", "어제", true, false, false}, {"last night", "어젯밤", true, false, false},
    {"today", "오늘", true, false, true},      {"every day", "매일", false, true, false},
    {"tomorrow", "내일", false, false, true},  {"soon", "곧", false, false, true},
};

constexpr NumberWord kNumberWords[] = {
    {"one", "한"},   {"two", "두"},     {"three", "세"},   {"four", "네"},   {"five", "다섯"},
    {"six", "여섯"}, {"seven", "일곱"}, {"eight", "여덟"}, {"nine", "아홉"}, {"ten", "열"},
};

constexpr std::string_view kPolitenessWords[] = {"sir", "ma'am"};

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Verb> verbs() { return kVerbs; }
std::span<const Verb> giving_verbs() { return kGivingVerbs; }
std::span<const Verb> moving_verbs() { return kMovingVerbs; }
std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Pronoun> pronouns() { return kPronouns; }
std::span<const Owner> owners() { return kOwners; }
std::span<const Place> places() { return kPlaces; }
std::span<const TimeWord> time_words() { return kTimeWords; }
std::span<const NumberWord> number_words() { return kNumberWords; }
std::span<const std::string_view> politeness_words() { return kPolitenessWords; }

}  // namespace heed::data
