#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""front_page.py: measures and draws the plot of README.md.

  front_page.py measure PHOTOS    measures, writes front_page.json, and draws
  front_page.py draw              draws docs/front_page-light.svg and -dark.svg from front_page.json

PHOTOS is an image folder. torch's DataLoader with torchvision, sluice on the same folder and sluice on
shards packed from it alternate, RUNS times for SECONDS each (bench/against_torch.py measures).
Needs the sluice package in PYTHONPATH and torchvision. Run it on an idle machine.
"""
import datetime
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
RESULTS = HERE / "front_page.json"
RUNS, SECONDS = 5, 5
BARS = (("torch", "torch DataLoader"), ("folder", "sluice, same folder"), ("packed", "sluice, packed"))
THEMES = {
    "light": {"text": "#1f2328", "faint": "#59636e", "torch": "#afb8c1", "sluice": "#0a7ea4"},
    "dark": {"text": "#f0f6fc", "faint": "#9198a1", "torch": "#656c76", "sluice": "#39b5e0"},
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} cores, {names[0]}, Linux {'.'.join(platform.release().split('.')[:2])}"


def versions():
    import PIL
    import torch
    import torchvision

    return f"torch {torch.__version__}, torchvision {torchvision.__version__}, Pillow {PIL.__version__}"


def measure(photos):
    import sluice

    program = HERE.parent / "against_torch.py"
    found = {name: [] for name, _ in BARS}
    with tempfile.TemporaryDirectory() as folder:
        packed = pathlib.Path(folder) / "packed"
        sluice.pack(photos, packed)
        for _ in range(RUNS):
            for name, _ in BARS:
                kind, path = ("torch" if name == "torch" else "sluice"), (packed if name == "packed" else photos)
                command = [sys.executable, program, "--one", kind, path, str(SECONDS), str(time.time())]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                found[name].append(json.loads(output)[:2])
        images = len(sluice.Dataset(photos))
    results = {
        "machine": machine(),
        "versions": versions(),
        "date": datetime.date.today().isoformat(),
        "command": "bench/figures/front_page.py measure PHOTOS",
        "work": f"{images} ImageNet photos, RandomResizedCrop(224), flip, normalized float32, batch 64, 2 workers",
        "runs": f"medians of {RUNS} alternating runs of {SECONDS} s",
        "loaders": {name: loader_results(rows) for name, rows in found.items()},
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


def loader_results(rows):
    rates, cpu = [round(rate) for rate, _ in rows], [round(ms, 3) for _, ms in rows]
    return {
        "images_per_s": statistics.median(rates),
        "images_per_s_range": [min(rates), max(rates)],
        "cpu_ms_per_image": statistics.median(cpu),
        "cpu_ms_range": [min(cpu), max(cpu)],
    }


def text(x, y, words, color, size=14, anchor="start", weight="400"):
    return f'<text x="{x}" y="{y}" fill="{color}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def panel(results, theme, left, title, key, write):
    """Draws one group of bars: `title` above, the value after each bar."""
    colors = THEMES[theme]
    most = max(results["loaders"][name][key] for name, _ in BARS)
    parts = [text(left, 26, title, colors["text"], 15, weight="600")]
    for row, (name, _) in enumerate(BARS):
        value = results["loaders"][name][key]
        width, top = max(2, round(190 * value / most)), 44 + 38 * row
        color = colors["torch" if name == "torch" else "sluice"]
        parts.append(f'<rect x="{left}" y="{top}" width="{width}" height="24" rx="3" fill="{color}"/>')
        parts.append(text(left + width + 8, top + 17, write(value), colors["text"], weight="600"))
    return parts


def draw(results, theme):
    colors = THEMES[theme]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="220" viewBox="0 0 760 220" role="img" '
        f'font-family="{FONT}">',
        "<title>Images per second, and CPU time per image: torch DataLoader, sluice on the same folder, sluice packed</title>",
    ]
    for row, (_, label) in enumerate(BARS):
        parts.append(text(150, 61 + 38 * row, label, colors["text"], anchor="end"))
    parts += panel(results, theme, 164, "images/s (more is better)", "images_per_s", lambda value: f"{value:,}")
    parts += panel(results, theme, 464, "CPU ms per image (less is better)", "cpu_ms_per_image", lambda value: f"{value:.2f}")
    parts += [
        text(8, 178, f"{results['work']}; {results['runs']}.", colors["faint"], 11),
        text(8, 194, f"{results['machine']}; {results['versions']}.", colors["faint"], 11),
        text(8, 210, f"{results['date']}: {results['command']}", colors["faint"], 11),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "measure":
        measure(sys.argv[2])
    elif sys.argv[1:] != ["draw"]:
        sys.exit(__doc__)
    results = json.loads(RESULTS.read_text())
    for theme in THEMES:
        (DOCS / f"front_page-{theme}.svg").write_text(draw(results, theme))


if __name__ == "__main__":
    main()
