# SPDX-License-Identifier: Apache-2.0
"""Packing and verifying."""
import hashlib
import io
import shutil

import numpy
import pytest
from PIL import Image, ImageCms
from sanitized import amount

import sluice
from test_process import interrupt


def digest(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_pack_and_read(photos, tmp_path):
    calls = []
    result = sluice.pack(photos, tmp_path / "packed", progress=lambda done, total: calls.append((done, total)))
    assert result.samples == 33 and result.rejected == 0 and result.shards == 1 and not result.was_complete
    assert result.jpegs_retiled + result.jpegs_kept == 33
    assert calls[-1] == (33, 33) and calls == sorted(calls)
    data = sluice.Dataset(tmp_path / "packed")
    keys = sorted(sample["key"] for sample in data)
    assert keys == sorted(str(path.relative_to(photos)) for path in photos.rglob("*.jpg"))
    assert sluice.pack(sluice.Dataset(photos), tmp_path / "packed", progress=None).was_complete
    found = data.verify(decode=True, progress=None)
    assert found.samples == 33 and found.bytes > 0 and found.findings == []


def test_parts(photos, tmp_path):
    sluice.pack(photos, tmp_path / "whole", shard_bytes=1 << 20, seed=5)
    for index in (2, 0, 1):
        made = sluice.pack(photos, tmp_path / "parts", shard_bytes=1 << 20, seed=5, part=(index, 3))
        assert made.complete == (index == 1)
        if index == 0:
            with pytest.raises(sluice.StateError, match="1 is missing: 1"):
                sluice.pack_join(tmp_path / "parts")
            with pytest.raises(sluice.StateError, match="seed="):
                sluice.pack(photos, tmp_path / "parts", shard_bytes=1 << 20, seed=6, part=(1, 3))
    assert digest(tmp_path / "parts") == digest(tmp_path / "whole")
    joined = sluice.pack_join(tmp_path / "parts")
    assert joined.complete and joined.was_complete and joined.samples == 33
    data = sluice.Dataset(tmp_path / "parts")
    assert sum(data.verify(part=(index, 4)).samples for index in range(4)) == 33
    for wrong in ((3, 3), (-1, 2), (0, 0)):
        with pytest.raises(ValueError):
            sluice.pack(photos, tmp_path / "none", part=wrong)
    with pytest.raises(sluice.IOError):
        sluice.pack_join(tmp_path / "none")
    with pytest.raises(sluice.InvalidError, match="overwrite"):
        sluice.pack(photos, tmp_path / "parts", overwrite=True, part=(0, 2))


INDICES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "LSB_JOBINDEX", "SGE_TASK_ID", "PBS_ARRAY_INDEX",
           "PBS_ARRAYID")  # fmt: skip


def job(monkeypatch, **variables):
    """Sets the environment of one array job, without other job variables."""
    for name in INDICES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))


def test_parts_of_an_array(photos, tmp_path, monkeypatch, recwarn):
    for index in (1, 3, 2):
        job(monkeypatch, SGE_TASK_ID=index, SGE_TASK_FIRST=1, SGE_TASK_LAST=3, SGE_TASK_STEPSIZE=1)
        made = sluice.pack(photos, tmp_path / "packed", part="auto", progress=None)
    assert made.complete and made.samples == 11
    job(monkeypatch)
    assert sluice.Dataset(tmp_path / "packed").verify(progress=None).samples == 33
    counts = []
    for index in range(3):
        job(monkeypatch, JOB_COMPLETION_INDEX=index)
        counts.append(sluice.Dataset(tmp_path / "packed").verify(part=("auto", 3), progress=None).samples)
    assert sum(counts) == 33 and not recwarn.list


def test_an_array_without_a_part_warns(photos, tmp_path, monkeypatch, recwarn):
    job(monkeypatch, AWS_BATCH_JOB_ARRAY_INDEX=0, AWS_BATCH_JOB_ARRAY_SIZE=2)
    with pytest.warns(UserWarning, match="AWS_BATCH_JOB_ARRAY_INDEX is set: .* write part='auto' to give each job a part"):
        sluice.pack(photos, tmp_path / "packed", progress=None)
    job(monkeypatch, PBS_ARRAYID=0)
    with pytest.warns(UserWarning, match=r"PBS_ARRAYID is set: .* write part=\('auto', n\) to give each job a part"):
        sluice.pack(photos, tmp_path / "packed", progress=None)
    job(monkeypatch, PBS_ARRAYID=0, RANK=0, WORLD_SIZE=2)
    with pytest.warns(UserWarning, match=r"PBS_ARRAYID is set: .* part=\(i, n\), as sluice.ranks\(\) has them, to give each job a part"):
        sluice.pack(photos, tmp_path / "packed", progress=None)
    assert sluice.pack(photos, tmp_path / "packed", part=(0, 1), progress=None).was_complete
    assert not recwarn.list


def test_arrays_that_are_refused(photos, tmp_path, monkeypatch):
    def refused(text, part="auto", **variables):
        job(monkeypatch, **variables)
        with pytest.raises(sluice.InvalidError, match=text):
            sluice.pack(photos, tmp_path / "none", part=part, progress=None)

    refused(r"not a job of an array.*write part=\(i, n\)")
    refused(r'give it \(part=\("auto", n\)\)', JOB_COMPLETION_INDEX=1)
    refused(r"JOB_COMPLETION_INDEX is 2: with 2 parts it must be from 0 to 1", ("auto", 2), JOB_COMPLETION_INDEX=2)
    refused(r"LSB_JOBINDEX_STEP is 2.*part=\(i, n\)", LSB_JOBINDEX=1, LSB_JOBINDEX_END=9, LSB_JOBINDEX_STEP=2)
    refused("two schedulers disagree", ("auto", 4), JOB_COMPLETION_INDEX=1, PBS_ARRAY_INDEX=2)
    refused("a launcher started 2 processes", ("auto", 4), JOB_COMPLETION_INDEX=1, RANK=0, WORLD_SIZE=2)
    monkeypatch.delenv("RANK")
    for wrong in (("auto", 0), ("auto", 65536), "all", ("auto",)):
        with pytest.raises((TypeError, ValueError), match="part="):
            sluice.pack(photos, tmp_path / "none", part=wrong, progress=None)
    assert not (tmp_path / "none").exists()


def test_append(photos, tmp_path):
    sluice.pack(photos, tmp_path / "packed")
    for again in (False, True):
        made = sluice.pack(photos, tmp_path / "packed", append=True, seed=1)
        assert made.was_complete == again and made.complete
    data = sluice.Dataset(tmp_path / "packed")
    keys = [sample["key"] for sample in data]
    assert len(keys) == 66 and sorted(keys[:33]) == sorted(keys[33:]) and keys[:33] != keys[33:]
    assert data.verify().findings == []


def test_parts_are_cut_so_that_each_has_work(photos, tmp_path):
    """Shards may then end elsewhere than in one process, but the samples and their order are the same."""

    def samples(path):
        data = sluice.Dataset(path)
        assert data.verify(progress=None).findings == []
        return [data[i] for i in range(len(data))]

    def files(path):
        return {file.name: file.read_bytes() for file in path.iterdir()}

    sluice.pack(photos, tmp_path / "one", progress=False)
    one = samples(tmp_path / "one")
    for parts in amount((7, 33, 34), (3, 40)):
        made = []
        for name, order in (("a", range(parts)), ("b", reversed(range(parts))))[: 1 if parts == 33 else 2]:
            for part in order:
                result = sluice.pack(photos, tmp_path / f"{name}{parts}", part=(part, parts), progress=False)
                assert result.shards >= 1 or parts > len(one)
            assert result.complete
            made.append(tmp_path / f"{name}{parts}")
        assert files(made[0]) == files(made[-1])
        assert samples(made[0]) == one and len(list(made[0].glob("shard-*"))) >= min(parts, len(one))
    for parts in (1, 3):  # with an explicit size: the bytes of one process
        for part in range(parts):
            sluice.pack(photos, tmp_path / f"sized{parts}", part=(part, parts), shard_bytes=1 << 20, progress=False)
    assert files(tmp_path / "sized1") == files(tmp_path / "sized3")


def test_the_source_stays(photos):
    with pytest.raises(sluice.InvalidError):
        sluice.pack(photos, photos, overwrite=True)
    with pytest.raises(sluice.InvalidError):
        sluice.pack(photos, photos / "packed")
    assert not (photos / "packed").exists()


def test_bad_samples(photos, tmp_path):
    shutil.copytree(photos, tmp_path / "photos")
    victim = tmp_path / "photos" / "class2" / "p05.jpg"
    victim.write_bytes(victim.read_bytes()[:300])
    with pytest.raises(sluice.CorruptError) as caught:
        sluice.pack(tmp_path / "photos", tmp_path / "packed")
    assert caught.value.file == str(victim) and caught.value.sample == 27
    result = sluice.pack(tmp_path / "photos", tmp_path / "packed", on_bad_sample="skip")
    assert result.rejected == 1 and result.samples == 32
    (finding,) = sluice.Dataset(tmp_path / "photos").verify(decode=True).findings
    assert isinstance(finding, sluice.CorruptError) and finding.file == str(victim) and finding.reason


def test_a_progress_that_raises_ends_it(photos, tmp_path):
    many = tmp_path / "many" / "class"
    many.mkdir(parents=True)
    source = next(photos.rglob("*.jpg"))
    for number in range(3000):
        (many / f"{number}.jpg").hardlink_to(source)

    def fail(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sluice.pack(tmp_path / "many", tmp_path / "packed", workers=1, progress=fail)


def test_ctrl_c_and_the_same_call_again(photos, tmp_path):
    """The next call resumes an interrupted one, and the bytes equal those of an uninterrupted run."""
    many = tmp_path / "many" / "class"
    many.mkdir(parents=True)
    source = next(photos.rglob("*.jpg"))
    for number in range(amount(12000, 4000)):
        (many / f"{number}.jpg").hardlink_to(source)
    program = """
import signal, sys, sluice
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
try:
    print("go", flush=True)
    sluice.pack(sys.argv[1], sys.argv[2], workers=1, shard_bytes=1 << 20)
except KeyboardInterrupt:
    print("interrupted")
"""
    out, code = interrupt(program, tmp_path / "many", tmp_path / "packed")
    if out == "":
        pytest.skip("the machine packed it all before the signal came")
    assert out == "interrupted\n" and code == 0
    assert not (tmp_path / "packed" / "manifest.sluice").exists()
    sluice.pack(tmp_path / "many", tmp_path / "packed", shard_bytes=1 << 20)
    sluice.pack(tmp_path / "many", tmp_path / "whole", shard_bytes=1 << 20)
    assert digest(tmp_path / "packed") == digest(tmp_path / "whole")


def test_the_same_call_again_at_once(tmp_path, run_python):
    """In the interrupted process, while the first call's thread still works on a sample."""
    values = numpy.random.default_rng(1).integers(0, 3, 1 << 19, dtype=numpy.uint8)
    with sluice.Writer(tmp_path / "source", {"x": ("tensor", "uint8", values.shape)}, zstd="off") as writer:
        for _ in range(3):
            writer.add(x=values)
    program = """
import signal, sys, sluice
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
data = sluice.Dataset(sys.argv[1])
def pack():
    return sluice.pack(data, sys.argv[2], workers=1, zstd=19, progress=None)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    pack()
except KeyboardInterrupt:
    print("interrupted")
print(pack().samples)
"""
    done = run_python(program, tmp_path / "source", tmp_path / "packed", timeout=300)
    assert done.stdout == "interrupted\n3\n", done.stdout + done.stderr


# ---- smaller images, and a share stored as pixels ----


def mixed(root):
    """Writes images of many formats and sizes, in two classes."""
    random = numpy.random.default_rng(7)
    sizes = [(300, 200), (200, 300), (90, 64), (64, 64), (65, 64), (1000, 3), (2, 700), (257, 129), (640, 480)]
    for label in range(2):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        for number, size in enumerate(sizes):
            small = random.integers(0, 255, (6, 6, 3), dtype=numpy.uint8)
            picture = Image.fromarray(small).resize(size, Image.BICUBIC)
            picture.save(folder / f"p{number}.jpg", quality=95)
            picture.convert("L").save(folder / f"grey{number}.jpg", quality=95)
            picture.convert("RGBA").save(folder / f"png{number}.png")
            picture.save(folder / f"webp{number}.webp", lossless=True)
    return root


def smaller(size, side):
    """Returns the new sizes of the longer and the shorter side."""
    if max(size) <= side:
        return size
    scaled = [max(1, (2 * n * side + max(size)) // (2 * max(size))) for n in size]
    return tuple(scaled)


def opened(data):
    """Returns the images by key, opened by Pillow from the stored files."""
    return {sample["key"]: sample["image"] for sample in data}


def test_pictures_are_made_smaller(tmp_path):
    mixed(tmp_path / "photos")
    result = sluice.pack(tmp_path / "photos", tmp_path / "small", max_side=64, progress=None)
    pixels = sluice.pack(tmp_path / "photos", tmp_path / "pixels", max_side=64, raw=True, progress=None)
    sluice.pack(tmp_path / "photos", tmp_path / "plain", progress=None)
    assert result.resized == pixels.resized == 2 * 4 * 8 and pixels.decoded == 2 * 4 * 9
    coded, plain = opened(sluice.Dataset(tmp_path / "small")), opened(sluice.Dataset(tmp_path / "plain"))
    raw = sluice.Dataset(tmp_path / "pixels")
    for index in range(len(raw)):
        key = raw.sample(index)["key"]
        source = Image.open(tmp_path / "photos" / key).convert("RGB")
        size = smaller(source.size, 64)
        wanted = numpy.asarray(source.resize(size, Image.BILINEAR), numpy.int16)
        found = numpy.asarray(raw.decode(index)).astype(numpy.int16)
        assert found.shape == wanted.shape and abs(found - wanted).max() <= 1, key  # Pillow's filter antialiases, too
        if size == source.size:
            assert coded[key] == plain[key]
            continue
        made = Image.open(io.BytesIO(coded[key]))
        assert made.format == "JPEG" and made.size == size and made.mode == ("L" if "grey" in key else "RGB")
        error = numpy.square(numpy.asarray(made.convert("RGB"), numpy.float64) - wanted)
        assert 10 * numpy.log10(255**2 / max(error.mean(), 1e-9)) > 30, key


def test_smaller_ones_are_the_same_whoever_makes_them(tmp_path):
    mixed(tmp_path / "photos")
    options = {"max_side": 100, "quality": 75, "raw_share": 0.3, "progress": None}
    sluice.pack(tmp_path / "photos", tmp_path / "one", workers=1, **options)
    for workers in amount((2, 7), (7,)):
        sluice.pack(tmp_path / "photos", tmp_path / "many", workers=workers, overwrite=True, **options)
        assert digest(tmp_path / "one") == digest(tmp_path / "many")
    assert sluice.Dataset(tmp_path / "one").verify(decode=True, progress=None).findings == []
    best = sluice.pack(tmp_path / "photos", tmp_path / "best", max_side=100, quality=100, progress=None)
    least = sluice.pack(tmp_path / "photos", tmp_path / "least", max_side=100, quality=1, progress=None)
    assert least.bytes < best.bytes * 0.7


def test_orientation_and_profile_go_along(tmp_path):
    (tmp_path / "photos" / "c").mkdir(parents=True)
    picture = Image.fromarray(numpy.arange(120 * 90 * 3, dtype=numpy.uint32).astype(numpy.uint8).reshape(90, 120, 3))
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "maker"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    large = profile + bytes(150_000 - len(profile))  # in several segments
    picture.save(tmp_path / "photos" / "c" / "a.jpg", exif=exif, icc_profile=profile)
    picture.save(tmp_path / "photos" / "c" / "b.jpg", icc_profile=large)
    picture.convert("CMYK").save(tmp_path / "photos" / "c" / "c.jpg", icc_profile=b"x" * 16 + b"CMYK" + b"y" * 200)
    picture.convert("L").save(tmp_path / "photos" / "c" / "d.jpg", icc_profile=profile)
    picture.save(tmp_path / "photos" / "c" / "e.png", exif=exif)
    for metadata in "keep", "drop":
        sluice.pack(tmp_path / "photos", tmp_path / metadata, max_side=50, metadata=metadata, progress=None)
        made = {key: Image.open(io.BytesIO(image)) for key, image in opened(sluice.Dataset(tmp_path / metadata)).items()}
        profiles = {key: picture.info.get("icc_profile") for key, picture in made.items()}
        assert profiles == dict.fromkeys(made) | ({"c/a.jpg": profile, "c/b.jpg": large} if metadata == "keep" else {})
        for key, picture in made.items():
            turned = key in ("c/a.jpg", "c/e.png")
            assert picture.size == (50, 38) and dict(picture.getexif()) == ({0x0112: 6} if turned else {})


def test_a_share_of_the_samples_as_pixels(photos, tmp_path):
    """Drawn by sample numbers: neither the order nor its seed matters."""
    chosen = []
    for name, options in (("a", {}), ("b", {"seed": 5}), ("c", {"keep_order": True}), ("d", {"keep_bytes": True})):
        result = sluice.pack(photos, tmp_path / name, raw_share=0.25, progress=None, **options)
        assert result.decoded == round(33 * 0.25) and result.resized == 0
        data = sluice.Dataset(tmp_path / name)
        chosen.append({key for key, image in opened(data).items() if image[:2] != b"\xff\xd8"})
        for index in range(len(data)):
            source = Image.open(photos / data.sample(index)["key"])
            assert bytes(data.decode(index)) == source.tobytes()
    assert len(chosen[0]) == 8 and all(keys == chosen[0] for keys in chosen)
    for share, count in ((0, 0), (0.01, 0), (0.02, 1), (1, 33)):
        assert sluice.pack(photos, tmp_path / "e", raw_share=share, overwrite=True, progress=None).decoded == count


def test_other_options_are_another_pack(photos, tmp_path):
    sluice.pack(photos, tmp_path / "packed", max_side=32, progress=None)
    for options in ({}, {"max_side": 33}, {"max_side": 32, "quality": 91}, {"max_side": 32, "raw_share": 0.1}):
        with pytest.raises(sluice.StateError):
            sluice.pack(photos, tmp_path / "packed", progress=None, **options)
    assert sluice.pack(photos, tmp_path / "packed", max_side=32, quality=90, progress=None).was_complete
    for options in ({"quality": 90}, {"max_side": 32, "quality": 101}, {"max_side": 70000}, {"raw_share": 1.1}, {"raw_share": -0.1},
                    {"raw_share": float("nan")}, {"raw": True, "raw_share": 0.5}):  # fmt: skip
        with pytest.raises(sluice.InvalidError):
            sluice.pack(photos, tmp_path / "x", progress=None, **options)
    assert not (tmp_path / "x").exists()


def test_a_damaged_picture_is_bad_when_it_is_made_smaller(photos, tmp_path):
    shutil.copytree(photos, tmp_path / "photos")
    victim = tmp_path / "photos" / "class2" / "p05.jpg"
    victim.write_bytes(victim.read_bytes()[:-300])
    with pytest.raises(sluice.CorruptError) as caught:
        sluice.pack(tmp_path / "photos", tmp_path / "packed", max_side=16, keep_bytes=True, progress=None)
    assert caught.value.file == str(victim)
    assert sluice.pack(tmp_path / "photos", tmp_path / "packed", max_side=16, keep_bytes=True, on_bad_sample="skip", progress=None).rejected == 1
