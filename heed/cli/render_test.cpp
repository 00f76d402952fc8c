#include "heed/cli/render.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "heed/cli/arguments.h"
#include "heed/cli/font_outlines.h"
#include "heed/cli/hangul.h"
#include "heed/cli/page.h"

namespace heed::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Terminal, KoreanTakesTwoColumns) {
  EXPECT_EQ(display_width("cat"), 3);
  EXPECT_EQ(display_width("고양이"), 6);
  EXPECT_EQ(display_width("░█"), 2);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("\u1100\u1161\u11a8"), 2);  // one syllable of three letters
  EXPECT_EQ(display_width("😀かＡ"), 6);
  EXPECT_EQ(display_width("ก\u0e34"), 1);       // a vowel above its consonant
  EXPECT_EQ(display_width("\xff\xea\xb3"), 2);  // broken bytes still take room
  EXPECT_EQ(pad_left("쥐", 4), "  쥐");
  EXPECT_EQ(pad_right("쥐", 4), "쥐  ");
}

TEST(Matrix, ColumnsAlignUnderWideNames) {
  const Grid grid{2, 2, {1, -0.5, 10, 0}, {"나", "q1"}, {"고양이가", "k"}};
  const std::vector<std::string> lines = lines_of(matrix_text(grid, {}, 2));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "        고양이가         k");
  EXPECT_EQ(lines[1], "  나 │      1.00     -0.50");
  EXPECT_EQ(lines[2], "  q1 │     10.00      0.00");
}

TEST(Matrix, LeavesOutTheMiddleOfWhatDoesNotFit) {
  Grid grid{100, 100, std::vector<double>(10000), {}, {}};
  const Style narrow{Style::kPlain, 60};
  for (const std::string& line : lines_of(matrix_text(grid, narrow))) EXPECT_LE(display_width(line), 60);
  for (const std::string& line : lines_of(heat_text(grid, narrow, {}))) EXPECT_LE(display_width(line), 60);
  EXPECT_EQ(shown(5, 5), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(shown(100, 5), (std::vector<int64_t>{0, 1, -1, 98, 99}));
}

TEST(Heat, ShadesGrowWithTheValue) {
  const double hidden = -std::numeric_limits<double>::infinity();
  const Grid grid{1, 6, {0, 0.2, 0.45, 0.7, 1, hidden}, {"r"}, {}};
  const std::string row = lines_of(heat_text(grid, {Style::kPlain, 40}, {}))[1];
  size_t at = 0;
  for (const char* shade : {"░", "▒", "▓", "█", "·"}) {
    const size_t found = row.find(shade, at);
    ASSERT_NE(found, std::string::npos) << shade << " in " << row;
    at = found;
  }
}

TEST(Heat, ColoursAreEscapesAndEnd) {
  const Grid grid{1, 2, {0, 1}, {}, {}};
  const std::string deep = heat_text(grid, {Style::kTrueColour, 80}, {}), few = heat_text(grid, {Style::k256, 80}, {});
  EXPECT_NE(deep.find("\x1b[48;2;"), std::string::npos);
  EXPECT_NE(few.find("\x1b[48;5;"), std::string::npos);
  EXPECT_EQ(few.find("48;2;"), std::string::npos);
  for (const std::string& line : lines_of(deep)) {
    if (line.find('\x1b') == std::string::npos) continue;
    EXPECT_NE(line.find("\x1b[0m"), std::string::npos);
  }
}

TEST(Scale, IsSymmetricWhereSomeAreNegative) {
  const Scale both = scale_of({1, 3, {-1, 0.5, -std::numeric_limits<double>::infinity()}, {}, {}});
  EXPECT_EQ(both.palette, Palette::kDiverging);
  EXPECT_EQ(both.low, -1);
  EXPECT_EQ(both.high, 1);
  EXPECT_EQ(scale_of({1, 2, {0, 3}, {}, {}}).high, 3);
  const Scale below = scale_of({1, 2, {-2, 0}, {}, {}});  // no colour is left unused
  EXPECT_EQ(below.palette, Palette::kSequential);
  EXPECT_EQ(below.low, -2);
  EXPECT_EQ(below.high, 0);
  EXPECT_EQ(scale_of({1, 1, {0}, {}, {}}).high, 1);
}

TEST(Curve, RisesFromBottomLeftToTopRight) {
  const std::vector<std::string> lines = wave_lines({0, 1}, 4, 2, 0, 1);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(display_width(lines[0]), 4);
  const std::string empty = "\u2800";
  EXPECT_EQ(lines[0].substr(0, 3), empty);
  EXPECT_NE(lines[0].substr(9, 3), empty);
  EXPECT_NE(lines[1].substr(0, 3), empty);
  EXPECT_EQ(lines[1].substr(9, 3), empty);
}

TEST(Page, TicksAreRoundNumbers) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(1, 1, 5), std::vector<double>{1});
  const double low = -999999.9999999999, next = std::nextafter(low, 0.0);  // as near as two numbers get
  EXPECT_EQ(ticks(low, next, 5), std::vector<double>{low});
  const Grid thin = thinned({4, 6, std::vector<double>(24), {}, {}}, 3);
  EXPECT_EQ(thin.rows, 2);
  EXPECT_EQ(thin.columns, 3);
  EXPECT_EQ(thin.column_name(2), "4");
}

std::vector<std::string> texts_of(const Scene& scene) {
  std::vector<std::string> texts;
  for (const auto& item : scene.items) {
    if (const auto* text = std::get_if<Scene::Text>(&item)) texts.push_back(text->text);
  }
  return texts;
}

// Seven panels of which five fit beside each other stand as four and three.
TEST(Page, RowsOfPanelsAreEven) {
  for (const size_t count : {4, 7}) {
    Page page("test");
    std::vector<HeatPanel> panels;
    for (size_t i = 0; i < count; ++i) {
      panels.push_back({fmt::format("panel {}", i), {3, 4, std::vector<double>(12), {}, {}}, {}, -1, "", ""});
    }
    const int64_t columns = count == 4 ? 6 : 4;
    for (HeatPanel& panel : panels)
      panel.grid = {3, columns, std::vector<double>(static_cast<size_t>(3 * columns)), {}, {}};
    page.heat(panels);
    std::vector<int> rows;
    double y = -1;
    for (const auto& item : page.finish().items) {
      const auto* text = std::get_if<Scene::Text>(&item);
      if (!text || text->text.substr(0, 6) != "panel ") continue;
      if (text->at.y != y) rows.push_back(0);
      ++rows.back();
      y = text->at.y;
    }
    EXPECT_EQ(rows, count == 4 ? (std::vector<int>{2, 2}) : (std::vector<int>{4, 3}));
  }
}

TEST(Page, NumbersInCellsSayMoreThanZero) {
  Page page("test");
  const Grid small{1, 2, {0.00042, -0.001}, {}, {}};
  page.heat({{"digits", small, {}, -3, "", ""}, {"decimals", small, {}, 2, "", ""}});
  const std::vector<std::string> texts = texts_of(page.finish());
  const auto count = [&](const std::string& text) { return std::count(texts.begin(), texts.end(), text); };
  EXPECT_EQ(count("0.00042"), 1);
  EXPECT_EQ(count("-0.001"), 1);
  EXPECT_EQ(count("0.00"), 2);
  EXPECT_EQ(count("-0.00"), 0);
}

uint8_t red_at(const RgbImage& image, int64_t x, int64_t y) {
  return image.pixels[static_cast<size_t>(3 * (y * image.width + x))];
}

TEST(Pixels, BoxesCoverByArea) {
  Scene scene{4, 3, {Scene::Box{1, 1, 1.5, 1, {0, 0, 0}}}};
  const RgbImage image = to_pixels(scene, 1);
  EXPECT_EQ(image.width, 4);
  EXPECT_EQ(red_at(image, 0, 1), 255);
  EXPECT_EQ(red_at(image, 1, 1), 0);
  EXPECT_NEAR(red_at(image, 2, 1), 127, 1);
  EXPECT_EQ(red_at(image, 3, 1), 255);
  EXPECT_EQ(red_at(image, 1, 0), 255);
  EXPECT_EQ(red_at(image, 1, 2), 255);
}

TEST(Pixels, LinesAndTextStayInsideThePicture) {
  Scene scene{
      20,
      20,
      {Scene::Line{{{-50, 10}, {70, 10}, {10, 90}}, {0, 0, 0}, 2}, Scene::Text{{-30, 15}, "outside 고양이 →", 30}}};
  const RgbImage image = to_pixels(scene, 2);
  EXPECT_EQ(red_at(image, 20, 20), 0);
  EXPECT_EQ(image.pixels.size(), 40u * 40 * 3);
}

// Before memory is taken for it.
TEST(Pixels, PicturesBeyondThePngFormatAreRefused) {
  EXPECT_THROW(to_pixels({40000, 10, {}}, 2), Error);
  EXPECT_THROW(to_pixels({30000, 30000, {}}, 2), Error);
}

// The letter l is a plain upright bar: as wide as drawn, dark in the middle, nothing below the base line.
TEST(Pixels, LettersAreDrawnWhereTheyStand) {
  Scene scene{30, 40, {Scene::Text{{10, 30}, "l", 30, {0, 0, 0}}}};
  const RgbImage image = to_pixels(scene, 1);
  const auto x = static_cast<int64_t>(10 + text_width("l", 30) / 2);
  EXPECT_EQ(red_at(image, x, 20), 0);
  EXPECT_EQ(red_at(image, x, 33), 255);
  EXPECT_EQ(red_at(image, 2, 20), 255);
}

// How dark a picture of one character is, over all and in a part of it (shares of the em's square).
double ink(const std::string& character, double left = 0, double top = 0, double right = 1, double bottom = 1) {
  constexpr double kEm = 100;
  const RgbImage image = to_pixels({kEm, kEm, {Scene::Text{{0, 0.88 * kEm}, character, kEm, {0, 0, 0}}}}, 1);
  double sum = 0;
  for (auto y = static_cast<int64_t>(top * kEm); y < static_cast<int64_t>(bottom * kEm); ++y) {
    for (auto x = static_cast<int64_t>(left * kEm); x < static_cast<int64_t>(right * kEm); ++x) {
      sum += 255 - red_at(image, x, y);
    }
  }
  return sum / 255;
}

TEST(Hangul, EverySyllableIsDrawnWithinItsSquare) {
  for (char32_t c = 0xAC00; c <= 0xD7A3; ++c) {
    ASSERT_TRUE(is_hangul(c));
    const std::vector<std::vector<Point>> outlines = hangul_outlines(c);
    ASSERT_GE(outlines.size(), 2u) << uint32_t{c};
    for (const std::vector<Point>& outline : outlines) {
      for (const Point& p : outline) {
        ASSERT_TRUE(p.x >= 0 && p.x <= 1 && p.y >= -0.12 && p.y <= 0.88) << uint32_t{c} << ": " << p.x << ", " << p.y;
      }
    }
  }
  for (char32_t c = 0x3131; c <= 0x3163; ++c) EXPECT_FALSE(hangul_outlines(c).empty()) << uint32_t{c};
  for (const char32_t c : {U'A', U'あ', U'中', char32_t{0xABFF}, char32_t{0xD7A4}, char32_t{0x3130}}) {
    EXPECT_FALSE(is_hangul(c)) << uint32_t{c};
  }
}

TEST(Hangul, LettersStandWhereTheyBelong) {
  EXPECT_EQ(ink("어", 0, 0.85, 0.5, 1), 0);         // nothing below the ieung of an open syllable
  EXPECT_GT(ink("엉", 0, 0.85, 0.5, 1), 20);        // where a closed one has its last letter
  EXPECT_GT(ink("아", 0.76, 0.4, 0.95, 0.6), 20);   // the short stroke on the right
  EXPECT_EQ(ink("이", 0.86, 0, 1, 1), 0);           // which this vowel does not have
  EXPECT_LT(ink("이", 0.22, 0.38, 0.36, 0.52), 1);  // the hole of ieung
  EXPECT_GT(ink("뷁"), 1.5 * ink("으"));
}

TEST(Font, GlyphsAreInOrderAndWhole) {
  for (int i = 0; i < kGlyphCount; ++i) {
    EXPECT_LT(i > 0 ? kGlyphs[i - 1].code_point : 0, kGlyphs[i].code_point);
    EXPECT_EQ(std::string(kGlyphs[i].points).size() % 4, 0u);
    EXPECT_GT(kGlyphs[i].advance, 0);
  }
  EXPECT_GT(text_width("W", 10), text_width("i", 10));
  EXPECT_EQ(text_width("고양이", 10), 30);
}

TEST(Svg, EscapesWhatXmlReads) {
  const std::string svg = to_svg({10, 10, {Scene::Text{{0, 0}, "a<b & \"c\"\x01", 10}}});
  EXPECT_NE(svg.find("a&lt;b &amp; &quot;c&quot; <"), std::string::npos);
}

TEST(Arguments, CommasSeparateThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(-123456), "-123,456");
  EXPECT_EQ(with_commas(44140544), "44,140,544");
}

TEST(Arguments, MatricesAsPeopleTypeThem) {
  for (const char* text :
       {"1 2;3 4", "1,2\n3,4\n", " 1, 2 ; 3 , 4 ; ", "1 2;\n3 4", "1 2;\r\n3 4;\r\n", "1 2 ; \n3 4\n"}) {
    const Matrix matrix = parse_matrix("[test]", text);
    EXPECT_EQ(matrix.rows, 2);
    EXPECT_EQ(matrix.columns, 2);
    EXPECT_EQ(matrix.values, (std::vector<float>{1, 2, 3, 4}));
  }
  EXPECT_EQ(parse_matrix("[test]", "-1.5e-3").values, std::vector<float>{-1.5e-3f});
}

}  // namespace
}  // namespace heed::cli
