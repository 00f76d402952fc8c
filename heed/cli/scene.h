// A picture as a list of simple shapes, drawn by two backends: SVG text, and pixels for PNG.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "heed/cli/palette.h"
#include "heed/io/png.h"

namespace heed::cli {

struct Point {
  double x, y;
};

struct Scene {
  struct Box {
    double x, y, width, height;
    Colour fill;
  };
  struct Line {
    std::vector<Point> points;
    Colour colour;
    double width = 1;
  };
  enum class Anchor { kStart, kMiddle, kEnd };
  struct Text {
    Point at;  // on the base line
    std::string text;
    double size = 13;
    Colour colour = kInk;
    Anchor anchor = Anchor::kStart;
    bool upwards = false;  // turned by a quarter, to read along a vertical axis
  };
  double width = 0, height = 0;
  std::vector<std::variant<Box, Line, Text>> items;  // later ones lie above earlier ones
};

// Whether the font of PNG pictures has every character; a missing one is drawn as an empty frame.
bool has_all_characters(const Scene& scene);
// How wide a text will be, by the font that PNG uses; SVG viewers come close.
double text_width(const std::string& text, double size);

std::string to_svg(const Scene& scene);
// `scale` pixels for each unit of the scene.
RgbImage to_pixels(const Scene& scene, double scale);

// Writes .svg or .png, whole or not at all. Any other ending is an Error, which check_picture_path finds beforehand.
void check_picture_path(const std::string& where, const std::string& path);
void write_picture(const std::string& path, const Scene& scene);

}  // namespace heed::cli
