# SPDX-License-Identifier: Apache-2.0
"""Lists that name files outside their folder: an error, unless allowed; also in loaders and packs."""
import csv
import io
import json
import os
import tarfile

import arrows
import litdata_files as lit
import mds_files as mds
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

ADVICE = "allow_outside=True allows that"


def jpeg(number=0):
    made = io.BytesIO()
    Image.new("RGB", (24, 16), (9 * number, 80, 160)).save(made, "JPEG")
    return made.getvalue()


def make_tar(folder):
    with tarfile.open(folder / "a.tar", "w") as archive:
        for number in range(3):
            member = tarfile.TarInfo(f"{number}.jpg")
            member.size = len(jpeg(number))
            archive.addfile(member, io.BytesIO(jpeg(number)))
    (folder / "index.json").write_text(json.dumps({"wids_version": 1, "shardlist": [{"url": "a.tar", "nsamples": 3}]}))
    return "index.json", "a.tar"


def make_mds(folder):
    mds.write(folder, {"n": "int"}, [{"n": number} for number in range(3)])
    return "index.json", json.loads((folder / "index.json").read_text())["shards"][0]["raw_data"]["basename"]


def make_litdata(folder):
    lit.write(folder, ["int"], [[number] for number in range(3)])
    return "index.json", json.loads((folder / "index.json").read_text())["chunks"][0]["filename"]


def make_arrow(folder):
    arrows.save_to_disk(folder, {"n": arrows.Column("int64", [1, 2, 3])}, {"n": "int64"}, shards=1)
    return "state.json", "data-00000-of-00001.arrow"


MAKERS = {"wids": make_tar, "mds": make_mds, "litdata": make_litdata, "arrow": make_arrow}


class Listed:
    """A folder `set` with a list, and `away` beside it, which can hold its file."""

    def __init__(self, root, kind):
        self.folder, self.away = root / "set", root / "away"
        self.folder.mkdir()
        self.away.mkdir()
        self.list, self.file = MAKERS[kind](self.folder)
        self.text = (self.folder / self.list).read_text()
        self.path = self.folder if kind == "arrow" else self.folder / self.list

    def name(self, name):
        (self.folder / self.list).write_text(self.text.replace(json.dumps(self.file), json.dumps(str(name))))

    def opens(self, path=None, **options):
        data = sluice.Dataset(path or self.path, **options)
        assert len(data) == 3 and data[2]

    def refuses(self, words, path=None):
        with pytest.raises(sluice.InvalidError, match=f"{self.list}.*{words}.*{ADVICE}"):
            sluice.Dataset(path or self.path)
        self.opens(path, allow_outside=True)


@pytest.fixture(params=MAKERS)
def listed(request, tmp_path):
    made = Listed(tmp_path, request.param)
    made.kind = request.param
    made.opens()
    return made


def test_names(listed):
    if listed.kind != "arrow":  # its files are beside the list
        (listed.folder / "sub").mkdir()
        for name in (f"sub/../{listed.file}", f"./{listed.file}", listed.folder / listed.file):
            listed.name(name)
            listed.opens()
    (listed.folder / listed.file).rename(listed.away / listed.file)
    (listed.folder / "other.arrow").write_bytes(b"")  # without it, the folder is not an Arrow dataset
    for name in (f"../away/{listed.file}", listed.away / listed.file, listed.folder / f"../away/{listed.file}"):
        listed.name(name)
        listed.refuses(f"away/{listed.file}.*(outside|is not beside)")


def test_links(listed):
    (listed.folder.parent / "other").symlink_to("set")
    listed.opens(listed.folder.parent / "other" / listed.path.relative_to(listed.folder))
    (listed.folder / listed.file).rename(listed.folder / "beside")
    (listed.folder / listed.file).symlink_to("beside")
    listed.opens()
    (listed.folder / "beside").rename(listed.away / listed.file)
    (listed.folder / listed.file).unlink()
    (listed.folder / listed.file).symlink_to(listed.away / listed.file)
    listed.refuses("leads outside")


def test_a_cache_of_the_hub(listed):
    """All its files are links to blobs beside the snapshots."""
    root = listed.folder.parent / "datasets--a--b"
    snapshot = root / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (root / "blobs").mkdir()
    for number, path in enumerate(sorted(listed.folder.iterdir())):
        path.rename(root / "blobs" / str(number))
        (snapshot / path.name).symlink_to(f"../../blobs/{number}")
    where = snapshot / listed.path.relative_to(listed.folder)
    listed.opens(where)
    target = snapshot / os.readlink(snapshot / listed.file)
    target.rename(root / "elsewhere")
    (snapshot / listed.file).unlink()
    (snapshot / listed.file).symlink_to("../../elsewhere")
    listed.refuses("leads outside", where)


def test_bases_of_lists_of_archives(tmp_path):
    made = Listed(tmp_path, "wids")
    (made.folder / "x").mkdir()
    (made.folder / made.file).rename(made.away / made.file)
    shards = [{"url": "a.tar", "nsamples": 3}]
    for changes in ({"base": "../away"}, {"base": str(made.away)}, {"base": "x/../../away"}):
        for tree in ({"wids_version": 1, "shardlist": shards, **changes},
                     {"wids_version": 1, "datasets": [{"shardlist": shards, **changes}]}):  # fmt: skip
            (made.folder / made.list).write_text(json.dumps(tree))
            made.refuses("archive 0: .*a.tar.* outside")


# ---- images ----


@pytest.fixture
def table(tmp_path):
    """Writes twelve images; the eighth is a link out of the folder."""
    folder = tmp_path / "set"
    (folder / "pics").mkdir(parents=True)
    with open(folder / "a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "n"])
        for number in range(12):
            path = folder / "pics" / f"{number}.jpg"
            path.write_bytes(jpeg(number))
            writer.writerow([f"pics/{number}.jpg", number])
    path = folder / "pics" / "7.jpg"
    path.rename(tmp_path / "secret.jpg")
    path.symlink_to("../../secret.jpg")
    return folder / "a.csv"


def load(data, **options):
    return sluice.Loader(data, batch_size=4, transform=[T.Resize(8), T.CenterCrop(8)], shuffle=False, **options)


@pytest.mark.parametrize("page_cache", ["auto", "buffered", "drop", "direct"])
@pytest.mark.parametrize("joined", [False, True])
def test_loaders(table, page_cache, joined):
    data = sluice.Dataset(table)
    data = data + sluice.Dataset(table) if joined else data
    with pytest.raises(sluice.UnsupportedError, match=f"pics/7.jpg.*leads outside.*{ADVICE}"):
        list(load(data, page_cache=page_cache))
    loader = load(data, page_cache=page_cache, on_bad_sample="mask")
    found = [bool(row) for batch in loader for row in batch["mask"]]
    assert found == [number % 12 != 7 for number in range(len(data))]
    data = sluice.Dataset(table, allow_outside=True)
    data = data + data if joined else data
    assert sum(len(batch["index"]) for batch in load(data, page_cache=page_cache)) == len(data)


def test_packs(table, tmp_path):
    with pytest.raises(sluice.UnsupportedError, match=f"pics/7.jpg.*{ADVICE}"):
        sluice.pack(table, tmp_path / "a", progress=None)
    result = sluice.pack(table, tmp_path / "b", on_bad_sample="skip", progress=None)
    assert result.samples == 11 and "pics/7.jpg" in (tmp_path / "b" / "rejected.tsv").read_text()
    data = sluice.Dataset(table, allow_outside=True)
    assert sluice.pack(data, tmp_path / "c", progress=None).samples == 12
    findings = sluice.Dataset(table).verify(progress=None)[2]
    assert len(findings) == 1 and "allow_outside" in str(findings[0])
