// The outlines that text in PNG pictures is drawn with; tools/font_outlines.py makes them and tells the format.
#pragma once

namespace heed::cli {

struct Glyph {
  int code_point;
  int advance;  // in 1/1024 of the em, as the points
  const char* points;
};
extern const Glyph kGlyphs[];  // by rising code point
extern const int kGlyphCount;

}  // namespace heed::cli
