"""Writes heed/cli/font_outlines.cpp: the outlines of the characters that pictures as PNG use.

    python3 tools/font_outlines.py Roboto-Regular.ttf > heed/cli/font_outlines.cpp      (needs fonttools)

A glyph is its code point, its advance and its points, four characters each: x and y in 1/1024 of the em,
two digits of base 64 each ('0' is 0, 'o' is 63), x moved by 256 and y by 512. The top bit of x marks a control
point of a quadratic curve, the top bit of y the last point of a contour.
"""
import sys

from fontTools.pens.basePen import decomposeQuadraticSegment
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont

RAISED = {"ᵀ": "T"}  # small and high, made of a letter that the font has
CHARACTERS = "ᵀ" + "".join(map(chr, range(32, 127))) + "°±²·×÷αβγδεθλμπσΣ–—…−√∞≈≤≥"


def two_digits(n):
    assert 0 <= n < 4096, n
    return chr(48 + n // 64) + chr(48 + n % 64)


def points(font, name, size, lift):
    scale = size * 1024 / font["head"].unitsPerEm
    pen = DecomposingRecordingPen(font.getGlyphSet())
    font.getGlyphSet()[name].draw(pen)
    contours = []
    for op, args in pen.value:
        if op == "moveTo":
            contours.append([(args[0], True)])
        elif op == "lineTo":
            contours[-1].append((args[0], True))
        elif op == "qCurveTo":
            if args[-1] is None:  # no point of the contour lies on the curve
                start = tuple((a + b) / 2 for a, b in zip(args[-2], args[0]))
                contours.append([(start, True)])
                args = args[:-1] + (start,)
            for control, end in decomposeQuadraticSegment(args):
                contours[-1] += [(control, False), (end, True)]
        else:
            assert op == "closePath", op
    text = ""
    for contour in contours:
        if contour[-1] == contour[0]:
            contour.pop()
        for i, ((x, y), on_curve) in enumerate(contour):
            px, py = round(x * scale) + 256, round(y * scale + lift) + 512
            assert 0 <= px < 2048 and 0 <= py < 2048, (name, px, py)
            text += two_digits(px + (0 if on_curve else 2048)) + two_digits(py + (2048 if i + 1 == len(contour) else 0))
    return text


def main():
    font = TTFont(sys.argv[1])
    names = font.getBestCmap()
    print("// Made by tools/font_outlines.py from Roboto (Copyright 2011 Google Inc., Apache License 2.0).")
    print('#include "heed/cli/font_outlines.h"\n\nnamespace heed::cli {\n\n// clang-format off')
    print("const Glyph kGlyphs[] = {")
    for character in sorted(CHARACTERS):
        size, lift = (0.6, 300) if character in RAISED else (1, 0)
        drawn = ord(RAISED.get(character, character))
        if drawn not in names:
            print("missing:", character, file=sys.stderr)
            continue
        name = names[drawn]
        advance = round(size * font["hmtx"][name][0] * 1024 / font["head"].unitsPerEm)
        text = points(font, name, size, lift)
        lines = [text[i : i + 108] for i in range(0, len(text), 108)] or [""]
        print(f"  {{{ord(character)}, {advance}," + "".join(f'\n   R"({line})"' for line in lines) + "},")
    print("};\n// clang-format on\n\nconst int kGlyphCount = sizeof(kGlyphs) / sizeof(kGlyphs[0]);\n\n}  // namespace heed::cli")


main()
