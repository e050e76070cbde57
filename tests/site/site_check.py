# SPDX-License-Identifier: Apache-2.0
"""Opens a built site in a headless Chromium and lists its faults. Used by site_test.py and can_fail_test.py."""
import contextlib
import functools
import http.server
import shutil
import threading
import urllib.parse
from pathlib import Path

PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}
PATIENCE_S = 300
LOOK = """
const resources = performance.getEntriesByType('resource').map(entry => entry.name);
return {
  title: document.title,
  ids: Array.from(document.querySelectorAll('[id]'), element => element.id),
  links: Array.from(document.querySelectorAll('a[href]'), link => link.href),
  images: Array.from(document.images).filter(image => image.complete && image.naturalWidth === 0).map(image => image.src),
  resources: resources,
};
"""


def missing_packages():
    """The reason why no browser can be started here, or ""."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    try:
        import selenium  # noqa: F401
    except ImportError:
        missing.append("python3-selenium")
    return f"not installed: {' '.join(missing)} (apt-get install --no-install-recommends)" if missing else ""


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(folder):
    """Serves `folder` on a free port of this machine, and gives its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(PATIENCE_S)
    driver.set_script_timeout(PATIENCE_S)
    try:
        yield driver
    finally:
        driver.quit()


class Site:
    """Findings about the pages of a folder, each a line of text."""

    def __init__(self, folder, driver, base):
        self.folder, self.driver, self.base = Path(folder), driver, base
        self.findings = []
        self.ids = {}  # of the elements of each page
        self.links = {}  # pages that have it, by the address of a link

    def open(self, path):
        """Opens a page, and notes errors of its console and resources that are missing or foreign."""
        self.driver.get(self.base + path)
        seen = self.driver.execute_script(LOOK)
        for entry in self.driver.get_log("browser"):
            if entry["level"] == "SEVERE" and "favicon.ico" not in entry["message"]:
                self.findings.append(f"{path}: console: {entry['message']}")
        for image in seen["images"]:
            self.findings.append(f"{path}: the image {image} is missing or empty")
        for resource in seen["resources"]:
            if not resource.startswith((self.base, "data:")):
                self.findings.append(f"{path}: loads {resource} from another server")
        return seen

    def look_at_pages(self):
        """Opens each page, then compares each internal link and fragment with the pages and their elements."""
        pages = sorted(file.relative_to(self.folder).as_posix() for file in self.folder.rglob("*.html"))
        for path in pages:
            seen = self.open(path)
            if not seen["title"]:
                self.findings.append(f"{path}: no title")
            self.ids[path] = set(seen["ids"])
            for link in seen["links"]:
                self.links.setdefault(link, []).append(path)
        for link, users in sorted(self.links.items()):
            if link.startswith(self.base):
                self.follow(link, users)
        return pages

    def follow(self, link, users):
        address, _, fragment = link[len(self.base):].partition("#")
        path = urllib.parse.unquote(address.partition("?")[0]) or "index.html"
        fragment = urllib.parse.unquote(fragment)
        if path not in self.ids and not (self.folder / path).is_file():
            self.findings.append(f"{users[0]}: the link to {path} leads nowhere")
        elif fragment and fragment not in self.ids.get(path, ()):
            self.findings.append(f"{users[0]}: the link to {path}#{fragment} leads to no place of the page")

    def found_by_search(self, query):
        """Paths, with fragments, of what the site's search finds."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        self.open("search.html?" + urllib.parse.urlencode({"q": query}))
        summary = "return (document.querySelector('.search-summary') || {}).textContent || ''"
        try:
            WebDriverWait(self.driver, PATIENCE_S).until(
                lambda driver: any(word in driver.execute_script(summary) for word in ("found", "finished", "did not match")))
        except TimeoutException:
            self.findings.append(f"search: {query!r} does not end: {self.driver.execute_script(summary)!r}")
        found = self.driver.execute_script("return Array.from(document.querySelectorAll('ul.search a'), link => link.href)")
        return [urllib.parse.unquote(link.partition("?")[0][len(self.base):] + ("#" + link.partition("#")[2] if "#" in link else ""))
                for link in found]
