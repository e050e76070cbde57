#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""site_test.py ROOT HTML LIBRARY: opens each page of the built site in Chromium.

No page may have an error in its console, a missing resource, or an internal link or fragment that leads nowhere. Search must find names of
all kinds, and the reference must have each exported C function, each name of the headers, and each public name of Python. Exit status 77,
with the reason: the site is not built, or there is no browser.
"""
import ast
import re
import subprocess
import sys
from pathlib import Path

import site_check

SEARCHES = {
    "sluice_loader_open": "reference/c/loader.html#c.sluice_loader_open",
    "sluice_dataset_options": "reference/c/dataset.html#c.sluice_dataset_options",
    "SLUICE_SHUFFLE_BLOCK": "reference/c/options.html",
    "memory_bytes": "reference/c/loader.html",
    "sluice.Loader": "reference/python/sluice.html#sluice.Loader",
    "RandomResizedCrop": "reference/python/sluice.transforms.html#sluice.transforms.RandomResizedCrop",
    "sluice.columns.Boxes": "reference/python/sluice.columns.html#sluice.columns.Boxes",
    "--stall-fail": "docs/cli.html",
    "--keep-order": "docs/cli.html",
    "back-pressure": "docs/glossary.html",
    "SimCLR": "docs/tutorials/views.html",
}
PUBLIC_MODULES = ("__init__", "accelerate", "cache", "columns", "jax", "keras", "lightning", "remote", "timm", "torch", "torchtitan",
                  "transformers", "transforms/__init__", "transforms/presets")


def c_names(root, library):
    """Names that the C reference must have: exported symbols, and what the headers define."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = set(re.findall(r"\b(sluice_\w+)(?:@|$)", symbols, re.M))
    for header in (root / "include/sluice").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names |= {name for name in re.findall(r"^ *# *define (SLUICE_\w+)", text, re.M) if not name.endswith("_H")}
        names |= set(re.findall(r"^ +(SLUICE_\w+)(?: = |,|$)", text, re.M))
        names |= set(re.findall(r"^\} (sluice_\w+);", text, re.M))
    return names


def python_names(root):
    """Names that the Python reference must have, from the lists of public names."""
    for module in PUBLIC_MODULES:
        tree = ast.parse((root / f"python/sluice/{module}.py").read_text())
        dotted = ".".join(["sluice", *module.replace("__init__", "").strip("/").split("/")]).rstrip(".")
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                for name in ast.literal_eval(node.value):
                    if f"{dotted}.{name}".removeprefix("sluice.").replace(".", "/") not in {m.removesuffix("/__init__") for m in PUBLIC_MODULES}:
                        yield f"{dotted}.{name}"


def check_reference(site, root, library):
    ids = set().union(*site.ids.values())
    known = {one.rpartition(".")[2] for one in ids if one.startswith("c.")}  # enumerators: c.ENUM.NAME
    wanted = sorted(c_names(root, library))
    for name in wanted:
        if name not in known:
            site.findings.append(f"the C reference lacks {name}")
    if len(wanted) < 300:
        site.findings.append(f"the headers define more than {len(wanted)} names")
    for name in python_names(root):
        if name not in ids:
            site.findings.append(f"the Python reference lacks {name}")


def check_searches(site):
    for query, wanted in SEARCHES.items():
        found = site.found_by_search(query)
        if not any(path == wanted or path.startswith(wanted + "#") for path in found):
            site.findings.append(f"search: {query!r} does not find {wanted}: {found[:5]}")


def check_themes(site):
    """The button changes the theme, and the front page shows the figure of each."""
    shown = "return Array.from(document.images).filter(i => i.src.includes('front_page') && i.offsetWidth > 0).map(i => i.src)"
    site.open("index.html")
    seen = set()
    for _ in range(3):
        site.driver.execute_script("document.querySelector('.theme-toggle').click()")
        theme = site.driver.execute_script("return document.body.dataset.theme")
        seen.add(theme)
        images = site.driver.execute_script(shown)
        if len(images) != 1 or (theme != "auto" and f"front_page-{theme}" not in images[0]):
            site.findings.append(f"index.html: the theme {theme} shows {images}")
    if seen != {"auto", "light", "dark"}:
        site.findings.append(f"index.html: the button chooses among the themes {sorted(seen)}")


def main(root, html, library):
    if not Path(html, "index.html").is_file():
        print("skipped: the site is not built (cmake --build BUILD --target site)")
        return 77
    reason = site_check.missing_packages()
    if reason:
        print(f"skipped: {reason}")
        return 77
    with site_check.served(html) as base, site_check.browser() as driver:
        site = site_check.Site(html, driver, base)
        pages = site.look_at_pages()
        check_reference(site, Path(root), library)
        check_searches(site)
        check_themes(site)
    for finding in site.findings:
        print(finding)
    print(f"{len(pages)} pages, {len(site.links)} links, {len(SEARCHES)} searches, {len(site.findings)} findings")
    return 1 if site.findings or len(pages) < 60 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
