# SPDX-License-Identifier: Apache-2.0
"""Follows a page of docs/tutorials like a reader: saves its programs, types its commands, compares their output."""
import os
import pathlib
import re
import stat
import subprocess

import warm

PAGES = pathlib.Path(__file__).parents[2] / "docs/tutorials"
COMMANDS = {
    "python": '"{python}" "$@"',
    "sluice": '"{python}" -m sluice "$@"',
    # 9:1 is the default, no redirection, in a form that torch 1.13 understands under Python 3.11.
    "torchrun": '"{python}" -m torch.distributed.run --monitor_interval=0.1 --redirects=9:1 --tee=9:1 "$@"',
}
PROGRESS = re.compile(r"^sluice \w+: +\d.*(?:/s|left|%).*\n", re.MULTILINE)  # every ten seconds, on a slow machine


def text(page):
    return (PAGES / page).read_text()


def blocks(page):
    """Returns (kind, text) of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)


def programs(page):
    """Returns the text of each Python program by the name in its first line, `# NAME.py`."""
    named = [(re.match(r"# (\w+\.py)\n", block), block) for kind, block in blocks(page) if kind == "python"]
    return {name[1]: block for name, block in named if name}


def fragments(page):
    """Returns the Python blocks that are not programs."""
    return [block for kind, block in blocks(page) if kind == "python" and not re.match(r"# \w+\.py\n", block)]


def commands(page):
    """Returns (command, its output) of each line that begins with `$ `, in order."""
    for kind, block in blocks(page):
        if kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
                yield command, printed


def matches(printed, expected):
    """Compares an output with the page's: numbers with a point are measurements, and may differ. `...` stands for anything."""
    pattern = ""
    for token in re.findall(r"\.\.\.|\d+\.\d+|\s+|.", expected.strip()):
        pattern += {"...": ".*?"}.get(token) or (r"\d+(?:\.\d+)?" if re.fullmatch(r"\d+\.\d+", token) else r"\s+" if token.isspace() else re.escape(token))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


class Shell:
    """A reader's folder, with `python`, `sluice` and `torchrun` in the path."""

    def __init__(self, folder):
        self.folder, tools = folder, folder / ".tools"
        tools.mkdir()
        for name, line in COMMANDS.items():
            (tools / name).write_text(f"#!/bin/sh\nexec {line.format(python=warm.python())}\n")
            (tools / name).chmod(stat.S_IRWXU)
        self.environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}

    def save(self, page):
        for name, program in programs(page).items():
            (self.folder / name).write_text(program)

    def start(self, command, **options):
        return subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
        )

    def run(self, command):
        """Returns the command's output, on both of its streams."""
        process = self.start(command)
        printed, _ = process.communicate(timeout=300)
        return PROGRESS.sub("", printed)

    def follow(self, page):
        """Types the commands of a page. Returns the output of each."""
        self.save(page)
        outputs = {}
        for command, expected in commands(page):
            outputs[command] = printed = self.run(command)
            assert matches(printed, expected), f"{page}: $ {command}\n{printed}\ninstead of\n{expected}"
        return outputs
