# SPDX-License-Identifier: Apache-2.0
"""sluice.pack(map=) of lines of JSON; docs/mapping.md and its example."""
import gzip
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import map_functions
from map_rig import chunks_of, docs, numbers, pack, small_chunks  # noqa: F401
import sluice
import sluice._map_source


# ---- lines of JSON ----


def read_all(source):
    return [(place, sample, error) for chunk in source.chunks() for place, _, sample, error in source.read(chunk)]


def test_lines_whatever_the_chunks(tmp_path, monkeypatch):
    """Each line appears once, in order, regardless of chunk boundaries: with blank lines, CRLF, a BOM, no final newline, empty files."""
    draw = random.Random(7)
    wanted = []
    for number in range(6):
        text = b"\xef\xbb\xbf" if number == 2 else b""
        for i in range(draw.randrange(12) if number != 4 else 0):
            wanted.append({"k": f"{number}.{i}", "x": "y" * draw.randrange(30)})
            text += json.dumps(wanted[-1]).encode() + draw.choice([b"\n", b"\r\n", b"\n\n", b"\n  \n"])
        (tmp_path / f"{number}.jsonl").write_bytes(text.rstrip() if number % 2 else text)
    source = sluice.JsonLines(tmp_path)
    for size in [*range(1, 60), 100, 1000]:
        monkeypatch.setattr(sluice._map_source, "BYTES", chunks_of(size))
        found = read_all(source)
        assert [sample for _, sample, _ in found] == wanted and not any(error for _, _, error in found)
        assert sum(map(source.length, source.chunks())) == source.units
    for (number, offset), sample, _ in found:
        assert json.loads(Path(source.files[number]).read_bytes()[offset:].split(b"\n")[0].removeprefix(b"\xef\xbb\xbf")) == sample


@pytest.mark.parametrize("units, size, count", [
    (1, 1, 1), (30, 4, 8), (320, 10, 32), (8192, 256, 32), (100_000, 256, 391), (10**6, 977, 1024), (10**9, 976_563, 1024), (2**31, 1 << 20, 2048),
])  # fmt: skip
def test_sizes_of_chunks(photos, monkeypatch, units, size, count):
    """Few samples occupy 32 processes; many make chunks of a thousandth; the last chunk is not longer than the others."""
    monkeypatch.undo()
    source = sluice._map_source.Samples(sluice.Dataset(photos))
    source.units = units
    chunks = source.chunks()
    assert len(chunks) == count and source.length(chunks[0]) == size and chunks[-1][1] == sum(map(source.length, chunks)) == units


def test_bad_lines(tmp_path, monkeypatch):
    lines = [b'{"n": 1}', b'{"n": ', b"[1]", b'{"n": "\xff"}', '{"n": 3}'.encode("utf-16-le"), b"[" * 100000, b'{"n": "' + b"z" * 4000 + b'"}', b'{"n": 2}']
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    monkeypatch.setattr(sluice._map_source, "LINE_MOST", 2000)
    with pytest.raises(sluice.CorruptError) as caught:
        pack(tmp_path, tmp_path / "packed", map_functions.Loaded("x"))
    assert caught.value.offset == 9 and caught.value.file == str(tmp_path / "a.jsonl")
    made = pack(tmp_path, tmp_path / "packed", map_functions.Loaded("x"), on_bad_sample="skip")
    assert (made.mapped, made.samples, made.rejected) == (8, 2, 6)
    reasons = [line.split("\t")[3] for line in (tmp_path / "packed" / "map.rejected.tsv").read_text().splitlines()[1:]]
    assert "expected a JSON object in the line, found list" in reasons[1] and "too long" in reasons[4] and "too long" in reasons[5]


def test_compressed_lines(docs, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for file in docs.iterdir():
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    pack(folder, tmp_path / "packed", map_functions.tokens)
    assert numbers(tmp_path / "packed") == list(range(300))
    damaged = bytearray((folder / "1.jsonl.gz").read_bytes())
    damaged[len(damaged) // 2] ^= 0x40
    (folder / "1.jsonl.gz").write_bytes(damaged)
    for number, options in enumerate(({}, {"on_bad_sample": "skip"})):
        with pytest.raises(sluice.Error, match="1.jsonl"):
            pack(folder, tmp_path / f"damaged{number}", map_functions.tokens, **options)
    (folder / "3.jsonl.zst").write_bytes(b"x")
    with pytest.raises(ValueError, match="3.jsonl.zst: expected .jsonl or .jsonl.gz: unpack"):
        sluice.JsonLines(folder)


def test_no_lines(tmp_path):
    for path in (tmp_path, tmp_path / "a.txt", [tmp_path / "b.json"]):
        with pytest.raises(ValueError, match="jsonl"):
            sluice.JsonLines(path)
    with pytest.raises(sluice.IOError, match="c.jsonl"):
        sluice.JsonLines(tmp_path / "c.jsonl")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="link to a folder"):
        sluice.JsonLines(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    with pytest.raises(sluice.StateError, match="left out all"):
        pack(tmp_path, tmp_path / "packed", map_functions.tokens)


# ---- the page and the example ----

ROOT = Path(__file__).parents[2]


def run_program(name, *arguments):
    ended = subprocess.run(
        [sys.executable, name, *map(str, arguments)], cwd=name.parent, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_the_page(docs, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "0.jsonl").symlink_to(docs / "0.jsonl")
    first, *_ = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "mapping.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "tokenize_docs.py").write_text(first)
    empty = sum(json.loads(line)["text"] == "" for line in (docs / "0.jsonl").read_text().splitlines())
    assert run_program(tmp_path / "tokenize_docs.py") == [f"100 lines, {empty} left out, {100 - empty} samples"] and empty > 0


def test_the_example(docs, tmp_path):
    lines = run_program(ROOT / "examples" / "tokenize_jsonl.py", docs / "0.jsonl", tmp_path / "packed", "--processes", 2)
    assert re.match(r"100 documents read, \d without text, 9\d packed", lines[0]) and re.match(r"\d+ batches", lines[1])
    assert all(sample["tokens"].tolist()[-1] == 256 for sample in sluice.Dataset(tmp_path / "packed"))
