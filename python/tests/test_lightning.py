# SPDX-License-Identifier: Apache-2.0
"""sluice.lightning under the protocol of Lightning 2.0, 2.2 and 2.5; with Lightning itself where it is installed."""
import importlib
import importlib.util
import pathlib
import runpy
import sys
import types

import lightnings
import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402

SAMPLES = 35
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "lightning_train.py"


@pytest.fixture
def seat(monkeypatch):
    monkeypatch.setattr(lightnings, "pytorch", lightnings, raising=False)
    monkeypatch.setitem(sys.modules, "lightning", lightnings)
    monkeypatch.setitem(sys.modules, "lightning.pytorch", lightnings)
    monkeypatch.delitem(sys.modules, "sluice.lightning", raising=False)
    yield importlib.import_module("sluice.lightning")
    sys.modules.pop("sluice.lightning", None)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows"
    with sluice.Writer(path, {"number": "int"}) as writer:
        for number in range(SAMPLES):
            writer.add(number=number)
    return path


def open_loader(path, **options):
    options = {"batch_size": 8, "shuffle": True, "drop_last": True, "columns": {"number": C.Number("number")}, "num_workers": 1} | options
    return sluice.torch.DataLoader(path, **options)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("version", [2.0, 2.2, 2.5])
def test_every_checkpoint_goes_on(seat, path, version, early):
    """A callback replaces the module's hooks."""

    def fit(checkpoint=None):
        trainer = lightnings.Trainer(version, 3, [seat.LoaderState()], early)
        trainer.fit(lightnings.LightningModule(), checkpoint, seat.DataModule(train=lambda: open_loader(path)))
        return trainer, [batch[0].tolist() for batch in trainer.steps]

    whole, steps = fit()
    assert len(steps) == 12 and not steps[:4] == steps[4:8]
    behind = [4 * (end + 1) for end in range(3)]
    for step, checkpoint in [*enumerate(whole.checkpoints, 1), *zip(behind, whole.ends)]:
        assert fit(checkpoint)[1] == steps[step:], step


def test_several_loaders(seat, path):
    trainer = lightnings.Trainer(2.5, 1, [callback := seat.LoaderState()])
    callback.setup(trainer, None, "fit")
    assert callback.state_dict() == {"loaders": []}
    trainer.train_dataloader = {"a": open_loader(path), "b": [open_loader(path, seed=1), 7]}
    state = callback.state_dict()
    assert len(state["loaders"]) == 2
    other = seat.LoaderState()
    other.load_state_dict(state)
    other.on_train_start(trainer, None)
    other.load_state_dict({"loaders": state["loaders"][:1]})
    with pytest.raises(ValueError, match="the states of 1 loaders, and train_dataloader returned 2"):
        other.on_train_start(trainer, None)


def test_what_is_refused(seat, path):
    trainer = lightnings.Trainer(2.5, 1)
    made = seat.DataModule(train=lambda: open_loader(path), test=lambda: open_loader(path))
    made.trainer = trainer
    assert made.val_dataloader() == [] and len(made.test_dataloader()) == 4
    with pytest.raises(ValueError, match=r"opens no predict loader: write DataModule\(predict=function\)"):
        made.predict_dataloader()
    trainer.overfit_batches = 2
    with pytest.raises(ValueError, match="shuffled train loader: Lightning would rebuild it: open it with shuffle=False"):
        made.train_dataloader()
    trainer.overfit_batches, trainer.global_rank, trainer.world_size = 0, 1, 2
    with pytest.raises(ValueError, match="rank 0 of 1, but this process is rank 1 of 2"):
        made.train_dataloader()
    with pytest.raises(ValueError, match="rank 0 of 1, but this process is rank 1 of 2"):
        trainer.train_dataloader = open_loader(path)
        seat.LoaderState().on_train_start(trainer, None)
    with pytest.raises(TypeError, match="write train=lambda: DataLoader"):
        seat.DataModule(train=open_loader(path))


def test_a_loader_in_order_is_sequential(path):
    sequential = torch.utils.data.SequentialSampler
    assert isinstance(open_loader(path, shuffle=False).sampler, sequential)
    for options in {}, {"shuffle": "block"}, {"weights": [1] * SAMPLES}, {"lengths": [*range(SAMPLES)], "shuffle": False}:
        assert not isinstance(open_loader(path, **options).sampler, sequential)
    loader = open_loader(path, shuffle=False)
    loader.sampler.set_epoch(3)
    assert loader.epoch == 3 and len(loader.sampler) == 32
    with pytest.raises(TypeError, match="the library decides the order"):
        iter(loader.sampler)


def test_fabric(seat, path):
    fabric = types.SimpleNamespace(global_rank=0, world_size=1, device=torch.device("meta"))
    loader = open_loader(path)
    placed = seat.setup(fabric, loader)
    assert next(iter(placed))[0].device.type == "meta" and len(placed) == 4 and placed.dataset is loader.dataset
    assert placed.state_dict() == loader.state_dict()
    with pytest.raises(sluice.StateError, match="already belongs to sluice.lightning.setup"):
        seat.setup(fabric, loader)
    assert next(iter(seat.setup(fabric, open_loader(path), move_to_device=False)))[0].device.type == "cpu"
    with pytest.raises(TypeError, match="open sluice.torch.DataLoader, or write move_to_device=False"):
        seat.setup(fabric, sluice.Loader(path, columns={"number": C.Number("number")}))
    fabric.global_rank, fabric.world_size = 1, 2
    with pytest.raises(ValueError, match="open the loader after fabric.launch"):
        seat.setup(fabric, open_loader(path))


def test_the_example(request, photos, tmp_path, monkeypatch):
    if importlib.util.find_spec("lightning") is None:
        request.getfixturevalue("seat")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(photos), "--epochs", "2"])
    trainer = runpy.run_path(str(EXAMPLE), run_name="__main__")["trainer"]
    assert trainer.current_epoch == 2


def test_without_lightning(run_python):
    done = run_python("import sys\nsys.modules['lightning'] = sys.modules['pytorch_lightning'] = None\nimport sluice\n"
                      "try: import sluice.lightning\nexcept ModuleNotFoundError as error: print(error)")  # fmt: skip
    assert done.stdout == "sluice.lightning needs Lightning: pip install lightning\n"
