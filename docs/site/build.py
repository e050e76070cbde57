#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""build.py BUILD VERSION PACKAGE: builds the documentation site into BUILD/site/html.

PACKAGE is the folder that has the built Python package. Warnings of Sphinx are errors.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = {"sphinx": "python3-sphinx", "myst_parser": "python3-myst-parser", "furo": "furo"}


NORMALIZE = "/javascript/normalize.css/normalize.css"


def repair(static):
    """Completes Debian's furo, whose files expect a bundler and a web server that serves /usr/share/javascript."""
    script = static / "scripts/furo.js"
    text = script.read_text()
    first, _, rest = text.partition("\n")
    if first == 'import Gumshoe from "./gumshoe-patched.js";':
        script.write_text((static / "scripts/gumshoe-patched.js").read_text() + "\n" + rest)
    sheet = static / "styles/furo.css"
    text = sheet.read_text()
    if NORMALIZE in text:
        shutil.copy("/usr/share" + NORMALIZE, static / "styles/normalize.css")
        sheet.write_text(text.replace(NORMALIZE, "normalize.css"))


def main():
    build, version, package = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    missing = [name for module, name in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        print("the site needs packages that are not installed:\n  apt-get install --no-install-recommends " + " ".join(missing), file=sys.stderr)
        return 1
    import stage

    source, html = build / "site/source", build / "site/html"
    errors = stage.stage(stage.ROOT, source)
    for error in errors:
        print(error, file=sys.stderr)
    if errors:
        return 1
    environment = {**os.environ, "SLUICE_SITE_VERSION": version, "SLUICE_SITE_PACKAGE": package}
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-c", HERE, "-d", build / "site/doctrees", source, html]
    status = subprocess.run(command, env=environment).returncode
    if status:  # the next build must warn again, and tests open a whole site or none
        for folder in (html, build / "site/doctrees"):
            shutil.rmtree(folder, ignore_errors=True)
        return status
    repair(html / "_static")
    print(f"{html}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
