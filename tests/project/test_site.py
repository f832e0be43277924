"""The documentation as a site: complete, without raw markup, and without a request to any other host."""

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from functools import cached_property, partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import FunctionType
from urllib.parse import unquote, urlsplit

import pytest

import hardzero

from ..browser import CONTRAST, needs_browser, running_browser

ROOT = Path(__file__).parents[2]
NEEDED = ("dask", "math_core", "matplotlib", "mkdocs", "pygments", "sqlalchemy", "typer")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
needs_mkdocs = pytest.mark.skipif(bool(MISSING), reason=f"needs pip install 'hardzero[docs]': {', '.join(MISSING)}")
pytestmark = needs_mkdocs

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
HEADINGS = ("h1", "h2", "h3", "h4")
RAW_LATEX = re.compile(r"\$|\\\(|\\\[|\\[a-zA-Z]{2,}")
RAW_RST = re.compile(r"`|^\.\. \w+::", re.MULTILINE)
RAW_MARKDOWN = re.compile(r"^\s*([-*] |\d+\. |#+ |\|)|\*\*|\]\(", re.MULTILINE)


class Page(HTMLParser):
    """What a page loads, links to and shows; its running text without headings, stress, formulas and code."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.open, self.misplaced = [], [], set(), [], []
        self.text, self.formulas, self.titles = "", 0, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.ids.add(given["id"])
        if tag in LOADED:
            self.loads.append(given.get(LOADED[tag], "inline"))
        if tag == "a":
            self.links.append(given.get("href", ""))
        if tag == "td":
            self.text += "¦ "  # else a cell that begins with a number would look like a list
        if tag == "div" and "p" in self.open:
            self.misplaced.append(given)
        self.formulas += tag == "math"
        if tag not in ("meta", "link", "img", "input", "br", "hr", "wbr", "mspace", "mprescripts"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if "h1" in self.open:
            self.titles.append(data)
        if "main" in self.open and not {*HEADINGS, "strong", "code", "pre", "math"} & set(self.open):
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # --quiet would hide warnings from --strict
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def pages(site):
    return {str(path.relative_to(site)): Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_of_the_repository_is_on_the_site(pages):
    written = {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    assert written <= set(pages)
    examples = [path.stem.removeprefix("plot_") for path in (ROOT / "examples").glob("plot_*.py")]
    made = {f"examples/{name}.html" for name in examples}
    assert {f"api/{name}.html" for name in hardzero.__all__} | made == set(pages) - written


def test_every_example_is_in_the_gallery_with_its_code_output_and_picture(site, pages):
    overview = (site / "examples" / "index.html").read_text(encoding="utf-8")
    for script in (ROOT / "examples").glob("plot_*.py"):
        name = f"{script.stem.removeprefix('plot_')}.html"
        page = (site / "examples" / name).read_text(encoding="utf-8")
        pictures = [target for target in pages[f"examples/{name}"].loads if target.endswith(".svg")]
        assert any(f'src="{picture}"' in overview for picture in pictures[1:]), name  # the first is the site's icon
        assert f'href="{name}"' in overview
        assert page.count('class="codehilite"') >= 3, name
        assert not re.search(r'alt=""', page), "a picture needs a title, for those who cannot see it"


def test_no_raw_markup_is_left(pages):
    for name, page in pages.items():
        for pattern in (RAW_LATEX, RAW_RST, RAW_MARKDOWN):
            assert (found := pattern.search(page.text)) is None, f"{name}: {page.text[found.start() - 60 :][:120]!r}"
        assert page.misplaced == [], name


def test_no_code_block_is_indented():
    """Markdown would make running text of it, in a list for instance."""
    for path in (ROOT / "docs").rglob("*.md"):
        assert not re.search(r"^ +```", path.read_text(), flags=re.MULTILINE), path.name


def test_every_formula_is_typeset(pages):
    """As many dollar signs as are in the sources, outside of code, belong to formulas of the pages."""
    for path in (ROOT / "docs" / "proofs").glob("*.md"):
        text = re.sub(r"^```.*?^```|`[^`\n]+`", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        written = text.replace("$$", "$").count("$")
        assert written % 2 == 0, path.name
        assert pages[f"proofs/{path.stem}.html"].formulas >= written // 2, path.name
    assert sum(page.formulas for page in pages.values()) > 1000


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for name, page in pages.items():
        for target in page.loads:
            assert not urlsplit(target).scheme, f"{name} loads {target}"
            assert not target.startswith("//"), f"{name} loads {target}"
            assert target == "inline" or ((site / name).parent / target).is_file(), f"{name} loads {target}"
    for path in [*site.rglob("*.css"), *site.rglob("*.js"), *site.rglob("*.svg")]:
        text = path.read_text(encoding="utf-8")
        assert "@import" not in text, path.name
        if path.suffix == ".css":
            for target in re.findall(r"url\(\s*[\"']?([^)\"']+)", text):
                assert (path.parent / target).is_file(), f"{path.name} loads {target}"
    script = (site / "js" / "search.js").read_text()
    assert not re.search(
        r"https?:|//[a-z]|fetch\(|XMLHttp|import\(", re.sub(r"^//.*", "", script, flags=re.MULTILINE)
    )


def test_all_links_resolve(site, pages):
    for name, page in pages.items():
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme:
                assert parts.scheme == "https", f"{name} links to {target}"
                continue
            found = ((site / name).parent / unquote(parts.path)).resolve() if parts.path else site / name
            assert found.is_file(), f"{name} links to {target}"
            if parts.fragment:
                assert unquote(parts.fragment) in pages[str(found.relative_to(site.resolve()))].ids, (
                    f"{name} links to {target}"
                )


def test_each_page_about_a_name_shows_its_signature_and_its_privacy(site, pages):
    for name in hardzero.__all__:
        text = re.sub(r"<[^>]+>", "", (site / "api" / f"{name}.html").read_text(encoding="utf-8"))
        assert name in "".join(pages[f"api/{name}.html"].titles)
        if re.search(r"Privacy\n *---|\*\*Privacy\.\*\*", getattr(hardzero, name).__doc__ or ""):
            assert 'id="privacy"' in (site / "api" / f"{name}.html").read_text(encoding="utf-8"), name
        if hasattr(getattr(hardzero, name), "fit"):
            for parameter in inspect.signature(getattr(hardzero, name)).parameters:
                assert re.search(rf"\b{parameter}\b", text), f"{name}: {parameter}"


def test_each_page_about_a_class_describes_its_methods_and_properties(pages):
    kinds = (property, cached_property, classmethod, FunctionType)
    names = [name for name in hardzero.__all__ if inspect.isclass(getattr(hardzero, name))]
    for name in sorted(set(names) - {"Neighbours"}):  # of an enumeration the members are shown
        for owner in inspect.getmro(getattr(hardzero, name)):
            if owner.__module__.startswith("hardzero"):
                written = {part for part, what in vars(owner).items() if isinstance(what, kinds) and part[0] != "_"}
                assert written <= pages[f"api/{name}.html"].ids, name


def test_the_command_line_is_described_completely(site):
    import typer

    from hardzero.cli import app

    text = unescape(re.sub(r"<[^>]+>", "", (site / "cli.html").read_text(encoding="utf-8")))
    described = 0
    groups = [typer.main.get_command(app)]
    while groups:
        for command in groups.pop().commands.values():
            if hasattr(command, "commands"):
                groups.append(command)
                continue
            described += 1
            assert (command.epilog or "").removeprefix("Example: ").split(" --")[0] in text
            for parameter in command.params:
                if parameter.param_type_name == "option" and parameter.name != "help":
                    assert parameter.opts[0] in text
    assert described >= 10
    assert "zero-out|replace-one|add-remove" in text


def test_the_search_finds_its_entries(site):
    text = (site / "search" / "index.js").read_text(encoding="utf-8")
    entries = ast.literal_eval(text.removeprefix("window.searchEntries=").rstrip(";\n"))
    assert len(entries) > 200
    for location, title, _ in entries:
        assert title
        assert (site / urlsplit(location).path).is_file()


@pytest.fixture(scope="module")
def typeset():
    """Markdown with formulas, as the site's pages are made."""
    import markdown

    place = ROOT / "docs" / "_hooks" / "mathematics.py"
    spec = importlib.util.spec_from_file_location("mathematics", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda text: markdown.markdown(text, extensions=["tables", "fenced_code", module.Formulas()])


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"\frac{1}{", "cannot be typeset"),
        (r"\nosuchcommand x", "cannot be typeset"),
        (r"\big(1 - x\big)_+", "cannot carry an index"),
    ],
)
def test_a_formula_that_cannot_be_typeset_stops_the_build(formula, words, typeset):
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match=words):
        typeset(f"The formula ${formula}$.")


def test_formulas_in_tables(typeset):
    html = typeset("| a | b |\n| --- | --- |\n| $|x| < y_1$ | `$HOME` |\n")
    assert html.count("<math>") == 1
    assert html.count("<td>") == 2
    assert "<code>$HOME</code>" in html


def test_formulas_keep_their_signs_and_their_punctuation(typeset):
    html = typeset("The ($z*w_1$), *so* to speak: $a_1 b_2$.")
    assert "<em>so</em>" in html
    assert '<span class="formula">(<math>' in html
    assert "</math>),</span>" in html
    assert html.endswith("</math>.</span></p>")


@pytest.mark.parametrize("text", ["Between $5 and $10.", "```\n$x$\n```", "`$x$`", "one $\n\ntwo $"])
def test_dollar_signs_that_are_no_formulas(text, typeset):
    assert "<math" not in typeset(text)


def test_a_long_formula_may_be_broken_behind_its_relations_only(typeset):
    html = typeset("$a + b + c + d + e + f = P(x = 1) + g + h + i \\le 7$")
    pieces = re.findall(r"<math>(.*?)</math>", html)
    assert len(pieces) == 3
    assert pieces[0].endswith('<mo form="infix">=</mo>')
    assert pieces[1].endswith('<mo form="infix">≤</mo>')
    assert typeset("$a = b = c$").count("<math>") == 1


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with running_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def address(site):
    """Serve the site: of pages that are opened as files a browser does not tell what they load."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


BROWSED = [
    "index.html",
    "examples/index.html",
    "examples/intervals.html",
    "proofs/losses.html",
    "api/SparsePrivateLogisticRegression.html",
    "cli.html",
]


@needs_browser
@pytest.mark.parametrize("name", BROWSED)
def test_a_page_in_a_browser(name, address, browser):
    browser.open(address + name)
    assert browser.run("return document.fonts.ready.then(() => true)")
    loaded = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert {"style.css", "code.css", "search.js"} <= {Path(target).name for target in loaded}
    assert all(target.startswith(address) for target in loaded)
    sizes = browser.run(
        "return [...document.querySelectorAll('math')].map(formula => formula.getBoundingClientRect())"
        ".map(box => [box.width, box.height])"
    )
    assert all(width > 1 and height > 5 for width, height in sizes)
    if name.startswith("proofs/"):
        assert len(sizes) > 100
        assert browser.run("return document.fonts.check('16px \"STIX Two Math\"')")
    for scheme in ("light", "dark"):
        browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert browser.run(CONTRAST) == []
    browser.devtools("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
    assert browser.run("return document.documentElement.scrollWidth") <= 400
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    assert browser.console() == []


@needs_browser
def test_the_search_answers_without_a_server(site, browser):
    browser.open((site / "proofs" / "losses.html").as_uri())
    browser.run("const box = document.querySelector('.search input'); box.focus(); box.value = 'onnx graph'; "
                "box.dispatchEvent(new Event('input'));")  # fmt: skip
    found = browser.run(
        "return new Promise(done => { const look = () => { const links = [...document.querySelectorAll('.found a')]; "
        "links.length ? done(links.map(a => a.href)) : setTimeout(look, 20); }; look(); })"
    )
    assert any(address.startswith((site / "how-to" / "onnx.html").as_uri()) for address in found)
    assert all(address.startswith(site.as_uri()) for address in found)
    assert browser.console() == []
