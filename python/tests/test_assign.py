# SPDX-License-Identifier: Apache-2.0
"""Assigning to attributes of loaders and datasets: an assignment without effect raises, and the error says what to do."""
import copy
import importlib
import pickle

import pytest

import sluice
from sluice import transforms as T


@pytest.fixture(params=["sluice", "torch"])
def kind(request):
    if request.param == "sluice":
        return sluice.Loader
    pytest.importorskip("torch")
    return importlib.import_module("sluice.torch").DataLoader


def open_loader(kind, data):
    return kind(data, batch_size=4, shuffle=True, transform=T.RandomResizedCrop(8))


ARGUMENT = r"open another one with {0}=\.\.\., and load_state_dict\(loader\.state_dict\(\)\) resumes in it"


@pytest.mark.parametrize(
    "name, words",
    [
        ("batch_size", ARGUMENT), ("seed", ARGUMENT), ("transform", ARGUMENT), ("drop_last", ARGUMENT), ("dataset", ARGUMENT),
        ("num_workers", ARGUMENT), ("weights", ARGUMENT), ("sampler", ARGUMENT), ("mixup_enabled", "end_epoch= of MixUp"),
        ("epoch", r"call set_epoch\(epoch\)"), ("remaining", "it is read-only"), ("state_dict", "it is a method, which a subclass may override"),
        ("collate_fn", "batch_hook can be assigned"),
        ("batchsize", "no such attribute; did you mean 'batch_size'.*names that begin with _ are free"),
        ("anything", "no such attribute; names that begin with _ are free"),
    ],
)  # fmt: skip
def test_a_loader(kind, data, name, words):
    loader = open_loader(kind, data)
    before = getattr(loader, name, None)
    with pytest.raises(AttributeError, match=rf"^\w+\.{name} = \.\.\. would have no effect: .*{words.format(name)}"):
        setattr(loader, name, 2)
    assert getattr(loader, name, None) == before


def test_what_has_an_effect(kind, data):
    loader = open_loader(kind, data)
    seen = []
    loader.batch_hook = seen.append
    loader.set_epoch(3)
    loader.sampler.set_epoch(4)
    assert len(list(loader)) == len(seen) == 9 and loader.epoch == 5
    loader.load_state_dict(loader.state_dict())
    loader._note = "mine"
    assert loader._note == "mine"
    with pytest.raises(ValueError, match="batch_hook=3: expected a callable"):
        loader.batch_hook = 3


def test_a_dataset(data, tmp_path):
    made = (data, data[3:], data + data, copy.copy(data), pickle.loads(pickle.dumps(data)), pickle.loads(pickle.dumps(data + data)))
    for one in made:
        for name, words in (
            ("transform", "give transform= to the loader"), ("target_transform", "columns= and batch_hook="), ("classes", "renames classes"),
            ("targets", "sluice.Writer writes other labels"), ("samples", r"data\.subset\(indices\)"), ("paths", "it is read-only"),
            ("format", "it is read-only"), ("pathes", "did you mean 'paths'"), ("anything", "names that begin with _ are free"),
        ):  # fmt: skip
            with pytest.raises(AttributeError, match=rf"\.{name} = \.\.\. would have no effect: .*{words}"):
                setattr(one, name, None)
        assert len(one.targets) == len(one)
        one._note = 1


def test_a_subclass(kind, data, photos):
    """A subclass may assign its own attributes, but not ours."""

    class Mine(kind):
        step = 0

        def __init__(self, *arguments, **named):
            self.before = 1
            super().__init__(*arguments, **named)
            self.after = self.before

        def state_dict(self):
            return super().state_dict()

    loader = open_loader(Mine, data)
    loader.step += 1
    loader.note = "mine"
    assert (loader.step, loader.after, loader.note, Mine.step) == (1, 1, "mine", 0)
    for name in ("batch_size", "epoch", "transform", "mixup_enabled"):
        with pytest.raises(AttributeError, match="would have no effect"):
            setattr(loader, name, 2)

    class Photos(sluice.Dataset):
        def __init__(self, path):
            super().__init__(path)
            self.year = 2012

    data = Photos(photos)
    data.year += 1
    assert data.year == 2013
    with pytest.raises(AttributeError, match="give transform= to the loader"):
        data.transform = None
