# SPDX-License-Identifier: Apache-2.0
"""sluice.pack(map=function, processes=n): the same bytes for any n, through interruptions, and nothing lost."""
import functools
import gzip
import hashlib
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
from PIL import Image

import map_functions
import sluice
import sluice._map_folder
import sluice._map_identity
import sluice._map_pack
import sluice._map_source

DOCS = 300
MANY = 3000  # bytes of a chunk; that of the programs, too


def chunks_of(size):
    return size, size, size


@pytest.fixture(autouse=True)
def small_chunks(request, monkeypatch):
    """Some ten chunks where they are compared, else three: each takes syncs. And worker processes that do not import pytest again."""
    monkeypatch.setattr(sluice._map_source, "BYTES", chunks_of(MANY if "whole" in request.fixturenames else 12000))
    monkeypatch.setattr(sluice._map_source, "SAMPLES", chunks_of(12))
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """Three files of 100 lines: the number of each, and a text of up to 200 bytes."""
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
    """What one process makes of it, in the programs' chunks."""
    path = tmp_path_factory.mktemp("whole") / "packed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sluice._map_source, "BYTES", chunks_of(MANY))
        made = pack(docs, path, map_functions.tokens, map_version=1)
    assert made.samples == made.mapped == DOCS and made.left_out == made.rejected == 0 and made.complete and not made.was_complete
    return path


def test_what_is_packed(docs, whole):
    lines = [json.loads(line) for file in sorted(docs.iterdir()) for line in file.read_text().splitlines()]
    data = sluice.Dataset(whole)
    assert {sample["n"]: bytes(sample["tokens"].tolist()).decode() for sample in data} == {line["n"]: line["text"] for line in lines}
    assert data.fields["tokens"][1:] == ("tensor", "int32", (0,)) and data.fields["n"].type == "int"
    assert [sample["n"] for sample in data] != list(range(DOCS)) and not Path(f"{whole}.map").exists()
    assert data.verify(progress=None).findings == []


def test_any_number_of_processes(docs, whole, tmp_path):
    for processes in (2, 3):
        made = pack(docs, tmp_path / str(processes), map_functions.tokens, map_version=1, processes=processes)
        assert made.samples == DOCS and digest(tmp_path / str(processes)) == digest(whole)


def test_parts(docs, whole, tmp_path):
    for part, processes in ((2, 1), (0, 2), (1, 1)):
        made = pack(docs, tmp_path / "parts", map_functions.tokens, map_version=1, processes=processes, part=(part, 3))
        assert made.complete == (part == 1) and (made.complete or 0 < made.mapped < DOCS)
    assert made.mapped == made.samples == DOCS and digest(tmp_path / "parts") == digest(whole)
    assert pack(docs, tmp_path / "parts", map_functions.tokens, map_version=1, part=(0, 3)).was_complete


def test_parts_that_pack_at_once(docs, whole, tmp_path, monkeypatch):
    """Each finds the chunks of all made."""

    def part(number):
        return pack(docs, tmp_path / "parts", map_functions.tokens, map_version=1, part=(number, 3))

    with monkeypatch.context() as patch:
        patch.setattr(sluice._map_pack, "_pack", lambda *arguments: 1 / 0)
        assert not part(0).complete and not part(1).complete
        with pytest.raises(ZeroDivisionError):
            part(2)
    with ThreadPoolExecutor(3) as threads:
        assert all(made.complete and made.samples == DOCS for made in threads.map(part, range(3)))
    assert digest(tmp_path / "parts") == digest(whole) and os.listdir(tmp_path) == ["parts"]


def test_none_one_and_two_results(docs, tmp_path):
    made = pack(docs, tmp_path / "packed", map_functions.some)
    assert (made.mapped, made.left_out, made.samples, made.rejected) == (300, 100, 300, 0)
    assert numbers(tmp_path / "packed") == sorted([n for n in range(300) if n % 3] + [-n for n in range(300) if n % 3 == 2])
    again = pack(docs, tmp_path / "packed", map_functions.some)
    assert again.was_complete and again[:2] == made[:2] and (again.mapped, again.left_out) == (300, 100)
    with pytest.raises(sluice.StateError, match="left out all"):
        pack(docs, tmp_path / "none", map_functions.nothing)
    assert os.listdir(tmp_path) == ["packed"]


def test_killed_anywhere_and_continued(docs, whole, tmp_path):
    deaths = tmp_path / "deaths"
    draw = random.Random(random.randrange(1 << 30))
    chosen = sorted(draw.sample(range(DOCS), 2))
    deaths.write_text(" ".join(map(str, chosen)))
    arguments = (docs, tmp_path / "packed", "kills")
    for processes, more in ((1, {}), (2, {}), (2, {"DIE_AT_PACK": "1"})):
        killed = program(*arguments, processes, DEATHS=str(deaths), **more)
        assert killed.wait(120) == -signal.SIGKILL, (chosen, killed.communicate())
    ended = program(*arguments, 2, DEATHS=str(deaths))
    assert ended.communicate(timeout=120)[0] == "300 300 False\n", chosen
    assert digest(tmp_path / "packed") == digest(whole), chosen


def gone(pid):
    """Waits until a process has ended."""
    for _ in range(1200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_ctrl_c_and_the_death_of_the_caller_end_the_workers(docs, tmp_path):
    for number, (processes, sent) in enumerate(((1, signal.SIGINT), (2, signal.SIGINT), (2, signal.SIGKILL))):
        asleep = tmp_path / f"asleep{number}"
        packing = program(docs, tmp_path / "packed", "sleeps", processes, ASLEEP=str(asleep))
        while not asleep.exists():
            assert packing.poll() is None, packing.communicate()
            time.sleep(0.02)
        if sent == signal.SIGINT:
            os.killpg(packing.pid, sent)  # as a terminal does
        else:
            packing.kill()
        _, errors = packing.communicate(timeout=120)
        assert packing.returncode in (1, -sent) and ("KeyboardInterrupt" in errors) == (sent == signal.SIGINT)
        assert errors.count("Traceback") <= 1 and gone(int(asleep.read_text()))


@pytest.mark.parametrize("processes", (1, 2))
def test_a_function_that_raises(docs, tmp_path, processes):
    with pytest.raises(sluice.MapError) as caught:
        pack(docs if processes == 1 else docs / "0.jsonl", tmp_path / "packed", map_functions.raises, processes=processes)
    error = caught.value
    line = Path(error.file).read_bytes()[error.offset :].split(b"\n")[0]
    assert json.loads(line)["n"] % 50 == 7 and error.reason == "KeyError: 'no such word'"
    assert 'raise KeyError("no such word")' in str(error) and error.traceback.endswith("KeyError: 'no such word'")
    assert "_map_" not in error.traceback and (processes > 1 or isinstance(error.__cause__, KeyError))
    if processes > 1:
        return
    made = pack(docs, tmp_path / "packed", map_functions.raises, on_bad_sample="skip")
    assert (made.mapped, made.samples, made.rejected) == (300, 294, 6)
    assert numbers(tmp_path / "packed") == [n for n in range(300) if n % 50 != 7]
    lines = (tmp_path / "packed" / "map.rejected.tsv").read_text().splitlines()[1:]
    assert len(lines) == 6 and all(line.split("\t")[3] == "KeyError: 'no such word'" for line in lines)
    assert pack(docs, tmp_path / "packed", map_functions.raises, on_bad_sample="skip").rejected == 6


def test_an_earlier_run_skipped(docs, tmp_path):
    with pytest.raises(sluice.Error):  # made chunks with rejected samples, and then met something that is not skipped
        pack(docs, tmp_path / "packed", out_of_memory, map_version=1, on_bad_sample="skip")
    with pytest.raises(sluice.CorruptError, match="rejected by an earlier run"):
        pack(docs, tmp_path / "packed", map_functions.raises, map_version=1)
    assert pack(docs, tmp_path / "packed", map_functions.raises, map_version=1, on_bad_sample="skip").rejected == 6


def out_of_memory(sample):
    if sample["n"] == 250:
        raise sluice.OutOfMemoryError("no memory")
    return map_functions.raises(sample)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("made, reason", [
    (SystemExit(3), "SystemExit: 3"), (MemoryError("big"), "MemoryError: big"), (Unprintable(), "Unprintable: its text cannot be shown (RuntimeError)"),
])  # fmt: skip
def test_whatever_a_function_raises(docs, tmp_path, made, reason):
    def function(sample):
        if sample["n"] == 107:
            raise made
        return sample

    with pytest.raises(sluice.MapError) as caught:
        pack(docs / "1.jsonl", tmp_path / "packed", function)
    error = caught.value
    assert error.reason == reason and json.loads(Path(error.file).read_bytes()[error.offset :].split(b"\n")[0])["n"] == 107
    if isinstance(made, Exception) and not isinstance(made, MemoryError):
        assert pack(docs / "1.jsonl", tmp_path / "packed", function, on_bad_sample="skip").rejected == 1
    else:  # this says nothing of the sample
        with pytest.raises(sluice.MapError):
            pack(docs / "1.jsonl", tmp_path / "packed", function, on_bad_sample="skip")


def test_what_ends_a_worker_names_the_sample(docs, tmp_path):
    with pytest.raises(sluice.MapError, match="KeyboardInterrupt: x") as caught:
        pack(docs / "1.jsonl", tmp_path / "packed", map_functions.interrupts, processes=2)
    assert json.loads(Path(caught.value.file).read_bytes()[caught.value.offset :].split(b"\n")[0])["n"] == 150


def test_reasons_that_are_not_unicode(docs, tmp_path):
    def function(sample):
        if sample["n"] == 5:
            raise ValueError("a\ud800\t\\\udc80")
        return {"n": sample["n"]}

    pack(docs / "0.jsonl", tmp_path / "packed", function, on_bad_sample="skip")
    with pytest.raises(sluice.MapError, match=r"ValueError: a\\uD800\t\\\\uDC80") as caught:
        pack(docs / "0.jsonl", tmp_path / "fails", function)
    assert str(caught.value).encode("utf-8") and caught.value.traceback.encode("utf-8")
    line = (tmp_path / "packed" / "map.rejected.tsv").read_text(encoding="utf-8").splitlines()[1]
    assert line.endswith(r"ValueError: a\uD800\x09\x5C\uDC80")


def test_all_rejected(docs, tmp_path):
    with pytest.raises(sluice.StateError, match="left out all 100 samples: .*, 100 of them rejected, the first: .*0.jsonl:0\t.*ZeroDivisionError"):
        pack(docs / "0.jsonl", tmp_path / "packed", lambda sample: 1 / 0, on_bad_sample="skip")


@pytest.mark.parametrize("name, function, how", [("", map_functions.exits, "exit status 3"), ("1.jsonl", map_functions.crashes, "SIGSEGV")])
def test_a_worker_that_dies(docs, tmp_path, name, function, how):
    with pytest.raises(sluice.MapError, match=how) as caught:
        pack(docs / name, tmp_path / "packed", function, processes=2)
    line = Path(caught.value.file).read_bytes()[caught.value.offset :].split(b"\n")[0]
    assert json.loads(line)["n"] == 150


GARBAGE = [
    ("hello", "returned 'hello': expected a dict"), ([{"n": 1}, 2], "a list with other things in it"), (7.5, "returned 7.5"), ({}, "without fields"),
    ({1: 2}, "names of fields are texts"), ({"x": object()}, "returned object as field 'x'"), ({"x": [1.5]}, "a list of float .*return a numpy array"),
    ({"x": [{}]}, "a list of dict"), ({"x": None}, "no value of field 'x' in the first 100 results"), ({"x": []}, "no value of field 'x'"),
    ({"x": numpy.zeros(3, "complex64")}, "complex64"), (iter([]), "list_iterator"),
]  # fmt: skip


@pytest.mark.parametrize("made, message", GARBAGE)
def test_what_is_no_sample(docs, tmp_path, made, message):
    with pytest.raises(sluice.Error, match=message):
        pack(docs / "0.jsonl", tmp_path / "packed", lambda sample: made)
    with pytest.raises(sluice.Error):
        pack(docs / "0.jsonl", tmp_path / "packed", lambda sample: made, on_bad_sample="skip")
    assert not (tmp_path / "packed").exists()


@pytest.mark.parametrize("first, later", [
    ({"x": 1}, {"x": "a"}), ({"x": 1}, {"x": 1, "y": 2}), ({"x": "a"}, {"x": 3}), ({"x": [1]}, {"x": [2**31]}), ({"x": [1]}, {"x": [1.5]}),
    ({"x": numpy.zeros((2, 3), "float32")}, {"x": numpy.zeros((2, 4), "float32")}), ({"x": numpy.zeros(2, "int16")}, {"x": numpy.zeros(2, "int32")}),
])  # fmt: skip
def test_a_later_result_of_another_type(docs, tmp_path, first, later):
    def function(sample):
        return later if sample["n"] == 130 else [first, {}] if sample["n"] == 100 else first

    with pytest.raises(sluice.MapError, match="map_fields") as caught:
        pack(docs / "1.jsonl", tmp_path / "packed", function)
    assert json.loads(Path(caught.value.file).read_bytes()[caught.value.offset :].split(b"\n")[0])["n"] == 130
    assert pack(docs / "1.jsonl", tmp_path / "packed", function, on_bad_sample="skip")[1:3] == (100, 1)


def test_a_bad_second_result_takes_the_first_along(docs, tmp_path):
    calls = []

    def function(sample):
        calls.append(sample["n"])
        return [{"n": sample["n"]}, {"n": "bad" if sample["n"] % 40 == 11 else -sample["n"]}]

    made = pack(docs, tmp_path / "packed", function, on_bad_sample="skip")
    assert (made.mapped, made.samples, made.rejected) == (300, 584, 8)
    assert {abs(n) for n in numbers(tmp_path / "packed")} == {n for n in range(300) if n % 40 != 11}
    assert len(calls) <= 601  # a chunk is made again once, however many of its samples are bad


def test_types_of_fields(docs, tmp_path):
    def function(sample):
        n = sample["n"]
        return {
            "text": sample["text"], "raw": bytes([n % 256]), "whole": n, "real": n / 2, "ids": (n, n + 1) if n else [], "late": None if n < 9 else n,
            "array": numpy.full((n % 3, 2), n, "float32"), "scalar": numpy.int64(n), "picture": Image.new("RGB", (3, 2), (n % 256, 0, 0)),
        }  # fmt: skip

    pack(docs, tmp_path / "packed", function, keep_order=True)
    data = sluice.Dataset(tmp_path / "packed")
    kinds = {name: field.type for name, field in data.fields.items()}
    assert kinds == {"text": "text", "raw": "bytes", "whole": "int", "real": "float", "ids": "tensor", "late": "int", "array": "tensor",
                     "scalar": "int", "picture": "image"}  # fmt: skip
    assert data.fields["array"][1:] == ("tensor", "float32", (0, 2)) and data.fields["ids"][2:] == ("int32", (0,))
    assert [data[i]["late"] for i in (0, 9)] == [None, 9] and data[77]["ids"].tolist() == [77, 78] and data[77]["array"].tolist() == [[77, 77]] * 2
    assert data.decode(5).tolist() == [[[5, 0, 0]] * 3] * 2 and data[77]["scalar"] == 77
    fields = {"tokens": ("tensor", "uint16", (0,)), "n": "float"}
    pack(docs, tmp_path / "given", lambda sample: {"tokens": list(sample["text"].encode()), "n": sample["n"]}, map_fields=fields)
    assert {name: field[1:] for name, field in sluice.Dataset(tmp_path / "given").fields.items()} == {
        "tokens": ("tensor", "uint16", (0,)), "n": ("float", "float64", ()),
    }  # fmt: skip
    pack(docs / "0.jsonl", tmp_path / "self", lambda sample: {"self": sample["n"]})
    assert list(sluice.Dataset(tmp_path / "self").fields) == ["self"]
    for wrong in ({}, {"n": "imt"}, 5):
        with pytest.raises((ValueError, TypeError)):
            pack(docs, tmp_path / "x", map_functions.tokens, map_fields=wrong)


def test_pictures_of_a_dataset(photos, tmp_path):
    """Fields that come from the source keep what they mean; the packer's options are those of any pack."""
    data = sluice.Dataset(photos)
    for name, options in (("same", {}), ("pixels", {"raw": True}), ("small", {"max_side": 32}), ("zstd", {"zstd": 3, "keep_bytes": True})):
        pack(data, tmp_path / name, dict, keep_order=True, **options)
        sluice.pack(data, tmp_path / f"{name}.plain", keep_order=True, progress=None, **options)
        made, plain = sluice.Dataset(tmp_path / name), sluice.Dataset(tmp_path / f"{name}.plain")
        assert made.classes == plain.classes == data.classes and made.fields == plain.fields
        assert [field.meaning for field in made.fields.values()] == [field.meaning for field in plain.fields.values()]
        assert all(made[i] == plain[i] for i in range(len(data)))


def smaller(sample):
    picture, file = Image.open(io.BytesIO(sample["image"])).resize((8, 8)), io.BytesIO()
    picture.save(file, "png")
    return {"image": file.getvalue(), "label": sample["label"]}


def test_pictures_made_by_the_function(photos, tmp_path):
    pack(sluice.Dataset(photos), tmp_path / "packed", smaller)
    data = sluice.Dataset(tmp_path / "packed")
    assert list(data.fields) == ["image", "label"] and data.decode(0).shape == (8, 8, 3) and len(data) == 33
    victim = tmp_path / "photos" / "a" / "bad.jpg"
    victim.parent.mkdir(parents=True)
    victim.write_bytes(b"\xff\xd8\xff no picture")
    (victim.parent / "good.jpg").write_bytes(next(photos.rglob("*.jpg")).read_bytes())
    with pytest.raises(sluice.MapError) as caught:
        pack(sluice.Dataset(victim.parents[1]), tmp_path / "bad", smaller)
    assert caught.value.file == str(victim) and caught.value.sample == 0 and "UnidentifiedImageError" in caught.value.reason
    made = pack(sluice.Dataset(victim.parents[1]), tmp_path / "bad", smaller, on_bad_sample="skip")
    assert (made.samples, made.rejected) == (1, 1)
    heading, line = (tmp_path / "bad" / "map.rejected.tsv").read_text().splitlines()
    assert heading == "key\tstatus\toffset\treason" and line.startswith("a/bad.jpg\tinvalid\t0\tUnidentifiedImageError")


def fields_packed(tmp_path, fields, rows):
    with sluice.Writer(tmp_path / "source", fields, keep_bytes=True) as writer:
        for row in rows:
            writer.add(**row)
    return sluice.Dataset(tmp_path / "source")


def test_damaged_records_are_rejected(tmp_path):
    data = fields_packed(tmp_path, {"x": "bytes"}, [{"x": bytes([n]) * 5000} for n in range(20)])
    place = data.sample(7)
    with open(place["file"], "r+b") as file:
        file.seek(place["offset"])
        file.write(b"\xff" * 12)
    made = pack(data, tmp_path / "packed", dict, on_bad_sample="skip")
    assert (made.mapped, made.samples, made.rejected) == (20, 19, 1)
    key, status, offset, _ = (tmp_path / "packed" / "map.rejected.tsv").read_text().splitlines()[1].split("\t")
    assert (key, status) == ("7", "corrupt") and int(offset) >= 0
    with pytest.raises(sluice.CorruptError) as caught:
        pack(data, tmp_path / "fail", dict)
    assert caught.value.file == place["file"] and caught.value.sample == 7


def test_tensors_of_half_precision_are_kept(tmp_path):
    fields = {"half": ("tensor", "float16", (3,)), "brain": ("tensor", "bfloat16", (0,)), "raw": "bytes"}
    data = fields_packed(tmp_path, fields, [{"half": numpy.ones(3, "f2"), "brain": numpy.array([16256] * n, "u2"), "raw": b"x"} for n in (0, 2, 1)])
    pack(data, tmp_path / "packed", lambda sample: {**sample, "n": 1}, keep_order=True)
    made = sluice.Dataset(tmp_path / "packed")
    assert {name: made.fields[name] for name in fields} == data.fields
    assert [{name: made[i][name] for name in fields} for i in range(3)] == list(data)


def test_objects_are_loaded_once_a_process(docs, tmp_path):
    function = map_functions.Loaded("words")
    pack(docs / "0.jsonl", tmp_path / "packed", function, processes=2)
    assert function.calls == 0 and sluice.Dataset(tmp_path / "packed")[0]["name"] == "words"


def test_what_cannot_be_sent(docs, tmp_path):
    for function in (lambda sample: sample, lambda sample: {"n": 1}):
        with pytest.raises(TypeError, match="top of a module, or write processes=1"):
            pack(docs, tmp_path / "packed", function, processes=2)
    with pytest.raises(sluice.MapError, match="cannot be loaded in a worker process: ValueError"):
        pack(docs / "0.jsonl", tmp_path / "packed", map_functions.Sticky(), processes=2)


def test_a_program_without_its_guard(docs, tmp_path):
    name = tmp_path / "program.py"
    name.write_text(f"import sluice, map_functions\nsluice.pack(sluice.JsonLines({str(docs)!r}), {str(tmp_path / 'p')!r}, "
                    "map=map_functions.tokens, processes=2)\n")  # fmt: skip
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(map_functions.__file__).parent), *filter(None, sys.path)])}
    ended = subprocess.run([sys.executable, name], env=environment, capture_output=True, text=True, timeout=120)
    assert "called while a worker process imported the program" in ended.stderr
    assert ended.returncode == 1 and 'needs the line if __name__ == "__main__":' in ended.stderr.splitlines()[-1]


def test_another_call_is_refused(docs, tmp_path):
    def first(sample):
        if sample["n"] == 200:
            raise ZeroDivisionError
        return sample

    def failing(function, **options):
        with pytest.raises((sluice.Error, ValueError, TypeError)) as caught:
            pack(docs, tmp_path / "packed", function, **options)
        return str(caught.value)

    assert "ZeroDivisionError" in failing(first)
    assert "the function differs" in failing(map_functions.tokens)
    assert "map_fields differs" in failing(first, map_fields={"n": "int"})
    changed = types.FunctionType(map_functions.some.__code__, {}, "first")
    changed.__qualname__ = first.__qualname__
    assert "the text of the function differs" in failing(changed)
    assert "map_version differs" in failing(first, map_version=2)
    assert pack(docs, tmp_path / "packed", map_functions.tokens, map_version=3, overwrite=True).samples == 300
    assert "seed= differs" in failing(map_functions.tokens, map_version=3, seed=5)
    assert "map_version differs (3 there, 4 now)" in failing(map_functions.tokens, map_version=4)
    assert "holds another dataset" in failing_over_plain(docs, tmp_path)
    assert "not empty: it holds 'notes'" in failing_over(tmp_path, docs, "notes")


def times(sample, number, words=frozenset("abc")):
    return {"n": sample["n"] * number}


def bound(number):
    """Functions that differ by a value only."""
    def inner(sample, by=number):
        return times(sample, by)

    def enclosed(sample):
        return inner(sample, number)

    def enclosing(sample):
        return enclosed(sample)

    made = {}
    exec(f"def executed(sample): return {{'n': sample['n'] * {number}}}", made)
    return {
        "partial": functools.partial(times, number=number), "nested": functools.partial(functools.partial(times, words={number}), number=1),
        "array": functools.partial(times, number=1, words=numpy.array([number])), "default": inner, "enclosed": enclosed,
        "enclosing": enclosing, "exec": made["executed"], "object": functools.partial(times, number=1, words=types.SimpleNamespace(n={number: re.compile("x")})),
        "recursive": recursive(number), "lambda": (lambda sample: times(sample, 1)) if number == 1 else (lambda sample: times(sample, 2)),
    }  # fmt: skip


def recursive(number):
    def function(sample, depth=3):
        return function(sample, depth - 1) if depth else times(sample, number)

    return function


@pytest.mark.parametrize("name", bound(1))
def test_bound_values_count(docs, tmp_path, name):
    identity = sluice._map_identity.identity_of
    first, second = bound(1)[name], bound(2)[name]
    assert identity(first, None) == identity(bound(1)[name], None) != identity(second, None)
    if name in ("partial", "enclosed", "exec"):
        pack(docs / "0.jsonl", tmp_path / "packed", first)
        assert pack(docs / "0.jsonl", tmp_path / "packed", bound(1)[name]).was_complete
        with pytest.raises(sluice.StateError, match="text of the function differs" if name == "exec" else "bound to the function .* differs"):
            pack(docs / "0.jsonl", tmp_path / "packed", second)


def test_identity_in_another_process():
    """Sets of texts have another order there."""
    code = ("import functools, map_functions, sluice._map_identity as i\n"
            "print(i.identity_of(functools.partial(map_functions.tokens, words=set('abcdefgh')), None)['bound'])")  # fmt: skip
    path = os.pathsep.join([str(Path(map_functions.__file__).parent), *filter(None, sys.path)])
    there = subprocess.check_output([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "1"}, text=True)
    here = functools.partial(map_functions.tokens, words=set("hgfedcba"))
    assert there.strip() == sluice._map_identity.identity_of(here, None)["bound"]


def test_bound_values_that_cannot_be_compared(docs, tmp_path):
    lock = threading.Lock()

    def function(sample):
        with lock:
            return sample

    with pytest.raises(TypeError, match="function: a value that is bound to it cannot be compared by a later run .*lock.*map_version"):
        pack(docs / "0.jsonl", tmp_path / "packed", function)
    assert pack(docs / "0.jsonl", tmp_path / "packed", function, map_version=1).samples == 100


def failing_over_plain(docs, tmp_path):
    with sluice.Writer(tmp_path / "plain", {"x": "int"}) as writer:
        writer.add(x=1)
    with pytest.raises(sluice.StateError) as caught:
        pack(docs, tmp_path / "plain", map_functions.tokens)
    return str(caught.value)


def failing_over(tmp_path, docs, name):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / name).write_text("x")
    with pytest.raises(sluice.StateError) as caught:
        pack(docs, tmp_path / "other", map_functions.tokens)
    return str(caught.value)


def test_a_source_that_changes(docs, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for file in docs.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    with pytest.raises(sluice.MapError, match="OutOfMemoryError"):
        pack(folder, tmp_path / "packed", out_of_memory, on_bad_sample="skip")
    with open(folder / "2.jsonl", "a") as file:
        file.write('\n{"n": 300, "text": ""}')
    with pytest.raises(sluice.StateError, match="the source differs"):
        pack(folder, tmp_path / "packed", out_of_memory, on_bad_sample="skip")


@pytest.mark.parametrize("packed", (False, True))
@pytest.mark.parametrize("replaced", (False, True))
def test_a_source_that_changes_meanwhile(docs, tmp_path, packed, replaced):
    source = tmp_path / ("docs.jsonl.gz" if packed else "docs.jsonl")
    text = b"".join(b'{"n": %d}\n' % n for n in range(3000))
    source.write_bytes(gzip.compress(text) if packed else text)
    other = gzip.compress(text[: len(text) // 2]) if packed else text.replace(b"7", b"8")

    def function(sample):
        if sample["n"] == 10 and replaced:
            (tmp_path / "new").write_bytes(other)
            (tmp_path / "new").rename(source)
        elif sample["n"] == 10:
            os.utime(source, (0, 0))
        return sample

    if packed and replaced:  # one chunk: what was opened is read to its end
        assert pack(source, tmp_path / "packed", function, map_fields={"n": "int"}).samples == 3000
        return
    with pytest.raises(sluice.IOError, match="docs.jsonl.*changed after it was opened"):
        pack(source, tmp_path / "packed", function)
    assert not (tmp_path / "packed").exists()


def test_overwrite_removes_what_a_map_left(docs, photos, tmp_path):
    pack(docs, tmp_path / "packed", map_functions.raises, on_bad_sample="skip")
    assert {"map.json", "map.rejected.tsv"} <= set(os.listdir(tmp_path / "packed"))
    sluice.pack(photos, tmp_path / "packed", overwrite=True, progress=None)
    assert not {"map.json", "map.rejected.tsv"} & set(os.listdir(tmp_path / "packed"))


def doubled(sample):
    return {"n": 2 * sample["n"]}


def test_overwrite_takes_the_lock(docs, tmp_path):
    """No call disturbs one that runs: not one with overwrite=True, nor one that finds the dataset of before."""
    messages = []

    def calls_another(sample):
        if sample["n"] == 150 and not messages:
            messages.append("")
            for options in ({}, {"overwrite": True}):
                with pytest.raises(sluice.StateError, match="another process is packing to this path"):
                    pack(docs, tmp_path / "packed", calls_another, map_version=2, **options)
            messages.append(pack(docs, tmp_path / "packed", map_functions.tokens, map_version=1).was_complete)
        return doubled(sample)

    pack(docs, tmp_path / "packed", map_functions.tokens, map_version=1)
    made = pack(docs, tmp_path / "packed", calls_another, map_version=2, overwrite=True)
    assert messages == ["", True] and made.samples == DOCS and numbers(tmp_path / "packed") == [2 * n for n in range(DOCS)]
    assert os.listdir(tmp_path) == ["packed"]


def test_overwrite_is_continued_without_it(docs, tmp_path):
    last, calls = [150], []

    def function(sample):
        if sample["n"] == last[0]:
            raise KeyboardInterrupt
        calls.append(sample["n"])
        return doubled(sample)

    pack(docs, tmp_path / "packed", map_functions.tokens, map_version=1)
    with pytest.raises(KeyboardInterrupt):
        pack(docs, tmp_path / "packed", function, map_version=2, overwrite=True)
    assert pack(docs, tmp_path / "packed", map_functions.tokens, map_version=1).was_complete and (tmp_path / "packed.map").exists()
    last[0] = None
    assert pack(docs, tmp_path / "packed", function, map_version=2).samples == DOCS and len(calls) < 400
    assert numbers(tmp_path / "packed") == [2 * n for n in range(DOCS)] and os.listdir(tmp_path) == ["packed"]
    assert pack(docs, tmp_path / "packed", function, map_version=2).was_complete


@pytest.mark.parametrize("name, text", [("notes", "x"), ("map.json", "[1]"), ("000001", "frames")])
def test_folders_of_others_stay(docs, tmp_path, name, text):
    other = tmp_path / "packed.map"
    other.mkdir()
    (other / name).write_text(text)
    for overwrite in (False, True):
        with pytest.raises(sluice.StateError, match="not one of sluice.pack"):
            pack(docs, tmp_path / "packed", doubled, overwrite=overwrite)
    other.rename(tmp_path / "away")
    pack(docs, tmp_path / "packed", doubled)
    (tmp_path / "away").rename(other)
    assert pack(docs, tmp_path / "packed", doubled).was_complete and os.listdir(other) == [name]


@pytest.mark.parametrize("name", ("map.json.part-0-of-1.host-1.tmp", "000003", "000003.0123.tmp", "slots.part-0-of-1.host-1"))
def test_folders_that_a_killed_run_left(docs, tmp_path, name):
    left = tmp_path / "packed.map"
    left.mkdir()
    (left / "all.lock").write_text("")
    if name.startswith("0"):
        (left / name).mkdir()
    else:
        (left / name).write_text("{}")
    pack(docs / "0.jsonl", tmp_path / "packed", doubled)
    assert os.listdir(tmp_path) == ["packed"]


def test_a_file_system_without_hard_links(docs, tmp_path, monkeypatch):
    def link(*names):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    for part in range(2):
        made = pack(docs / "0.jsonl", tmp_path / "packed", doubled, part=(part, 2))
    assert made.samples == 100 and os.listdir(tmp_path) == ["packed"]


@pytest.mark.parametrize("at", (1, 4, 6, 9))
def test_killed_while_the_folder_is_removed(docs, tmp_path, monkeypatch, at):
    """After any number of removals, the same call and others find a folder that they take."""
    calls = []

    def stops(real):
        def function(*arguments, **options):
            if str(arguments[0]).startswith(str(tmp_path / "packed.map")):
                calls.append(arguments)
                if len(calls) == at:
                    raise KeyboardInterrupt
            return real(*arguments, **options)

        return function

    with monkeypatch.context() as patch:
        patch.setattr(sluice._map_folder.Folder, "remove", lambda self: None)  # at the end of the run
        pack(docs / "0.jsonl", tmp_path / "packed", doubled)
    with monkeypatch.context() as patch:
        for module, name in ((os, "remove"), (os, "rename"), (os, "rmdir"), (sluice._map_folder.shutil, "rmtree")):
            patch.setattr(module, name, stops(getattr(module, name)))
        with pytest.raises(KeyboardInterrupt):
            pack(docs / "0.jsonl", tmp_path / "packed", doubled)
    if at % 2:
        assert pack(docs / "0.jsonl", tmp_path / "packed", doubled).was_complete
    else:
        pack(docs / "0.jsonl", tmp_path / "packed", map_functions.tokens, overwrite=True)
    assert os.listdir(tmp_path) == ["packed"]


def test_another_part_is_faster(docs, tmp_path, monkeypatch):
    """It finishes, and removes the chunks, after this one made its own."""
    pack(docs / "0.jsonl", tmp_path / "packed", doubled, part=(0, 2))
    real = sluice._map_pack._map

    def slow(*arguments):
        real(*arguments)
        monkeypatch.setattr(sluice._map_pack, "_map", real)
        assert pack(docs / "0.jsonl", tmp_path / "packed", doubled, part=(0, 2)).complete

    monkeypatch.setattr(sluice._map_pack, "_map", slow)
    made = pack(docs / "0.jsonl", tmp_path / "packed", doubled, part=(1, 2))
    assert made.complete and made.was_complete and made.samples == 100 and os.listdir(tmp_path) == ["packed"]


def test_parts_count_as_one_call(docs, tmp_path):
    def large(sample):
        return {"x": random.Random(sample["n"]).randbytes(100 + 250 * sample["n"])}

    options = {"shard_bytes": 1 << 20, "max_sample_bytes": 20000, "on_bad_sample": "skip", "zstd": "off"}
    made = pack(docs / "0.jsonl", tmp_path / "one", large, **options)
    for part in range(2):
        last = pack(docs / "0.jsonl", tmp_path / "parts", large, part=(part, 2), **options)
    assert made.shards > 1 and made.rejected > 1 and last._replace(path=made.path) == made
    assert (tmp_path / "one" / "map.json").read_text() == (tmp_path / "parts" / "map.json").read_text()


def test_options_are_checked_before_the_function_is_called(docs, tmp_path):
    def never(sample):
        raise AssertionError

    for options, message in (({"zstd": 77}, "zstd is 77"), ({"shard_bytes": 5}, "shard_bytes"), ({"quality": 50}, "max_side"), ({"raw_share": 2.0}, "raw_share")):
        with pytest.raises(sluice.InvalidError, match=message):
            pack(docs, tmp_path / "packed", never, **options)
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("gone")
    for name in ("file", "dangling"):
        for overwrite in (False, True):
            with pytest.raises(sluice.StateError, match="not a folder"):
                pack(docs, tmp_path / name, never, overwrite=overwrite)
    assert sorted(os.listdir(tmp_path)) == ["dangling", "file"]


def test_the_function_changes_the_working_folder(docs, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def function(sample):
        os.chdir(tmp_path / "elsewhere")
        return sample

    pack(docs, "packed", function)
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "packed"] and os.listdir(tmp_path / "elsewhere") == []


def test_arguments(docs, photos, tmp_path):
    for options, message in (
        ({"append": True}, "append and labels"), ({"labels": "union"}, "append and labels"), ({"overwrite": True, "part": (0, 2)}, "not with part"),
        ({"processes": 0}, "processes=0"), ({"processes": 2.5}, "processes=2.5"), ({"map_version": 1.5}, "map_version=1.5"), ({"zstd": 50}, "zstd"),
    ):  # fmt: skip
        with pytest.raises((sluice.Error, ValueError, TypeError), match=message):
            pack(docs, tmp_path / "packed", map_functions.tokens, **options)
    for options in ({"processes": 2}, {"map_version": 1}, {"map_fields": {"n": "int"}}):
        with pytest.raises(sluice.InvalidError, match="only with map="):
            sluice.pack(photos, tmp_path / "packed", **options)
    with pytest.raises(sluice.InvalidError, match="only with map="):
        sluice.pack(sluice.JsonLines(docs), tmp_path / "packed")
    with pytest.raises(TypeError, match="map=5"):
        pack(docs, tmp_path / "packed", 5)
    with pytest.raises(sluice.Error, match="write sluice.JsonLines"):
        sluice.pack(str(docs / "0.jsonl"), tmp_path / "packed", map=map_functions.tokens)
    assert not (tmp_path / "packed").exists()


def test_progress(docs, tmp_path):
    calls = []
    sluice.pack(sluice.JsonLines(docs), tmp_path / "packed", map=map_functions.tokens, progress=lambda done, total: calls.append((done, total)))
    size = sum(file.stat().st_size for file in docs.iterdir())
    first = [done for done, total in calls if total == size]
    assert first == sorted(first) and first[-1] == size and calls[-1] == (300, 300)


# ---- lines of JSON ----


def read_all(source):
    return [(place, sample, error) for chunk in source.chunks() for place, _, sample, error in source.read(chunk)]


def test_lines_whatever_the_chunks(tmp_path, monkeypatch):
    """Each line once, in order, wherever chunks are cut: with blank lines, CRLF, a BOM, no newline at the end, empty files."""
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
    """Few samples give work to 32 processes; many, chunks of a thousandth; and the last one is not longer than the others."""
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
