"""What the documentation needs beyond Markdown: formulas, pages made from the package and from examples, a search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gallery import GALLERY, gallery_files, gallery_section, overview
from mathematics import Formulas
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pygments.formatters import HtmlFormatter
from reference import API, api_pages, commands, is_estimator, public_names

import hardzero

# A map of the site would need its address; the search is our own.
_UNUSED = (
    "sitemap.xml",
    "sitemap.xml.gz",
    *(f"search/{name}" for name in ("search_index.json", "lunr.js", "main.js", "worker.js")),
)
_COLOURS = {"light": "xcode", "dark": "github-dark"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the formulas to Markdown, and the generated pages to the navigation."""
    config.markdown_extensions.append(Formulas())  # type: ignore[arg-type]
    config.nav = _completed(config.nav, {f"{API}/": _api_section(), f"{GALLERY}/": gallery_section()})
    return config


def _completed(nav: Any, sections: dict[str, list[Any]]) -> Any:
    """Return the navigation with the folders of generated pages replaced by all of their pages."""
    if isinstance(nav, list):
        return [_completed(entry, sections) for entry in nav]
    if isinstance(nav, dict):
        return {title: _completed(entry, sections) for title, entry in nav.items()}
    return sections.get(nav, nav)


def _api_section() -> list[Any]:
    ordered = sorted(hardzero.__all__, key=lambda name: (not is_estimator(name), name))
    return [{"Overview": f"{API}/index.md"}, *({name: f"{API}/{name}.md"} for name in ordered)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and styles that are made here."""
    for path, content in {**api_pages(), **gallery_files(), "css/code.css": _code_styles()}.items():
        files.append(File.generated(config, path, content=content))
    return files


def _code_styles() -> str:
    styles = {scheme: HtmlFormatter(style=name).get_style_defs(".codehilite") for scheme, name in _COLOURS.items()}
    return "".join(f"@media (prefers-color-scheme: {scheme}) {{\n{css}\n}}\n" for scheme, css in styles.items())


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what is made from the package."""
    for what, make in (("public names", public_names), ("commands", commands), ("examples", overview)):
        if (marker := f"<!-- generated: {what} -->") in markdown:
            markdown = markdown.replace(marker, make())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Let wide tables scroll by themselves, so that a narrow screen need not; the keyboard can reach them."""
    opened = '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>'
    return html.replace("<table>", opened).replace("</table>", "</table></div>")


def on_post_build(config: MkDocsConfig) -> None:
    """Write the search index as a script: a page that is opened as a file may load that, but not JSON."""
    site = Path(config.site_dir)
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    titles = {entry["location"]: entry["title"] for entry in found}
    entries = [
        [entry["location"], _full_title(titles[page], entry["title"]), entry["text"]]
        for entry in found
        if (page := entry["location"].partition("#")[0]) != entry["location"]  # sections: they hold all text
    ]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (site / "search" / "index.js").write_text(f"window.searchEntries={text};\n", encoding="utf-8")
    for unused in _UNUSED:
        (site / unused).unlink()


def _full_title(page: str, section: str) -> str:
    return section if section == page else f"{page} › {section}"
