# SPDX-License-Identifier: Apache-2.0
"""Documents, and a pack of them with a function, for the tests of sluice.pack(map=)."""
import hashlib
import json
import os
import random
import subprocess
import sys
import types

import pytest

import map_functions
import sluice
import sluice._map_source

DOCS = 300
MANY = 3000  # bytes of a chunk; also used by the programs


def chunks_of(size):
    return size, size, size


@pytest.fixture(autouse=True)
def small_chunks(request, monkeypatch):
    """Some ten chunks where they are compared, else three, as each needs syncs. Worker processes do not import pytest again."""
    monkeypatch.setattr(sluice._map_source, "BYTES", chunks_of(MANY if "whole" in request.fixturenames else 12000))
    monkeypatch.setattr(sluice._map_source, "SAMPLES", chunks_of(12))
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """Writes three files of 100 lines, each with a number and a text of up to 200 bytes."""
    folder = tmp_path_factory.mktemp("docs")
    draw = random.Random(1)
    for number in range(3):
        lines = [{"n": number * 100 + i, "text": "ä" * draw.randrange(100)} for i in range(100)]
        (folder / f"{number}.jsonl").write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    return folder


def pack(docs, path, function, **options):
    source = docs if isinstance(docs, sluice.Dataset) else sluice.JsonLines(docs)
    return sluice.pack(source, path, map=function, progress=None, **options)


def digest(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def numbers(path):
    return sorted(sample["n"] for sample in sluice.Dataset(path))


def program(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, map_functions.__file__, *map(str, arguments)], env=os.environ | environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(docs, tmp_path_factory):
    """Returns the output of a single process, with the programs' chunks."""
    path = tmp_path_factory.mktemp("whole") / "packed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sluice._map_source, "BYTES", chunks_of(MANY))
        made = pack(docs, path, map_functions.tokens, map_version=1)
    assert made.samples == made.mapped == DOCS and made.left_out == made.rejected == 0 and made.complete and not made.was_complete
    return path


def out_of_memory(sample):
    if sample["n"] == 250:
        raise sluice.OutOfMemoryError("no memory")
    return map_functions.raises(sample)
