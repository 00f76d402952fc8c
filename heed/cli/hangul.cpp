#include "heed/cli/hangul.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <string_view>

namespace heed::cli {
namespace {

// A letter's strokes on a grid of 9 by 9, y downwards: pairs of digits are the points of a line, lines are parted by
// spaces, and 'o' with two points is the ellipse in that frame.
struct Letter {
  char name;
  const char* strokes;
};
constexpr Letter kLetters[] = {
    {'g', "008078"},               // ㄱ
    {'n', "000888"},               // ㄴ
    {'d', "80000888"},             // ㄷ
    {'r', "008084040888"},         // ㄹ
    {'m', "0080880800"},           // ㅁ
    {'b', "00088880 0484"},        // ㅂ
    {'s', "4008 4288"},            // ㅅ
    {'o', "o0088"},                // ㅇ
    {'j', "0080 4008 4388"},       // ㅈ
    {'c', "3050 0282 4208 4488"},  // ㅊ
    {'k', "008078 0484"},          // ㅋ
    {'t', "80000888 0484"},        // ㅌ
    {'p', "0080 0888 2028 6068"},  // ㅍ
    {'h', "3050 0282 o1478"},      // ㅎ
    {'A', "3038 3484"},            // ㅏ
    {'B', "2028 2474 7078"},       // ㅐ
    {'C', "3038 3383 3585"},       // ㅑ
    {'D', "2028 2373 2575 7078"},  // ㅒ
    {'E', "6068 1464"},            // ㅓ
    {'F', "4048 0444 8088"},       // ㅔ
    {'G', "6068 1363 1565"},       // ㅕ
    {'H', "4048 0343 0545 8088"},  // ㅖ
    {'I', "5058"},                 // ㅣ
    {'O', "0787 4147"},            // ㅗ
    {'P', "0787 2127 6167"},       // ㅛ
    {'U', "0181 4148"},            // ㅜ
    {'V', "0181 2128 6168"},       // ㅠ
    {'W', "0484"},                 // ㅡ
};

// In the order of the code points. Letters side by side share their frame.
constexpr const char* kFirst[] = {"g",  "gg", "n", "d",  "dd", "r", "m", "b", "bb", "s",
                                  "ss", "o",  "j", "jj", "c",  "k", "t", "p", "h"};
constexpr const char* kLast[] = {"",   "g",  "gg", "gs", "n",  "nj", "nh", "d", "r", "rg", "rm", "rb", "rs", "rt",
                                 "rp", "rh", "m",  "b",  "bs", "s",  "ss", "o", "j", "c",  "k",  "t",  "p",  "h"};
constexpr const char* kSingle[] = {"g",  "gg", "gs", "n",  "nj", "nh", "d", "dd", "r",  "rg",
                                   "rm", "rb", "rs", "rt", "rp", "rh", "m", "b",  "bb", "bs",
                                   "s",  "ss", "o",  "j",  "jj", "c",  "k", "t",  "p",  "h"};
struct Vowel {
  const char *lying, *standing;  // what is below the first letter, what is right of it
};
constexpr Vowel kVowels[] = {{"", "A"},  {"", "B"},  {"", "C"},  {"", "D"},  {"", "E"},  {"", "F"},  {"", "G"},
                             {"", "H"},  {"O", ""},  {"O", "A"}, {"O", "B"}, {"O", "I"}, {"P", ""},  {"U", ""},
                             {"U", "E"}, {"U", "F"}, {"U", "I"}, {"V", ""},  {"W", ""},  {"W", "I"}, {"", "I"}};

// Parts of the em's square, y downwards from its top.
struct Frame {
  double left, top, right, bottom;
};
struct Layout {
  Frame first, lying, standing, last;
};
constexpr Frame kAll{0.14, 0.12, 0.86, 0.88};
// By form: only a standing vowel, only a lying one, both; then the same above a last letter.
constexpr Layout kLayouts[] = {
    {{0.06, 0.14, 0.52, 0.76}, {}, {0.60, 0.03, 0.95, 0.97}, {}},
    {{0.20, 0.08, 0.80, 0.46}, {0.04, 0.52, 0.96, 0.94}, {}, {}},
    {{0.10, 0.10, 0.54, 0.46}, {0.04, 0.53, 0.60, 0.86}, {0.66, 0.03, 0.96, 0.97}, {}},
    {{0.06, 0.07, 0.52, 0.46}, {}, {0.60, 0.03, 0.95, 0.56}, {0.18, 0.66, 0.86, 0.96}},
    {{0.20, 0.04, 0.80, 0.31}, {0.04, 0.36, 0.96, 0.60}, {}, {0.18, 0.69, 0.82, 0.96}},
    {{0.10, 0.05, 0.54, 0.31}, {0.04, 0.36, 0.60, 0.58}, {0.66, 0.03, 0.96, 0.62}, {0.18, 0.69, 0.86, 0.96}},
};

constexpr char32_t kSyllables = 0xAC00, kSingles = 0x3131;
constexpr int kSyllableCount = 19 * 21 * 28, kSingleCount = 30 + 21;

class Pen {
 public:
  explicit Pen(double width) : half_(width / 2) {}

  void letters(std::string_view names, const Frame& frame) {
    const double width = frame.right - frame.left, gap = 0.16 * width;
    const auto count = static_cast<double>(names.size());
    const double one = (width - gap * (count - 1)) / count;
    for (size_t i = 0; i < names.size(); ++i) {
      const double left = frame.left + static_cast<double>(i) * (one + gap);
      letter(names[i], {left, frame.top, left + one, frame.bottom});
    }
  }

  std::vector<std::vector<Point>> take() { return std::move(outlines_); }

 private:
  void letter(char name, const Frame& frame) {
    for (const Letter& letter : kLetters) {
      if (letter.name != name) continue;
      for (const char* s = letter.strokes; *s != '\0';) {
        const size_t length = std::strcspn(s, " ");
        stroke({s, length}, frame);
        s += length + (s[length] == ' ');
      }
    }
  }

  void stroke(std::string_view digits, const Frame& frame) {
    // The middle of the pen stays half its width within the frame.
    const auto at = [&](size_t i) {
      const double x = (digits[i] - '0') / 8.0, y = (digits[i + 1] - '0') / 8.0;
      return Point{frame.left + half_ + x * (frame.right - frame.left - 2 * half_),
                   kTop - frame.top - half_ - y * (frame.bottom - frame.top - 2 * half_)};
    };
    if (digits[0] == 'o') return ring(at(1), at(3));
    for (size_t i = 0; i + 3 < digits.size(); i += 2) line(at(i), at(i + 2));
  }

  // Square ends reach half the width further, so that corners are filled. All lines turn the same way round: where they
  // meet, none takes away from another.
  void line(Point a, Point b) {
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    if (length == 0) return;
    const double x = (b.x - a.x) / length * half_, y = (b.y - a.y) / length * half_;
    outlines_.push_back({{a.x - x + y, a.y - y - x},
                         {b.x + x + y, b.y + y - x},
                         {b.x + x - y, b.y + y + x},
                         {a.x - x - y, a.y - y + x}});
  }

  void ring(Point a, Point b) {
    const Point middle{(a.x + b.x) / 2, (a.y + b.y) / 2};
    const double rx = (b.x - a.x) / 2, ry = (a.y - b.y) / 2;
    for (const int side : {1, -1}) {  // the hole turns the other way
      std::vector<Point> points;
      for (int i = 0; i < kCorners; ++i) {
        const double angle = side * 2 * std::numbers::pi * i / kCorners;
        points.push_back(
            {middle.x + (rx + side * half_) * std::cos(angle), middle.y + (ry + side * half_) * std::sin(angle)});
      }
      outlines_.push_back(points);
    }
  }

  static constexpr double kTop = 0.88;  // of the em's square above the base line
  static constexpr int kCorners = 32;
  double half_;
  std::vector<std::vector<Point>> outlines_;
};

}  // namespace

bool is_hangul(char32_t c) {
  return (c >= kSyllables && c < kSyllables + kSyllableCount) || (c >= kSingles && c < kSingles + kSingleCount);
}

std::vector<std::vector<Point>> hangul_outlines(char32_t c) {
  if (!is_hangul(c)) return {};
  Pen pen(0.07);
  if (c < kSyllables) {
    const size_t letter = c - kSingles;
    if (letter < 30) {
      pen.letters(kSingle[letter], kAll);
    } else {
      const Vowel& vowel = kVowels[letter - 30];
      const Layout& both = kLayouts[2];
      pen.letters(vowel.lying, *vowel.standing ? both.lying : kAll);
      pen.letters(vowel.standing, *vowel.lying ? both.standing : kAll);
    }
    return pen.take();
  }
  const size_t syllable = c - kSyllables;
  const Vowel& vowel = kVowels[syllable / 28 % 21];
  const char* last = kLast[syllable % 28];
  const int form = *vowel.lying ? (*vowel.standing ? 2 : 1) : 0;
  const Layout& layout = kLayouts[form + (*last ? 3 : 0)];
  pen.letters(kFirst[syllable / 28 / 21], layout.first);
  pen.letters(vowel.lying, layout.lying);
  pen.letters(vowel.standing, layout.standing);
  pen.letters(last, layout.last);
  return pen.take();
}

}  // namespace heed::cli
