# SPDX-License-Identifier: Apache-2.0
"""The examples, run."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess

import numpy
import pytest
import warm
from PIL import Image

import sluice

torch = pytest.importorskip("torch")

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name, *arguments, code=0, launcher=()):
    done = subprocess.run(
        [warm.python(), *launcher, EXAMPLES / name, *map(str, arguments)],
        capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def test_training():
    lines = run("train_torch.py", "--pictures", 256, "--epochs", 3).splitlines()
    assert [line.split()[0] for line in lines] == ["loader", "torch", "sluice", "resident"]


def test_training_of_gpu_check(photos):
    """Without a GPU: each arm trains and has its figures, and a failing one does not end the others."""
    options = ["--device", "cpu", "--model", "resnet18", "--batch", 2, "--size", 32, "--seconds", 0.1, "--cpus", 1]
    arms = ["resident", "sluice", "torch", "torch_uint8"]
    lines = run("../scripts/gpu_training.py", photos, *options, *(word for arm in arms for word in ("--loader", arm))).splitlines()
    figures = {line.split()[1]: float(line.split()[2]) for line in lines if line.startswith("figure ")}
    kinds = {arm: ["images_per_s", "cpu_ms_per_image", *(["of_resident", "loader_cpu_ms_per_image"] if arm != "resident" else [])] for arm in arms}
    assert set(figures) == {f"resnet18_1_{arm}_{kind}" for arm in arms for kind in kinds[arm]}
    assert all(figures[f"resnet18_1_{arm}_{kind}"] > 0 for arm in arms for kind in kinds["resident"])
    empty = photos.parent / "empty"
    (empty / "a").mkdir(parents=True)
    said = run("../scripts/gpu_training.py", empty, *options, "--loader", "sluice", "--loader", "resident", code=1)
    assert "FAIL: resnet18 sluice" in said and "figure resnet18_1_resident_images_per_s" in said


def test_killed_and_continued(photos, tmp_path):
    whole = run("resume.py", photos, tmp_path / "a.pt").splitlines()[-1]
    assert whole.startswith("27 steps")
    for at in (3, 14, 22):
        run("resume.py", photos, tmp_path / "b.pt", "--die-at", at, code=-9)
    lines = run("resume.py", photos, tmp_path / "b.pt").splitlines()
    assert "resuming at step 20" in lines[0] and lines[-1] == whole
    assert whole != run("resume.py", photos, tmp_path / "c.pt", "--epochs", 2).splitlines()[-1]


def test_tokens():
    assert re.search(r"\d+ million tokens/s", run("tokens.py", "--steps", 40))


def test_packed_documents(tmp_path):
    """The loss falls; a document's logits are those of the document alone, and depend on the mask."""
    lines = run("gpt_packed.py", "--steps", 20).splitlines()
    assert re.match(r"\d+ documents in \d+ rows of 256 bytes", lines[0]) and lines[-2].startswith("step 20")
    count, same, other = re.search(r"logits of (\d+) documents, .* at most ([\d.e-]+); .* by ([\d.e-]+)$", lines[-1]).groups()
    assert int(count) > 3 and float(same) < 1e-4 and float(other) > 1e-2
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "short.txt").write_text("one document")
    assert "it would be empty" in run("gpt_packed.py", tmp_path / "texts", "--packed", tmp_path / "packed", code=1)
    assert [bytes(sample["tokens"].tolist()) for sample in sluice.Dataset(tmp_path / "packed")] == [b"one document"]


def test_segmentation():
    assert re.search(r"mean \d+", run("segmentation.py", "--steps", 30))


def test_detection():
    assert re.search(r"found \d+.\d% of the shapes", run("detection.py", "--steps", 200))


def test_yolo():
    lines = run("yolo.py").splitlines()
    losses = [float(line.split()[3].rstrip(",")) for line in lines if line.startswith("epoch")]
    assert len(losses) == 10 and losses[-1] < losses[0] / 2 and re.search(r"found \d+.\d% of the shapes", lines[-1])
    boxes = [float(line.split()[4]) for line in lines if line.startswith("epoch")]
    assert numpy.mean(boxes[:7]) > 1.3 * numpy.mean(boxes[7:])  # with four images, with one


def test_pairs_of_views():
    assert re.search(r"the other view is the nearest: \d+", run("simclr.py", "--steps", 60))


def test_a_native_step():
    pytest.importorskip("numba")
    costs, changed = run("native_numba.py").splitlines()
    assert re.fullmatch(r"plain [\d.]+, Native [\d.]+, Python [\d.]+ us of CPU per image", costs)
    assert 1.5 < float(changed.split("%")[0]) < 2  # some spots overlap, some already had the colour


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_own_layout(folder):
    """Images with a red rectangle in each except the first; the fourth is truncated, and the last is missing."""
    folder.mkdir()
    with open(folder / "samples.jsonl", "w", encoding="utf-8") as lines:
        sizes = [(90, 70), (64, 64), (70, 150), (120, 80), (75, 75), (190, 90), (80, 80)]
        for number, (width, height) in enumerate(sizes):
            pixels = numpy.full((height, width, 3), (20, 40, 60), numpy.uint8)
            left, top, right, bottom = box = width // 4, height // 3, width // 2, height - 8
            if number > 0:
                pixels[top:bottom, left:right] = (250, 20, 20)
            name = f"picture {number} ä.jpg"
            if number < 6:
                Image.fromarray(pixels).save(folder / name, quality=95, subsampling=0)
            record = {
                "file": name, "width": width, "height": height, "caption": f"ein Bild, {number}", "score": number / 7,
                "boxes": [box] * min(number, 1), "embedding": [number + i / 16 for i in range(16)],
            }  # fmt: skip
            lines.write(json.dumps(record) + "\n")
    cut = folder / "picture 3 ä.jpg"
    cut.write_bytes(cut.read_bytes()[:-100])


def test_packing_ones_own(tmp_path):
    lines = run("pack_custom.py").splitlines()
    assert [line.split(":")[0] for line in lines if "skipped" in line] == ["skipped 005.jpg", "skipped 009.jpg"]
    assert "62 samples packed, 0 of them differ from the source" in lines and "epoch 4" in lines[-1]
    make_own_layout(tmp_path / "own")
    out = run("pack_custom.py", tmp_path / "own", "--out", tmp_path / "packed")
    assert "skipped picture 3 ä.jpg" in out and "skipped picture 6 ä.jpg" in out and "5 samples packed, 0 of" in out
    data = sluice.Dataset(tmp_path / "packed")
    assert [sample["key"][8] for sample in data] == ["0", "1", "2", "4", "5"]
    assert numpy.frombuffer(data[3]["embedding"], numpy.float16).tolist() == [4 + i / 16 for i in range(16)]
    assert data[3]["boxes"].tolist() == [[18, 25, 37, 67]] and data[3]["score"] == 4 / 7
    assert data[4]["caption"] == "ein Bild, 5" and len(data[0]["boxes"]) == 0


def test_boxes_follow_the_crop(tmp_path):
    make_own_layout(tmp_path / "own")
    example = load("pack_custom")
    example.pack(tmp_path / "own", tmp_path / "packed")
    (batch,) = example.open_loader(sluice.Dataset(tmp_path / "packed"))
    boxes, seen = example.boxes_in_view(batch), 0
    for row, picture in enumerate(batch["image"]):
        y, x = torch.where((picture[0] > 0) & (picture[1] < 0))
        mine = boxes[batch["boxes.offsets"][row] : batch["boxes.offsets"][row + 1]]
        assert len(mine) == (len(x) > 0)
        if len(mine):
            found = torch.stack([x.min(), y.min(), x.max() + 1, y.max() + 1])
            assert (found - mine[0]).abs().max() <= 1.5, (batch["index"][row], found, mine)
            seen += 1
    assert seen == 4
    side, none = torch.tensor([70]), {"boxes": torch.zeros(0, 4), "boxes.offsets": torch.tensor([0, 0])}
    assert example.boxes_in_view(none | {"width": side, "height": side}).shape == (0, 4)


def test_a_difference_is_told(tmp_path):
    make_own_layout(tmp_path / "own")
    example = load("pack_custom")
    record = example.pack(tmp_path / "own", tmp_path / "packed")[1]
    sample = sluice.Dataset(tmp_path / "packed")[1]
    assert example.is_same(sample, record, tmp_path / "own")
    others = {"score": 0.5, "caption": "x", "width": 1, "boxes": [[0, 0, 1, 1]], "embedding": [0.0] * 16}
    for name, other in others.items():
        assert not example.is_same(sample, record | {name: other}, tmp_path / "own"), name
    Image.new("RGB", (64, 64)).save(tmp_path / "own" / record["file"])
    assert not example.is_same(sample, record, tmp_path / "own")


def test_pairs():
    lines = run("clip_pairs.py").splitlines()
    captions, pictures, chance = map(float, re.findall(r"[\d.]+(?=%)", lines[-1]))
    assert lines[-2].startswith("step 300") and min(captions, pictures) > 60 and chance == 3.1


def test_pairs_without_training_are_chance():
    assert "hardly better than chance" in run("clip_pairs.py", "--steps", 0, code=1)


def run_ranks(processes, *arguments, code=0):
    if warm.no_torchrun():
        pytest.skip(warm.no_torchrun())
    # 9:1 is the default, no redirection, in a form that torch 1.13 understands under Python 3.11, too.
    options = ["--standalone", "--monitor_interval=0.1", "--redirects=9:1", "--tee=9:1"]
    launcher = ["-m", "torch.distributed.run", *options, f"--nproc_per_node={processes}"]
    return run("ddp_torchrun.py", *arguments, code=code, launcher=launcher).splitlines()


@pytest.fixture(scope="module")
def whole(photos, tmp_path_factory):
    """Returns the output and the checkpoint of two ranks that save and do not stop."""
    checkpoint = tmp_path_factory.mktemp("ranks") / "whole.pt"
    return run_ranks(2, photos, "--checkpoint", checkpoint, "--save-at", 3), checkpoint


def test_ranks_share_an_epoch(whole):
    assert whole[0][:-1] == [
        "ranks: [(0, 2), (1, 2)]",
        "epoch 0: 5 steps on each rank, each of 33 samples once",
        "epoch 1: saved after step 3",
        "epoch 1: 5 steps on each rank, each of 33 samples once",
    ]


def test_as_many_ranks_go_on_bit_for_bit(photos, whole):
    assert run_ranks(2, photos, "--checkpoint", whole[1], "--resume") == [
        "resuming in epoch 1 after 24 of 33 samples",
        "ranks: [(0, 2), (1, 2)]",
        "epoch 1: 2 steps on each rank, each of 33 samples once",
        whole[0][-1],
    ]


@pytest.fixture(scope="module")
def stopped(photos, tmp_path_factory):
    """A checkpoint of two ranks that stopped after two steps of their last epoch."""
    checkpoint = tmp_path_factory.mktemp("ranks") / "stopped.pt"
    lines = run_ranks(2, photos, "--checkpoint", checkpoint, "--stop")
    assert lines[1:] == ["epoch 0: 5 steps on each rank, each of 33 samples once", "epoch 1: saved after step 2"]
    return checkpoint


@pytest.mark.parametrize("processes, steps", [(1, 5), (3, 2)])
def test_ranks_may_become_fewer_or_more(photos, stopped, processes, steps):
    resuming, ranks, epoch, _ = run_ranks(processes, photos, "--checkpoint", stopped, "--resume")
    assert resuming == "resuming in epoch 1 after 16 of 33 samples"
    assert ranks == f"ranks: {[(rank, processes) for rank in range(processes)]}"
    assert epoch == f"epoch 1: {steps} steps on each rank, each of 33 samples once"


@pytest.mark.parametrize("times, told", [(0, "32 samples, 32"), (2, "34 samples, 33")])
def test_what_ranks_lose_or_have_twice_is_told(photos, stopped, tmp_path, times, told):
    state = torch.load(stopped)
    first, *others = state["seen"]
    torch.save(state | {"seen": others + [first] * times}, tmp_path / "other.pt")
    lines = run_ranks(1, photos, "--checkpoint", tmp_path / "other.pt", "--resume", code=1)
    assert f"epoch 1: {told} different ones, of 33" in lines
