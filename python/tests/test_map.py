# SPDX-License-Identifier: Apache-2.0
"""sluice.pack(map=function, processes=n): the same bytes for any n, the functions' results, and no losses."""
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
from PIL import Image

import map_functions
from map_rig import DOCS, digest, docs, numbers, out_of_memory, pack, program, small_chunks, whole  # noqa: F401
import sluice
import sluice._map_pack


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
    """Each part finds the chunks made by all of them."""

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
        assert killed.wait(600) == -signal.SIGKILL, (chosen, killed.communicate())
    ended = program(*arguments, 2, DEATHS=str(deaths))
    assert ended.communicate(timeout=600)[0] == "300 300 False\n", chosen
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
        _, errors = packing.communicate(timeout=600)
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
    with pytest.raises(sluice.Error):  # made chunks with rejected samples, and then failed with an error that is not skipped
        pack(docs, tmp_path / "packed", out_of_memory, map_version=1, on_bad_sample="skip")
    with pytest.raises(sluice.CorruptError, match="rejected by an earlier run"):
        pack(docs, tmp_path / "packed", map_functions.raises, map_version=1)
    assert pack(docs, tmp_path / "packed", map_functions.raises, map_version=1, on_bad_sample="skip").rejected == 6


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
    else:  # an error that is not about the sample
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
    ("hello", "returned 'hello': expected a dict"), ([{"n": 1}, 2], "a list of other values"), (7.5, "returned 7.5"), ({}, "without fields"),
    ({1: 2}, "names of fields must be str"), ({"x": object()}, "returned object as field 'x'"), ({"x": [1.5]}, "a list of float .*return a numpy array"),
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
    assert len(calls) <= 601  # a chunk is remade once, regardless of its number of bad samples


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
    """Fields from the source keep their meaning; the packer's options are those of any pack."""
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
    ended = subprocess.run([sys.executable, name], env=environment, capture_output=True, text=True, timeout=600)
    assert "called while a worker process imported the program" in ended.stderr
    assert ended.returncode == 1 and 'needs the line if __name__ == "__main__":' in ended.stderr.splitlines()[-1]
