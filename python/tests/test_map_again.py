# SPDX-License-Identifier: Apache-2.0
"""sluice.pack(map=) called again: which call resumes, which fails, and the content of its folder meanwhile."""
import functools
import gzip
import os
import random
import re
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy
import pytest

import map_functions
from map_rig import DOCS, docs, numbers, out_of_memory, pack, small_chunks  # noqa: F401
import sluice
import sluice._map_folder
import sluice._map_identity
import sluice._map_pack


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
    assert "the source of the function differs" in failing(changed)
    assert "map_version differs" in failing(first, map_version=2)
    assert pack(docs, tmp_path / "packed", map_functions.tokens, map_version=3, overwrite=True).samples == 300
    assert "seed= differs" in failing(map_functions.tokens, map_version=3, seed=5)
    assert "map_version differs (3 there, 4 now)" in failing(map_functions.tokens, map_version=4)
    assert "holds another dataset" in failing_over_plain(docs, tmp_path)
    assert "not empty: it holds 'notes'" in failing_over(tmp_path, docs, "notes")


def times(sample, number, words=frozenset("abc")):
    return {"n": sample["n"] * number}


def bound(number):
    """Returns functions that differ only in a value."""
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
        with pytest.raises(sluice.StateError, match="source of the function differs" if name == "exec" else "bound to the function .* differs"):
            pack(docs / "0.jsonl", tmp_path / "packed", second)


def test_identity_in_another_process():
    """Sets of texts have another order in it."""
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

    if packed and replaced:  # one chunk: the opened dataset is read to its end
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
    """No call disturbs a running one: neither one with overwrite=True, nor one that finds the previous dataset."""
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


def interrupted(docs, path, **options):
    """Runs until an interrupt in the first or last third. Returns the same function, which resumes, and the list of its calls."""
    last, calls = [250], []

    def function(sample):
        if sample["n"] == last[0]:
            raise KeyboardInterrupt
        calls.append(sample["n"])
        return doubled(sample)

    with pytest.raises(KeyboardInterrupt):
        pack(docs, path, function, map_version=2, **options)
    last[0] = None
    assert 200 < len(calls) < 300
    calls.clear()
    return function, calls


@pytest.mark.parametrize("before, first", ((None, False), (None, True), (1, True), (2, True)))
def test_overwrite_goes_on(docs, tmp_path, before, first):
    """Resumes an interrupted run of the same call, over no dataset, over another one, and over a dataset of this very call."""
    if before is not None:
        pack(docs, tmp_path / "packed", map_functions.tokens, map_version=before)
    function, calls = interrupted(docs, tmp_path / "packed", overwrite=first)
    made = pack(docs, tmp_path / "packed", function, map_version=2, overwrite=True)
    assert made.samples == DOCS and not made.was_complete and 50 < len(calls) < 200
    assert numbers(tmp_path / "packed") == [2 * n for n in range(DOCS)] and os.listdir(tmp_path) == ["packed"]
    calls.clear()
    assert not pack(docs, tmp_path / "packed", function, map_version=2, overwrite=True).was_complete
    assert len(calls) >= DOCS  # finished: it starts over


def test_overwrite_starts_over(docs, tmp_path):
    """It starts over if another function made the chunks, or if the run that made them has finished the dataset."""
    function, calls = interrupted(docs, tmp_path / "packed")
    assert pack(docs, tmp_path / "packed", function, map_version=3, overwrite=True).samples == DOCS and len(calls) >= DOCS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sluice._map_folder.Folder, "remove", lambda self: None)  # as if killed at its end
        pack(docs, tmp_path / "packed", function, map_version=2, overwrite=True)
    assert (tmp_path / "packed.map").exists()
    calls.clear()
    assert pack(docs, tmp_path / "packed", function, map_version=2, overwrite=True).samples == DOCS and len(calls) >= DOCS
    assert os.listdir(tmp_path) == ["packed"]


def test_overwrite_continued_after_another_overwrite(docs, tmp_path):
    """Interrupted twice, the second time after a run without overwrite: the old dataset is still replaced."""
    pack(docs, tmp_path / "packed", map_functions.tokens, map_version=1)
    function, calls = interrupted(docs, tmp_path / "packed", overwrite=True)
    again = [True]

    def stops(sample):
        if sample["n"] == 299 and again:
            again.clear()
            raise KeyboardInterrupt
        return function(sample)

    with pytest.raises(KeyboardInterrupt):
        pack(docs, tmp_path / "packed", stops, map_version=2, overwrite=True)
    assert pack(docs, tmp_path / "packed", stops, map_version=2).samples == DOCS
    assert numbers(tmp_path / "packed") == [2 * n for n in range(DOCS)]


def test_overwrite_makes_rejected_samples_again(docs, tmp_path):
    """The code that the function calls was fixed, which pack cannot detect."""
    broken, calls = [True], []

    def function(sample):
        if broken and sample["n"] == 10:
            raise ValueError("broken")
        if broken and sample["n"] == 250:
            raise KeyboardInterrupt
        calls.append(sample["n"])
        return doubled(sample)

    with pytest.raises(KeyboardInterrupt):
        pack(docs, tmp_path / "packed", function, map_version=1, on_bad_sample="skip")
    broken.clear()
    calls.clear()
    with pytest.raises(sluice.CorruptError, match="rejected by an earlier run"):
        pack(docs, tmp_path / "packed", function, map_version=1)
    assert pack(docs, tmp_path / "packed", function, map_version=1, overwrite=True).rejected == 0
    assert numbers(tmp_path / "packed") == [2 * n for n in range(DOCS)] and 10 in calls and 110 not in calls


def test_a_finished_dataset_with_rejected_samples(docs, tmp_path):
    """It does not satisfy a call that fails at a bad sample."""
    def function(sample):
        if sample["n"] in (20, 30):
            raise ValueError("broken")
        return {"x": b"x" * (100 + 2000 * (sample["n"] == 40))}

    assert pack(docs / "0.jsonl", tmp_path / "packed", function, on_bad_sample="skip", max_sample_bytes=1000).rejected == 3
    words = r"packed: the dataset is finished, but an earlier run left out bad samples \(3 of 100\), the first: .*0.jsonl:\d+: ValueError: broken \(in map.rejected.tsv\)"
    with pytest.raises(sluice.CorruptError, match=f"{words}: on_bad_sample='skip' accepts it; to make it again, repair them and write overwrite=True"):
        pack(docs / "0.jsonl", tmp_path / "packed", function, max_sample_bytes=1000)
    assert pack(docs / "0.jsonl", tmp_path / "packed", function, on_bad_sample="skip", max_sample_bytes=1000).was_complete
    with pytest.raises(sluice.MapError, match="broken"):
        pack(docs / "0.jsonl", tmp_path / "packed", function, max_sample_bytes=1000, overwrite=True)
    pack(docs / "1.jsonl", tmp_path / "large", lambda sample: {"x": b"x" * (100 + 2000 * (sample["n"] == 140))}, on_bad_sample="skip", max_sample_bytes=1000, map_version=1)
    with pytest.raises(sluice.CorruptError, match=r"bad samples \(1 of 100\), the first: sample 40: .* \(in rejected.tsv\)"):
        pack(docs / "1.jsonl", tmp_path / "large", doubled, max_sample_bytes=1000, map_version=1)


@pytest.mark.parametrize("name, text", [("notes", "x"), ("map.json", "[1]"), ("000001", "frames")])
def test_folders_of_others_stay(docs, tmp_path, name, text):
    other = tmp_path / "packed.map"
    other.mkdir()
    (other / name).write_text(text)
    for overwrite in (False, True):
        with pytest.raises(sluice.StateError, match="was not made by sluice.pack"):
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
    """After any number of removals, the same call and other calls accept the remaining folder."""
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
    """It finishes, and removes the chunks, after this part has made its own."""
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

    for options, message in (({"zstd": 77}, "zstd=77: expected an integer, -1 to 19"), ({"shard_bytes": 5}, "shard_bytes"), ({"quality": 50}, "max_side"), ({"raw_share": 2.0}, "raw_share")):
        with pytest.raises((sluice.InvalidError, ValueError), match=message):
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
        ({"append": True}, "append and labels"), ({"labels": "union"}, "append and labels"), ({"overwrite": True, "part": (0, 2)}, "does not work with part"),
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
