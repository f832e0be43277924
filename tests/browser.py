"""A real browser, driven through chromedriver by the WebDriver protocol."""

import json
import re
import shutil
import subprocess
import urllib.request
from contextlib import contextmanager

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Chromium and chromedriver on the path")

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's key for references to elements
SWITCHES = ["headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
            "disable-component-update", "disable-sync"]  # fmt: skip

# The contrast of every visible text with what is behind it, by the formula of WCAG 2.
CONTRAST = """
const parse = c => { const [r, g, b, a = 1] = c.match(/[\\d.]+/g).map(Number); return {rgb: [r, g, b], a}; };
const light = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(
  v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.a === 1 && !(e instanceof SVGElement)) return c.rgb; } return [255, 255, 255]; };
const poor = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length || ["SCRIPT", "title", "desc"].includes(e.tagName)) continue;
  const style = getComputedStyle(e), text = parse(e instanceof SVGElement ? style.fill : style.color).rgb;
  const [a, b] = [light(text), light(behind(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(e.outerHTML);
}
return poor;
"""


class Browser:
    """As much of a WebDriver client as the tests need."""

    def __init__(self, port, profile):
        self._base = f"http://127.0.0.1:{port}"
        arguments = [f"--{switch}" for switch in SWITCHES] + [f"--user-data-dir={profile}"]
        wanted = {
            "goog:chromeOptions": {"binary": CHROMIUM, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self._base += "/session/" + self._call("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def _call(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self._call("/url", {"url": url})

    def run(self, script, *arguments):
        return self._call("/execute/sync", {"script": script, "args": list(arguments)})

    def console(self):
        return self._call("/se/log", {"type": "browser"})

    def devtools(self, command, **parameters):
        return self._call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def find(self, selector):
        found = self._call("/elements", {"using": "css selector", "value": selector})
        return [element[ELEMENT] for element in found]

    def accessible(self, element):
        return tuple(self._call(f"/element/{element}/computed{part}") for part in ("role", "label"))

    def close(self):
        self._call("", method="DELETE")


@contextmanager
def running_browser(profile):
    """Give a browser that keeps what it remembers in the folder ``profile``."""
    driver, port = _started_driver()
    try:
        browser = Browser(port, profile)
        try:
            yield browser
        finally:
            browser.close()  # else it would go on without its driver
    finally:
        _end(driver)


def _started_driver(attempts=5):
    """Start the driver, and again if it gives up: the free port it found for IPv4 may be taken for IPv6."""
    for _ in range(attempts):
        driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                return driver, found[1]
        _end(driver)
    raise RuntimeError(f"{DRIVER} ended {attempts} times before it told its port")


def _end(driver):
    driver.terminate()
    driver.wait()
