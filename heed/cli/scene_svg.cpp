#include <fmt/format.h>

#include <filesystem>

#include "heed/base/error.h"
#include "heed/cli/scene.h"
#include "heed/io/atomic_file.h"

namespace heed::cli {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

// Two decimals at most, without trailing zeros.
std::string num(double v) {
  std::string text = fmt::format("{:.2f}", v);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string svg(const Scene::Box& b) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", num(b.x), num(b.y),
                     num(b.width), num(b.height), hex(b.fill));
}

std::string svg(const Scene::Line& line) {
  std::string points;
  for (const Point p : line.points) points += fmt::format("{}{},{}", points.empty() ? "" : " ", num(p.x), num(p.y));
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", points,
                     hex(line.colour), num(line.width));
}

std::string svg(const Scene::Text& t) {
  const char* anchor = t.anchor == Scene::Anchor::kStart    ? ""
                       : t.anchor == Scene::Anchor::kMiddle ? " text-anchor=\"middle\""
                                                            : " text-anchor=\"end\"";
  const std::string turn = t.upwards ? fmt::format(" transform=\"rotate(-90 {} {})\"", num(t.at.x), num(t.at.y)) : "";
  return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{} xml:space=\"preserve\">{}</text>\n",
                     num(t.at.x), num(t.at.y), num(t.size), hex(t.colour), anchor, turn, escaped(t.text));
}

std::string ending(const std::string& path) { return std::filesystem::path(path).extension().string(); }

}  // namespace

std::string to_svg(const Scene& scene) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"Roboto, 'Noto Sans', 'Helvetica Neue', Arial, 'Noto Sans CJK KR', 'Malgun Gothic', sans-serif\" "
      "stroke-linecap=\"round\" stroke-linejoin=\"round\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"{2}\"/>\n",
      num(scene.width), num(scene.height), hex(kPaper));
  for (const auto& item : scene.items) {
    out += std::visit([](const auto& shape) { return svg(shape); }, item);
  }
  return out + "</svg>\n";
}

void check_picture_path(const std::string& where, const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  if (file == ".svg" || file == ".png") {
    fail("{} --out '{}': expected a name before the ending, such as picture{}", where, path, file);
  }
  if (ending(path) != ".svg" && ending(path) != ".png") {
    fail("{} --out '{}': expected a name that ends with .svg or .png", where, path);
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_file("{} --out '{}': that is a folder", where, path);
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    fail_file("{} --out '{}': there is no folder '{}'", where, path, folder.string());
  }
}

void write_picture(const std::string& path, const Scene& scene) {
  if (ending(path) == ".png") {
    write_png(path, to_pixels(scene, 2));
  } else {
    write_file_atomically(path, to_svg(scene));
  }
}

}  // namespace heed::cli
