"""How the font for formulas was made; not part of the build.

``python docs/_hooks/math_font.py STIXTwoMath-Regular.ttf stix-two-math.woff2`` needs fonttools and
brotli, and STIX Two Math 2.11.
"""

from __future__ import annotations

import sys

from fontTools.subset import Options, Subsetter, parse_unicodes
from fontTools.ttLib import TTFont

# Letters with accents, Greek, arrows, operators, brackets; italic, script and blackboard letters.
KEPT = (
    "20-7E,A0-FF,131,174-177,237,2C6-2DD,300-338,370-3FF,2010-2027,2030-2044,2061-2064,2070-209C,20D0-20DC,2102,"
    "2107-2131,2145-2149,2190-21FF,2200-22FF,2308-230B,2322-2323,23B0-23E1,27C2-27EF,27F5-27FE,2A00-2A06,2A7D-2A7E,"
    "2AAF-2AB0,1D434-1D467,1D49C-1D4CF,1D538-1D56B,1D6A4-1D71B,1D7D8-1D7E1"
)


def narrow_radicals(font: TTFont) -> None:
    """Make tall root signs as wide as the smallest: Chromium leaves room for the widest beside every root."""
    variants = font["MATH"].table.MathVariants
    name = font.getBestCmap()[ord("√")]
    construction = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(name)]
    widest, _ = font["hmtx"][name]
    parts = {record.VariantGlyph for record in construction.MathGlyphVariantRecord}
    parts |= {record.glyph for record in construction.GlyphAssembly.PartRecords}
    for part in parts - {name}:
        advance, _ = font["hmtx"][part]
        glyph = font["glyf"][part]
        glyph.coordinates.scale((widest / advance, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][part] = (widest, glyph.xMin)


def main(source: str, target: str) -> None:
    """Write the part of a font that formulas need."""
    font = TTFont(source)
    options = Options(hinting=False, layout_features=["ssty", "rtlm", "dtls", "flac"])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=parse_unicodes(KEPT))
    subsetter.subset(font)
    narrow_radicals(font)
    font.flavor = "woff2"
    font.save(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
