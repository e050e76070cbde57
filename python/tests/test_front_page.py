# SPDX-License-Identifier: Apache-2.0
"""README.md: its length, its plot and claim, its links, and the three lines that replace a DataLoader."""
import importlib.util
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_it_is_short():
    assert len(README.splitlines()) <= 200


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_plot_is_what_was_measured():
    front_page = load(ROOT / "bench" / "figures" / "front_page.py")
    results = json.loads(front_page.RESULTS.read_text())
    for theme in front_page.THEMES:
        name = f"docs/front_page-{theme}.svg"
        assert name in README
        assert (ROOT / name).read_text() == front_page.draw(results, theme)
    loaders = results["loaders"]
    for loader in loaders.values():
        for value, spread in (("images_per_s", "images_per_s_range"), ("cpu_ms_per_image", "cpu_ms_range")):
            least, most = loader[spread]
            assert least <= loader[value] <= most
    shares = [round(loaders["torch"]["cpu_ms_per_image"] / loaders[name]["cpu_ms_per_image"]) for name in ("folder", "packed")]
    words = {4: "a quarter", 5: "a fifth", 6: "a sixth", 7: "a seventh", 8: "an eighth", 9: "a ninth", 10: "a tenth"}
    assert f"for {words[shares[0]]} of the CPU time" in README and f"and {words[shares[1]]} once they are packed" in README


def test_links_lead_somewhere():
    for target in re.findall(r"(?:\]\(|src(?:set)?=\")([^)\"]+)", README):
        path, _, anchor = target.partition("#")
        assert (ROOT / path).exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings], target


def test_three_lines_change(photos, tmp_path, monkeypatch):
    """Both sides of the diff run, and return batches of the same shapes and labels; three lines differ."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    (lines,) = re.findall(r"^```diff\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    lines = lines.splitlines(keepends=True)
    assert sum(line.startswith("-") for line in lines) == sum(line.startswith("+") for line in lines) == 3
    (tmp_path / "photos").symlink_to(photos)
    monkeypatch.chdir(tmp_path)
    seen = []
    for other in "+-":
        names = {}
        code = "".join(line[1:] for line in lines if not line.startswith(other))
        assert code.count("    ...\n") == 1
        names["seen"] = batches = []
        exec(compile(code.replace("    ...\n", "    seen.append((images, labels))\n"), "README.md", "exec"), names)
        seen.append(batches)
    for theirs, ours in zip(*seen, strict=True):
        assert theirs[0].shape == ours[0].shape and theirs[0].dtype == ours[0].dtype == torch.float32
        assert theirs[1].dtype == ours[1].dtype == torch.int64
    counts = [torch.cat([labels for _, labels in batches]).bincount().tolist() for batches in seen]
    assert counts[0] == counts[1]
