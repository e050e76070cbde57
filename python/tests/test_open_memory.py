# SPDX-License-Identifier: Apache-2.0
"""Memory used by opening a dataset: files that claim much, and hold little."""
import contextlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import unittest.mock

import arrows
import mds_files
import parquets
import pytest
from parquets import BINARY, I32, I64, LIST, REQUIRED, STRUCT, thrift, varint
from sanitized import ASAN

import sluice

MIB = 1 << 20
LIMIT = 64 * MIB

# Runs in its own process, to measure its own memory.
PROGRAM = """
import json, resource, sys, time
import sluice
path, arguments, number = json.loads(sys.argv[1])
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
before, begin = peak(), time.process_time()
try:
    data = sluice.Dataset(path, **arguments)
    found = [len(data), {name: value if isinstance(value, int) else len(value) for name, value in data[number].items()}]
except sluice.Error as error:
    found = [type(error).__name__, str(error)]
print(json.dumps([found, peak() - before, time.process_time() - begin]))
"""


def run(given):
    """Returns PROGRAM's output. A sanitizer uses memory itself: then nothing is measured, and no interpreter is started."""
    if ASAN:
        with unittest.mock.patch.object(sys, "argv", ["-c", given]), contextlib.redirect_stdout(io.StringIO()) as out:
            exec(PROGRAM, {})
        return out.getvalue()
    ran = subprocess.run([sys.executable, "-c", PROGRAM, given], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def look(path, number=0, **arguments):
    """Returns the dataset's content, or the error. Checks that memory stays below the limit plus an allowance for threads and pages."""
    arguments = {"memory_bytes": LIMIT, **arguments}
    found, memory, seconds = json.loads(run(json.dumps([str(path), arguments, number])))
    if not ASAN:
        assert memory < arguments["memory_bytes"] + 48 * MIB, f"{memory / MIB:.0f} MiB"
    assert seconds < 30  # not hours: claimed sizes are not iterated over
    return found


# ---- Parquet ----


def data_page(values, body, codec, encoding=8, levels=b""):
    """Returns a data page of version 2."""
    packed = parquets.compress(codec, body)
    facts = thrift((1, I32, values), (2, I32, 0), (3, I32, values), (4, I32, encoding), (5, I32, len(levels)), (6, I32, 0))
    return page(3, 8, facts, len(levels) + len(body), levels + packed)


def dictionary_page(values, body, codec):
    return page(2, 7, thrift((1, I32, values), (2, I32, 0)), len(body), parquets.compress(codec, body))


def page(kind, number, facts, size, body):
    return thrift((1, I32, kind), (2, I32, size), (3, I32, len(body)), (number, STRUCT, facts)) + body


def parquet(path, columns, groups=1, shared=False):
    """columns: name -> (physical type, size, values, pages, and the sizes that they claim to unpack to); each group has its own
    pages, unless they are shared."""
    schema = [thrift((4, BINARY, "schema"), (5, I32, len(columns)))]
    schema += [thrift((1, I32, kind), (2, I32, size or None), (3, I32, REQUIRED), (4, BINARY, name))
               for name, (kind, size, *_) in columns.items()]  # fmt: skip
    out, rows, begin = bytearray(b"PAR1"), [], 4
    count = 0
    for group in range(groups):
        chunks = []
        for name, (kind, _, values, pages, *unpacked) in columns.items():
            if not (shared and group):
                begin = len(out)
                out += b"".join(pages)
            size = sum(map(len, pages))
            facts = thrift((1, I32, kind), (3, LIST, (BINARY, [name])), (4, I32, parquets.CODECS["ZSTD"]), (5, I64, values),
                           (6, I64, *(unpacked or [size])), (7, I64, size), (9, I64, begin))  # fmt: skip
            chunks.append(thrift((2, I64, 0), (3, STRUCT, facts)))
            count = values
        rows.append(thrift((1, LIST, (STRUCT, chunks)), (2, I64, 1), (3, I64, count)))
    footer = thrift((1, I32, 2), (2, LIST, (STRUCT, schema)), (3, I64, count * groups), (4, LIST, (STRUCT, rows)))
    path.write_bytes(bytes(out) + footer + struct.pack("<I", len(footer)) + b"PAR1")


def run_of(value, rows, width):
    """Returns an RLE run, as the numbers of a page."""
    return bytes([width]) + varint(rows << 1) + value.to_bytes((width + 7) // 8, "little")


needs_zstd = pytest.mark.skipif(not parquets.have("ZSTD"), reason="no Zstandard here")


@needs_zstd
def test_texts_of_a_dictionary_are_kept_once(tmp_path):
    """8 MiB, shared by 1000 rows in one run: half a kilobyte of file."""
    path, text = tmp_path / "a.parquet", bytes(8 * MIB)
    pages = [dictionary_page(1, struct.pack("<I", len(text)) + text, "ZSTD"), data_page(1000, run_of(0, 1000, 0), "ZSTD")]
    parquet(path, {"x": (parquets.BYTE_ARRAY, 0, 1000, pages), "i": (parquets.INT64, 0, 1000, INTS)})
    assert path.stat().st_size < 2000
    assert look(path, 999, fields={"x": "x:bytes", "i": "i"}) == [1000, {"x": 8 * MIB, "i": 7}]


INTS = [dictionary_page(1, struct.pack("<q", 7), "ZSTD"), data_page(1000, run_of(0, 1000, 0), "ZSTD")]


@needs_zstd
@pytest.mark.parametrize("groups", [1, 8])
def test_large_dictionaries(tmp_path, groups):
    """16 million one-byte entries in each row group, which has a single row."""
    path = tmp_path / "a.parquet"
    pages = [dictionary_page(16 * MIB, bytes(16 * MIB), "ZSTD"), data_page(10, run_of(1, 10, 24), "ZSTD")]
    parquet(path, {"x": (parquets.FIXED, 1, 10, pages)}, groups)
    assert path.stat().st_size < 2000 * groups
    found = look(path)
    assert found == [10 * groups, {"x": 1}] or found[0] == "OutOfMemoryError"


@needs_zstd
def test_shared_pages(tmp_path):
    pages = [dictionary_page(MIB, bytes(MIB), "ZSTD"), data_page(10, run_of(1, 10, 20), "ZSTD")]
    parquet(tmp_path / "a.parquet", {"x": (parquets.FIXED, 1, 10, pages)}, 8, shared=True)
    name, text = look(tmp_path / "a.parquet")
    assert name == "CorruptError" and "overlap" in text


@needs_zstd
def test_columns_of_one_value(tmp_path):
    """A run takes hardly any bytes, regardless of its number of rows."""
    path, rows = tmp_path / "a.parquet", 1_000_000
    pages = [dictionary_page(1, struct.pack("<q", 7), "ZSTD"), data_page(rows, run_of(0, rows, 0), "ZSTD")]
    parquet(path, {"i": (parquets.INT64, 0, rows, pages)})
    assert path.stat().st_size < 300
    assert look(path, rows - 1) == [rows, {"i": 7}]


@needs_zstd
def test_claimed_rows(tmp_path):
    """The memory for their columns is reported before they are read; 2^40 rows are not believed."""
    rows = 1 << 24
    pages = [dictionary_page(1, struct.pack("<q", 7), "ZSTD"), data_page(rows, run_of(0, rows, 0), "ZSTD")]
    parquet(tmp_path / "a.parquet", {"i": (parquets.INT64, 0, rows, pages)})
    name, text = look(tmp_path / "a.parquet")
    assert name == "OutOfMemoryError" and "need 144 MiB" in text and "(memory_bytes of the Dataset)" in text
    assert look(tmp_path / "a.parquet", memory_bytes=400 * MIB) == [rows, {"i": 7}]
    parquet(tmp_path / "b.parquet", {"i": (parquets.INT64, 0, 1 << 40, pages)})
    name, text = look(tmp_path / "b.parquet")
    assert name == "CorruptError" and "more values than its bytes can hold" in text


@needs_zstd
def test_values_without_bytes(tmp_path):
    head = page(3, 8, thrift((1, I32, 10), (2, I32, 0), (3, I32, 10), (4, I32, 0), (5, I32, 0), (6, I32, 0)), 0, b"")
    parquet(tmp_path / "a.parquet", {"i": (parquets.INT64, 0, 10, [head])})
    name, text = look(tmp_path / "a.parquet")
    assert name == "CorruptError" and "no bytes" in text


def test_texts_of_many_groups(tmp_path):
    """A valid file whose texts do not fit, but do with more memory."""
    path, rows = tmp_path / "a.parquet", 3000
    texts = [f"{i:06d}" * 6000 for i in range(rows)]
    columns = {"a": parquets.Column("string", texts), "b": parquets.Column("int32", range(rows))}
    parquets.write(path, columns, rows_per_group=100)
    arguments = {"fields": {"a": "a:text", "b": "b"}}
    assert look(path, 2999, **arguments)[1]["a"] == 36000  # its texts are read with the samples
    columns = {f"a{i}": parquets.Column("string", [text[:3600] for text in texts]) for i in range(8)}
    parquets.write(path, columns, rows_per_group=100)
    arguments = {"fields": {f"a{i}": f"a{i}" for i in range(8)}}
    name, text = look(path, **arguments, memory_bytes=32 * MIB)
    assert name == "OutOfMemoryError" and "choose the fields to read" in text
    assert look(path, 2999, **arguments, memory_bytes=300 * MIB)[0] == rows


# ---- Arrow ----


class Raw(arrows.Writer):
    """Arrays written as given, with any claims in their nodes."""

    def claim(self, columns, rows, nodes, buffers):
        numbers = []
        tops = [arrows.Field(name, kind, numbers) for name, kind in columns.items()]
        features = {"huggingface": json.dumps({"info": {"features": {name: [{"_type": "Image"}] for name in columns}}})}
        self.message(arrows.SCHEMA, [(1, "o", ("tables", [top.table() for top in tops])), (2, "o", arrows.key_values(features))])
        arrays = arrows.Arrays(self.options, [])
        arrays.nodes = [struct.pack("<qq", length, 0) for length in nodes]
        arrays.buffers = buffers
        fields, body, _ = arrays.message()
        self.message(arrows.BATCH, [(0, "q", rows)] + fields, body)
        self.out.write(b"\xff" * 4 + bytes(4))


PICTURE = "struct<bytes:binary,path:string>"


@pytest.mark.parametrize("items", [0, 3])
@pytest.mark.parametrize("rows", [1 << 28, 1 << 60])
def test_rows_without_bytes(tmp_path, items, rows):
    """Lists of a fixed size need no buffer: a large number of them takes no memory."""
    path = tmp_path / "a.arrow"
    with open(path, "wb") as out:
        Raw(out, arrows._options(False)).claim(
            {"x": f"fixed_list[{items}]<{PICTURE}>"}, rows, [rows, 0, 0, 0], [b""] * 8)
    assert path.stat().st_size < 1000
    assert look(path, fields={"x": "x.0"})[0] in ("CorruptError", "InvalidError")
    assert look(path)[0] in ("CorruptError", "InvalidError", "UnsupportedError")


def test_words_are_kept_once(tmp_path):
    """1 MiB, shared by 100,000 rows."""
    path, word = tmp_path / "a.arrow", b"w" * MIB
    column = arrows.Column("dictionary[int8]<binary>", [word if i % 3 else b"no" for i in range(100_000)])
    arrows.write_stream(path, {"x": column, "i": arrows.Column("int8", [i % 100 for i in range(100_000)])}, rows_per_batch=1000)
    assert look(path, 99_998) == [100_000, {"x": MIB, "i": 98}]
    arrows.write_stream(path, {"x": column}, rows_per_batch=40_000, dictionaries="replace")
    assert look(path, 99_998) == [100_000, {"x": MIB}]
    arrows.write_stream(path, {"x": column}, rows_per_batch=[1, 50_000], dictionaries="delta")
    assert [look(path, i)[1]["x"] for i in (0, 1, 2, 3, 99_999)] == [2, MIB, MIB, 2, 2]


# ---- JSON, and files beside others ----


def test_trees(tmp_path):
    """A kilobyte of file takes 75 of memory."""
    path = tmp_path / "index.json"
    path.write_bytes(b'{"version": 2, "shards": [' + b"[]," * (4 * MIB) + b"[]]}")
    name, text = look(tmp_path)
    assert name == "OutOfMemoryError" and "index.json" in text and "take 64 MiB" in text


def test_trees_of_many_indexes(tmp_path):
    """One at a time: released trees no longer count."""
    for number in range(12):
        folder = tmp_path / str(number)
        mds_files.write(str(folder), {"x": "int"}, [{"x": number}])
        index = json.loads((folder / "index.json").read_text())
        (folder / "index.json").write_text(json.dumps(index | {"more": [[]] * 60_000}))
    data = sluice.Dataset([tmp_path / str(number) for number in range(12)], memory_bytes=LIMIT)
    assert len(data) == 12


def test_values_of_lists(tmp_path):
    table = tmp_path / "a.jsonl"
    table.write_bytes(b'{"x": ' + b"[" * 1 + b"[]," * (4 * MIB) + b"[]]}\n")
    assert look(table)[0] in ("OutOfMemoryError", "InvalidError", "CorruptError")


def test_sparse_indexes(tmp_path):
    """Their size is limited by that of their archives, or they are ignored."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        (tmp_path / "x.cls").write_text("3")
        tar.add(tmp_path / "x.cls", "x.cls")
    wanted = look(path)
    assert wanted[0] == 1
    for name in ("a.tar.sluice-index", "a.idx"):
        index = tmp_path / name
        index.write_bytes(b"v1.2 1\n" if name == "a.idx" else index.read_bytes()[:64] if index.exists() else b"")
        os.truncate(index, 2 << 30)
        assert look(path) == wanted
        index.unlink()
