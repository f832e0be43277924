"""Take the picture of the demo's report that the README shows: docs/figures/report.png.

Run: .venv/bin/python tools/report_picture.py        (needs Chromium; the noise, and so the picture, is always new)
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1080, 1180


def main() -> None:
    """Run the demo in a folder of its own and photograph its report."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"no browser was found: install one of {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        subprocess.run(
            [sys.executable, "-m", "hardzero", "demo", "--output", str(demo)], check=True, stdout=sys.stderr
        )
        command = [browser, "--headless", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
        # As root, as in a container, Chromium has no sandbox; the page is our own and loads nothing.
        command += ["--no-sandbox", f"--screenshot={PICTURE}", (demo / "report.html").as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(f"wrote {PICTURE.name}")


if __name__ == "__main__":
    main()
