# SPDX-License-Identifier: Apache-2.0
"""docs/tutorials: each program and command, unchanged, prints the page's output; and the errors that the page explains.

SLUICE_WRITE_TUTORIALS=1 writes the errors into the pages, after their texts were changed."""
import contextlib
import os
import pathlib
import re
import signal
import textwrap
import warnings

import layouts
import numpy
import pytest
import tutorials
from PIL import Image

import sluice

torch = pytest.importorskip("torch")

import sluice.torch  # noqa: E402: behind the check for torch
from sluice import columns as C, transforms as T  # noqa: E402: after the check for torch

PAGES = sorted(path.name for path in tutorials.PAGES.glob("*.md"))
SQUARE = [T.RandomResizedCrop(32), T.ToTensor()]
IMAGE = C.Image(transform=SQUARE, layout="NCHW")


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Returns, for a page, its folder and the output of its commands; each page is followed once."""
    done = {}

    def follow(page):
        if page not in done:
            folder = tmp_path_factory.mktemp(page[:-3])
            if page == "detection.md":
                pytest.importorskip("torchvision")
                layouts.coco128(folder)
                layouts.coco(folder)
            elif page == "segmentation.md":
                layouts.scenes(folder)
            elif page == "tokens.md":
                (folder / "text.txt").write_bytes(b"Alice was beginning to get very tired of sitting by her sister. " * 1061 + b"The End.")
            shell = tutorials.Shell(folder)
            done[page] = shell, shell.follow(page)
        return done[page]

    return follow


def numbers(printed, pattern):
    return [float(number) for number in re.findall(pattern, printed)]


@pytest.mark.parametrize("page", PAGES)
def test_its_form(page):
    text = tutorials.text(page)
    assert 60 <= text.count("\n") <= 125, f"{text.count(chr(10))} lines"
    first = text[text.index("```") :]
    assert first.startswith("```console" if page == "packing.md" else "```python") and text.count("\n", 0, -len(first)) <= 10
    assert all(program.count("\n") <= 40 for program in tutorials.programs(page).values())
    assert re.findall(r"^## (If it goes wrong|Next)$", text, re.MULTILINE) == ["If it goes wrong", "Next"]
    assert max(map(len, text.split("\n"))) <= 160
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (tutorials.PAGES / link).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_its_commands(followed, page):
    assert len(followed(page)[1]) == len(list(tutorials.commands(page))) >= 2


def test_a_classifier_learns(followed):
    assert numbers(followed("classification.md")[1]["python classify.py"], r"accuracy ([\d.]+)")[-1] > 70


def test_a_detector_learns(followed):
    _, printed = followed("detection.md")
    for path in ("coco/annotations/instances_train2017.json", "coco128.yaml"):
        first, _, last = numbers(printed[f"python detect.py {path}"], r"loss ([\d.]+)")
        assert last < first


def test_a_segmentation_learns(followed):
    assert numbers(followed("segmentation.md")[1]["python segment.py"], r"IoU ([\d.]+)")[-1] > 0.8


def test_views_are_found(followed):
    assert numbers(followed("views.md")[1]["python simclr.py"], r"for ([\d.]+) %")[-1] > 5 * 100 / 127


def test_tokens_are_learned(followed):
    _, printed = followed("tokens.md")
    for command in ("python lm.py", "python lm.py packed"):
        losses = numbers(printed[command], r": ([\d.]+) nats")
        assert losses[-1] < losses[0] < numpy.log(256)
    assert printed["python lm.py"] == printed["python lm.py packed"]  # the same windows in the same order


def test_ten_views(followed, monkeypatch):
    shell, _ = followed("views.md")
    monkeypatch.chdir(shell.folder)
    names = {}
    (fragment,) = tutorials.fragments("views.md")
    exec(compile(fragment, "views.md", "exec"), names)
    assert [view.shape for view in names["student_views"]] == [(16, 3, 64, 64)] * 2 + [(16, 3, 32, 32)] * 8


def kill_after(shell, command, line):
    """Starts a command, and kills all of its processes once it has printed the line."""
    process = shell.start(command, start_new_session=True)
    seen = next((printed for printed in process.stdout if printed.startswith(line)), None)
    os.killpg(process.pid, signal.SIGKILL)
    process.stdout.read()
    process.wait()
    assert seen is not None


def test_a_killed_classifier_continues(followed):
    shell, printed = followed("classification.md")
    (shell.folder / "classify.pt").unlink()
    kill_after(shell, "python classify.py", "epoch 0")
    resumed = shell.run("python classify.py").splitlines()
    assert re.fullmatch(r"resuming in epoch [01], \d+ batches left", resumed[0])
    assert resumed[-1] == printed["python classify.py"].splitlines()[-1]


def test_other_ranks_continue(followed):
    shell, _ = followed("ranks.md")
    (shell.folder / "ddp.pt").unlink()
    kill_after(shell, "torchrun --nproc_per_node 2 ddp.py", "epoch 0")
    state = torch.load(shell.folder / "ddp.pt")["loader"]
    first = shell.run("torchrun --nproc_per_node 3 ddp.py").splitlines()[0]
    left = 100 - min(state["samples"], 100)
    assert first == f"epoch {state['epoch']}: {-(-left // 48)} steps on each of 3 ranks, {left} samples"


def copy_of_masks(name, mask):
    """Loads a copy of the images and masks in which one mask is replaced by another, or missing."""
    layouts.scenes(pathlib.Path(name))
    path = pathlib.Path(name, "scenes/masks/train/000.png")
    path.unlink() if mask is None else mask.save(path)
    data = sluice.Dataset(f"{name}/scenes", split="train")
    return list(sluice.torch.DataLoader(data, batch_size=4, columns={"image": IMAGE, "classes": C.Mask("mask")}))


def cut_photo(pattern):
    path = sorted(pathlib.Path().glob(pattern))[0]
    path.write_bytes(path.read_bytes()[:5000])


def cut_in_loop():
    cut_photo("photos/val/*/*")
    return list(sluice.torch.DataLoader(sluice.Dataset("photos", split="val"), batch_size=4, transform=SQUARE))


def yolo_of(name, labels, line):
    folder = pathlib.Path(name)
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    Image.new("RGB", (64, 64)).save(folder / "images/street.jpg")
    (folder / "labels" / labels).write_text(line)
    return list(sluice.torch.DataLoader(name, columns={"image": IMAGE, "boxes": C.Boxes("boxes")}))


@contextlib.contextmanager
def variables(**values):
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def ranked(**values):
    with variables(**values):
        return sluice.torch.DataLoader("photos", batch_size=4, transform=SQUARE)


def state_of_another_seed():
    first, other = (sluice.torch.DataLoader("photos", batch_size=4, seed=seed, transform=SQUARE) for seed in (1, 2))
    next(iter(first))
    other.load_state_dict(first.state_dict())


def short_profile():
    loader = sluice.torch.DataLoader("photos", batch_size=80, transform=SQUARE)
    with sluice.profile(loader) as profile:
        for _ in loader:
            pass
    return "echo '" + str(profile).partition(";")[0] + "'"


def load(path, **arguments):
    return list(sluice.torch.DataLoader(path, **arguments))


ERRORS = {
    "classification.md": [
        lambda: sluice.Dataset("photos"),
        lambda: load(sluice.Dataset("photos", split="train"), transform=[T.Resize(72), T.ToTensor()]),
        lambda: load(sluice.Dataset("photos", split="train"), transform=pytest.importorskip("torchvision").transforms.RandomResizedCrop(64)),
        cut_in_loop,
    ],
    "detection.md": [
        lambda: sluice.Dataset("coco"),
        lambda: load("coco128.yaml", columns={"image": IMAGE, "labels": C.Ragged("labels"), "boxes": C.Boxes("boxes")}),
        lambda: yolo_of("pixels", "street.txt", "0 50 50 10 10\n"),
        lambda: yolo_of("others", "street_1.txt", "0 0.5 0.5 0.1 0.1\n"),
    ],
    "segmentation.md": [
        lambda: load(sluice.Dataset("scenes", split="train"), transform=SQUARE),
        lambda: copy_of_masks("missing", None),
        lambda: copy_of_masks("small", Image.new("L", (64, 48))),
        lambda: copy_of_masks("colour", Image.new("RGB", (128, 96), (255, 0, 0))),
    ],
    "views.md": [
        lambda: load("photos", transform=T.presets.simclr(32)),
        lambda: load("photos", transform=SQUARE, columns=T.presets.simclr(32)),
        lambda: load("photos", batch_size=1024, drop_last=True, columns=T.presets.simclr(32)),
        lambda: [None for first, second in sluice.torch.DataLoader("photos", batch_size=4, columns=T.presets.dino(64, 32))],
    ],
    "tokens.md": [
        lambda: sluice.Dataset("train.bin"),
        "sluice pack --tensor tokens=u16:65536 train.bin compressed && python lm.py compressed",
        lambda: load("packed", columns={"input": C.Window("tokens", length=64)}),
    ],
    "packing.md": [
        "sluice pack photos third",
        "sluice pack photos packed",
        "printf x | dd of=packed/shard-000000.sluice bs=1 seek=100000 conv=notrunc status=none; sluice verify packed",
        "sluice pack photos photos/packed",
    ],
    "ranks.md": [
        lambda: ranked(RANK="0"),
        lambda: ranked(RANK="0", WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="2"),
        lambda: load("photos", batch_size=64, rank=0, world_size=2, drop_last=True, transform=SQUARE),
        state_of_another_seed,
    ],
    "waiting.md": [
        short_profile,
        "sluice bench photos --batch 1024 --step-ms 100",
        lambda: cut_photo("photos/*/*") or "sluice bench photos --batch 32",
    ],
}


def error_of(shell, what):
    """Returns the error of a failing program or command, with paths as the reader wrote them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what = what if isinstance(what, str) else what()
        assert isinstance(what, str), "it did not fail"
        said = shell.run(what).strip().splitlines()
        said = next(line for line in reversed(said) if not re.match(r"\d+ samples, ", line))  # the summary of verify
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        said = f"{type(error).__module__}.{type(error).__name__}: {error}".replace("builtins.", "").replace("_sluice.", "")
    return said.replace(f"{shell.folder}/", "")


@pytest.mark.parametrize("page", PAGES)
def test_its_errors(followed, monkeypatch, page):
    shell, _ = followed(page)
    monkeypatch.chdir(shell.folder)
    said = [error_of(shell, what) for what in ERRORS[page]]
    text = tutorials.text(page)
    before, heading, section = text.partition("## If it goes wrong\n")
    section, following, after = section.partition("\n## Next\n")
    if os.environ.get("SLUICE_WRITE_TUTORIALS"):
        lines = iter("\n".join(textwrap.wrap(each, 130, break_long_words=False, break_on_hyphens=False)) for each in said)
        section = re.sub(r"^```text\n.*?^```$", lambda _: f"```text\n{next(lines)}\n```", section, flags=re.MULTILINE | re.DOTALL)
        (tutorials.PAGES / page).write_text(before + heading + section + following + after)
    shown = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert [each.split() for each in shown] == [each.split() for each in said]
