"""Pictures whose colours follow the reader's: each colour is a variable, with a value for light and one for dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# The site's colours, and four for what is drawn; on either page they have a contrast of at least 4.5.
_SHADES = {
    "ink": ("#1b2530", "#e7edf3"),
    "muted": ("#4d5a68", "#a9b6c3"),
    "line": ("#d5dce3", "#33404c"),
    "page": ("#ffffff", "#0d1217"),
    "blue": ("#0b5c8a", "#7cc0ee"),
    "orange": ("#b5410a", "#f5a26b"),
    "green": ("#1d6b45", "#7fd6a6"),
    "purple": ("#7b3f98", "#d3a9ea"),
}
_DRAWN = ("blue", "orange", "green", "purple", "muted")


def style() -> dict[str, Any]:
    """Return matplotlib's settings: all that is drawn has one of the colours."""
    import matplotlib as mpl  # noqa: PLC0415 - the build itself draws nothing

    light = {name: pair[0] for name, pair in _SHADES.items()}
    inks = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor")
    edges = ("axes.edgecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inks, light["ink"]),
        **dict.fromkeys(edges, light["muted"]),
        **dict.fromkeys(("axes.facecolor", "figure.facecolor", "legend.facecolor"), light["page"]),
        "legend.edgecolor": light["line"],
        "grid.color": light["line"],
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": mpl.cycler(color=[light[name] for name in _DRAWN]),
        "figure.figsize": (7.2, 3.8),
        "figure.constrained_layout.use": True,
        "svg.hashsalt": "hardzero",  # else two builds differ
    }


def save(figure: Any, path: Path) -> None:
    """Write a figure as SVG, its colours as variables."""
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(path, format="svg", metadata=nothing)
    path.write_text(themed(path.read_text(encoding="utf-8")), encoding="utf-8")


def themed(svg: str) -> str:
    """Return a picture with variables in place of colours; one that has no value for dark pages stops the build."""
    for name, (light, _) in _SHADES.items():
        svg = svg.replace(light, f"var(--{name})")
    if unknown := sorted(set(re.findall(r"(?<=[ \"])#[0-9a-f]{6}\b", svg))):
        raise ValueError(f"colours {', '.join(unknown)} have no value for dark pages; use C0 to C4")
    schemes = [" ".join(f"--{name}: {pair[dark]};" for name, pair in _SHADES.items()) for dark in (0, 1)]
    css = f":root {{ {schemes[0]} }} @media (prefers-color-scheme: dark) {{ :root {{ {schemes[1]} }} }}"
    return re.sub(r"(<svg\b[^>]*>)", lambda start: f"{start[1]}<style>{css}</style>", svg, count=1)


def described(figure: Any) -> str:
    """Return what a figure says it shows, for those who cannot see it."""
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    return "; ".join(" ".join(title.split()) for title in titles if title)
