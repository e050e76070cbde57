#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes glyphs.c, the letters of `sluice view`: DejaVu Sans as grey pixels, in two sizes.

    /usr/bin/python3 tools/sluice/view/make_glyphs.py > tools/sluice/view/glyphs.c
    clang-format-14 -i tools/sluice/view/glyphs.c

Needs Pillow and DejaVu Sans (Debian: python3-pil, fonts-dejavu-core).
"""
import numpy
from PIL import Image, ImageDraw, ImageFont

FOLDER = "/usr/share/fonts/truetype/dejavu/"
FONTS = [("small", "DejaVuSans.ttf", 12), ("large", "DejaVuSans-Bold.ttf", 14)]
POINTS = [*range(0x20, 0x7F), *range(0xA0, 0x100), 0x2026, 0xFFFD]  # as glyph_number in font.c counts them
LICENSE = """\
 * The shapes of the letters are those of DejaVu Sans 2.37 (dejavu-fonts.github.io): changes by the
 * DejaVu project are in the public domain; Bitstream Vera, which it is based on, has this licence:
 *
 * Copyright (c) 2003 by Bitstream, Inc. All Rights Reserved. Bitstream Vera is a trademark of
 * Bitstream, Inc.
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of the fonts
 * accompanying this license ("Fonts") and associated documentation files (the "Font Software"), to
 * reproduce and distribute the Font Software, including without limitation the rights to use, copy,
 * merge, publish, distribute, and/or sell copies of the Font Software, and to permit persons to
 * whom the Font Software is furnished to do so, subject to the following conditions:
 *
 * The above copyright and trademark notices and this permission notice shall be included in all
 * copies of one or more of the Font Software typefaces.
 *
 * The Font Software may be modified, altered, or added to, and in particular the designs of glyphs
 * or characters in the Fonts may be modified and additional glyphs or characters may be added to
 * the Fonts, only if the fonts are renamed to names not containing either the words "Bitstream" or
 * the word "Vera".
 *
 * This License becomes null and void to the extent applicable to Fonts or Font Software that has
 * been modified and is distributed under the "Bitstream Vera" names.
 *
 * The Font Software may be sold as part of a larger software package but no copy of one or more of
 * the Font Software typefaces may be sold by itself.
 *
 * THE FONT SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED,
 * INCLUDING BUT NOT LIMITED TO ANY WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE
 * AND NONINFRINGEMENT OF COPYRIGHT, PATENT, TRADEMARK, OR OTHER RIGHT. IN NO EVENT SHALL BITSTREAM
 * OR THE GNOME FOUNDATION BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, INCLUDING ANY
 * GENERAL, SPECIAL, INDIRECT, INCIDENTAL, OR CONSEQUENTIAL DAMAGES, WHETHER IN AN ACTION OF
 * CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF THE USE OR INABILITY TO USE THE FONT SOFTWARE
 * OR FROM OTHER DEALINGS IN THE FONT SOFTWARE.
 *
 * Except as contained in this notice, the names of Gnome, the Gnome Foundation, and Bitstream Inc.,
 * shall not be used in advertising or otherwise to promote the sale, use or other dealings in this
 * Font Software without prior written authorization from the Gnome Foundation or Bitstream Inc.,
 * respectively. For further information, contact: fonts at gnome dot org.
"""


def draw(font, point):
    """Its advance, and its pixels of 0 to 15 with the place of the first."""
    letter = chr(point)
    ascent, descent = font.getmetrics()
    image = Image.new("L", (40, ascent + descent + 8))
    ImageDraw.Draw(image).text((8, 4), letter, fill=255, font=font)
    levels = (numpy.asarray(image).astype(int) * 15 + 127) // 255
    rows, columns = numpy.flatnonzero(levels.any(1)), numpy.flatnonzero(levels.any(0))
    advance = round(font.getlength(letter))
    if not len(rows):
        return advance, 0, 0, levels[:0, :0]
    cut = levels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return advance, columns[0] - 8, rows[0] - 4, cut


def write(name, file, size):
    font = ImageFont.truetype(FOLDER + file, size)
    glyphs, levels = [], []
    for point in POINTS:
        advance, left, top, pixels = draw(font, point)
        glyphs.append(f"{{{len(levels)}, {advance}, {left}, {top}, {pixels.shape[1]}, {pixels.shape[0]}}},")
        levels += pixels.flatten().tolist()
    levels += [0] * (-len(levels) % 16)
    words = [sum(level << 4 * i for i, level in enumerate(levels[at : at + 16])) for at in range(0, len(levels), 16)]
    print(f"static const struct glyph {name}_glyphs[GLYPHS] = {{\n{' '.join(glyphs)}\n}};\n")
    print(f"static const uint64_t {name}_levels[] = {{\n{' '.join(f'0x{word:016x},' for word in words)}\n}};\n")


def main():
    print(f"/* SPDX-License-Identifier: Apache-2.0 */\n/*\n * Made by make_glyphs.py; not to be edited.\n *\n{LICENSE} */\n"
          '#include "glyphs.h"\n')  # fmt: skip
    for each in FONTS:
        write(*each)
    print("const struct typeface glyph_faces[FONTS] = {")
    for name, file, size in FONTS:
        ascent, descent = ImageFont.truetype(FOLDER + file, size).getmetrics()
        print(f"    {{{name}_glyphs, {name}_levels, {ascent + descent + 2}}},")
    print("};")


main()
