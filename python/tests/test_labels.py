# SPDX-License-Identifier: Apache-2.0
"""Datasets with different classes, joined by class name: compared with the name of each sample's class before."""
import io
import pickle
import random
import tarfile

import pytest
from PIL import Image

import sluice

MISSING = object()


def shards(path, classes, labels):
    """Writes a number and a label for each sample; None: no label."""
    with sluice.Writer(path, fields={"number": "int", "label": "int"}, classes=classes) as writer:
        for number, label in enumerate(labels):
            writer.add(number=number, label=label)
    return sluice.Dataset(path)


def folder(path, classes):
    for place, name in enumerate(classes):
        (path / name).mkdir(parents=True)
        for number in range(2):
            Image.new("RGB", (8, 8), (place * 60, number * 60, 0)).save(path / name / f"{number}.jpg")
    return sluice.Dataset(path)


def tar(path, labels):
    with tarfile.open(path, "w") as archive:
        for number, label in enumerate(labels):
            for extension, data in (("bin", b"%d" % number), ("cls", b"%d" % label)):
                member = tarfile.TarInfo(f"{number:04}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return sluice.Dataset(path)


def names(data):
    """Returns the class name of each sample; None: no class; MISSING: no label."""
    found = [sample["label"] for sample in data]
    return [MISSING if label is None else None if label == -1 else data.classes[label] for label in found]


@pytest.fixture
def pets(tmp_path):
    return shards(tmp_path / "pets", ["cat", "dog"], [0, 1, 1, -1, 0])


@pytest.fixture
def birds(tmp_path):
    return shards(tmp_path / "birds", ["dog", "emu", "cat"], [2, 0, 1, None, 1])


def test_without_a_word_other_classes_are_refused(pets, birds):
    with pytest.raises(sluice.InvalidError, match='class 0 is named "dog" in dataset 2 and "cat" in dataset 1') as caught:
        pets + birds
    assert 'labels="union"' in str(caught.value) and 'labels="union"' in caught.value.reason
    with pytest.raises(sluice.InvalidError, match="labels"):
        sluice.mix([pets, birds])
    with pytest.raises(sluice.InvalidError, match="2 classes"):
        sluice.concat([shards(pets.paths[0] + "2", ["cat", "dog", "emu"], [0]), pets])


def test_a_union_keeps_every_class(pets, birds):
    data = sluice.concat([pets, birds], labels="union")
    assert data.classes == ["cat", "dog", "emu"]  # in order of first appearance: the first dataset's numbers stay
    assert names(data) == names(pets) + names(birds)
    assert data.numbers("label") == [0, 1, 1, -1, 0, 0, 1, 2, None, 2]
    assert sluice.concat([birds, pets], labels="union").classes == ["dog", "emu", "cat"]
    assert names(sluice.concat([birds, pets, birds], labels="union")) == names(birds) + names(pets) + names(birds)


def test_a_union_of_the_same_classes_is_no_other_dataset(pets, tmp_path):
    same = shards(tmp_path / "same", ["cat", "dog"], [1])
    assert sluice.concat([pets, same], labels="union").fingerprint == (pets + same).fingerprint


def test_whoever_reads_labels_gets_those_of_the_union(pets, birds, tmp_path):
    data = sluice.concat([pets, birds], labels="union")
    assert names(data.where('label == "emu"')) == ["emu", "emu"]
    assert names(data.where('label in ("cat", "dog")')) == [name for name in names(data) if name in ("cat", "dog")]
    assert len(data.filter(lambda numbers: numbers["label"] == 2)) == 2
    assert data.sample(7)["label"] == 2
    assert names(data[6:8]) == ["dog", "emu"]
    assert data.verify().findings == []
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=False)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.classes == data.classes and names(packed) == names(data)
    balanced = sluice.balance(data, epoch_samples=8)
    loader = sluice.Loader(balanced, batch_size=4, columns={"label": sluice.columns.Number("label")})
    assert sorted(int(label) for batch in loader for label in batch["label"].numpy()) == [-1, -1, 0, 0, 1, 1, 2, 2]


def test_batches_have_the_numbers_of_the_union(tmp_path):
    a, b = folder(tmp_path / "a", ["cat", "dog"]), folder(tmp_path / "b", ["bird", "dog"])
    data = sluice.concat([a, b], labels="union")
    assert data.classes == ["cat", "dog", "bird"]
    expected = [0, 0, 1, 1, 2, 2, 1, 1]
    columns = {"label": sluice.columns.Number("label"), "hot": sluice.columns.OneHot(len(data.classes), field="label")}
    for mixed in (data, sluice.mix([a, b], labels="union")):
        seen = {}
        for batch in sluice.Loader(mixed, batch_size=3, shuffle=True, columns=columns, last_batch="short"):
            for row, index in enumerate(batch["index"].numpy().tolist()):
                seen[index] = int(batch["label"].numpy()[row])
                assert batch["hot"].numpy()[row].tolist() == [float(number == seen[index]) for number in range(3)]
        assert [seen[index] for index in range(8)] == expected


def test_classes_in_an_order_of_ones_own(pets, birds):
    data = sluice.concat([pets, birds], labels=["emu", "cow", "cat", "dog"])
    assert data.classes == ["emu", "cow", "cat", "dog"] and names(data) == names(pets) + names(birds)
    with pytest.raises(sluice.InvalidError, match='class "emu" of dataset 2 is not one of the requested classes'):
        sluice.concat([pets, birds], labels=["cat", "dog"])
    with pytest.raises(sluice.InvalidError, match="twice"):
        sluice.concat([pets], labels=["cat", "dog", "cat"])
    with pytest.raises(ValueError, match="labels is empty: expected at least one name"):
        sluice.concat([pets], labels=[])


def test_renaming(pets, birds):
    data = sluice.concat([pets, birds], labels={"dog": "wolf", "emu": None})
    wanted = {"cat": "cat", "dog": "wolf", "emu": None, None: None, MISSING: MISSING}
    assert data.classes == ["cat", "wolf"]
    assert names(data) == [wanted[name] for name in names(pets) + names(birds)]
    one = sluice.concat([birds], labels={"dog": "pet", "cat": "pet"})
    assert one.classes == ["pet", "emu"] and one.numbers("label") == [0, 0, 1, None, 1]
    swapped = sluice.concat([pets], labels={"cat": "dog", "dog": "cat"})
    assert swapped.classes == ["dog", "cat"] and swapped.numbers("label") == pets.numbers("label")
    with pytest.raises(sluice.InvalidError, match='cannot rename class "cow": no dataset has it'):
        sluice.concat([pets, birds], labels={"cow": "cat"})
    for wrong in ({"cat": ""}, {"": "cat"}):
        with pytest.raises(sluice.InvalidError, match="empty"):
            sluice.concat([pets], labels=wrong)


def test_names_that_differ_in_case_only(pets, tmp_path):
    other = shards(tmp_path / "other", ["Cat", "emu"], [0, 1])
    with pytest.raises(sluice.InvalidError, match='"cat" and "Cat" of the datasets 1 and 2 differ only in case') as caught:
        sluice.concat([pets, other], labels="union")
    assert "allow_case_duplicates=True" in str(caught.value)
    two = sluice.concat([pets, other], labels="union", allow_case_duplicates=True)
    assert two.classes == ["cat", "dog", "Cat", "emu"] and names(two) == names(pets) + names(other)
    one = sluice.concat([pets, other], labels={"Cat": "cat"})
    assert one.classes == ["cat", "dog", "emu"] and names(one)[5:] == ["cat", "emu"]
    greek = shards(tmp_path / "greek", ["ΛΥΚΟΣ"], [0]), shards(tmp_path / "small", ["λυκοσ"], [0])
    with pytest.raises(sluice.InvalidError, match="differ only in case"):
        sluice.mix(greek, labels="union")
    # Names that differ only in case within one dataset, or that are listed explicitly, are intended.
    both = shards(tmp_path / "both", ["Cat", "cat"], [0, 1])
    assert sluice.concat([both, shards(tmp_path / "more", ["emu"], [0])], labels="union").classes == ["Cat", "cat", "emu"]
    assert sluice.concat([pets, other], labels=["cat", "dog", "Cat", "emu"]).classes == ["cat", "dog", "Cat", "emu"]


def test_labels_without_names(pets, tmp_path):
    plain = shards(tmp_path / "plain", [], [0, 7, -1, 1])
    assert (pets + plain).classes == ["cat", "dog"]  # unchanged: the numbers are those of the other datasets
    with pytest.raises(sluice.InvalidError, match="classes of dataset 2 have no names"):
        sluice.concat([shards(tmp_path / "cow", ["cow"], [0]), plain, pets], labels="union")
    data = sluice.concat([pets, plain], labels={0: "dog", "7": "cow", 1: None})
    assert data.classes == ["cat", "dog", "cow"] and names(data)[5:] == ["dog", "cow", None, None]
    with pytest.raises(sluice.InvalidError, match="renamed twice"):
        sluice.concat([plain], labels={0: "a", "0": "b"})
    some = sluice.concat([pets, plain], labels={0: "dog"})
    with pytest.raises(sluice.CorruptError, match="its class has no name by which it could be joined"):
        some[6]
    assert [finding.sample for finding in some.verify().findings] == [6, 8]
    archive = tar(tmp_path / "a.tar", [1, 0])
    assert names(sluice.concat([archive], labels={0: "no", 1: "yes"})) == ["yes", "no"]


def test_a_class_without_a_name(tmp_path, pets):
    odd = shards(tmp_path / "odd", ["emu", "", "cat"], [0, 2, 1])
    data = sluice.concat([pets, odd], labels="union")
    assert data.classes == ["cat", "dog", "emu"] and data[5]["label"] == 2 and data[6]["label"] == 0
    with pytest.raises(sluice.CorruptError, match="its class has no name"):
        data[7]


def test_joined_ones_joined_again(pets, birds, tmp_path):
    cows = shards(tmp_path / "cows", ["cow", "dog"], [1, 0])
    at_once = sluice.concat([pets, birds, cows], labels="union")
    later = sluice.concat([sluice.concat([pets, birds], labels="union"), cows], labels="union")
    assert later.classes == at_once.classes and names(later) == names(at_once)
    assert later.fingerprint == at_once.fingerprint
    # Parts without class names take those of the others.
    plain = shards(tmp_path / "plain", [], [1, 2])
    nested = sluice.concat([birds + plain, cows, pets], labels="union")
    assert names(nested) == names(birds) + ["emu", "cat"] + names(cows) + names(pets)
    beyond = shards(tmp_path / "beyond", [], [3])
    with pytest.raises(sluice.CorruptError):  # none of the birds, although the union has a fourth class
        sluice.concat([birds + beyond, cows], labels="union")[5]
    # The same files with other numbers have other classes, even if only the numbers differ.
    turned = sluice.concat([pets], labels=["dog", "cat"])
    for data in (turned, turned[:3], turned.subset([1, 0])):
        with pytest.raises(sluice.InvalidError, match="class 0 is named"):
            pets + data
    assert names(turned + turned[:2]) == names(pets) + names(pets)[:2]
    assert (turned + turned[:2]).classes == ["dog", "cat"]
    assert names(sluice.concat([pets, turned[1:]], labels="union")) == names(pets) + names(pets)[1:]


def test_other_labels_are_another_dataset(pets, birds):
    made = [
        sluice.concat([pets, birds], labels=labels)
        for labels in ("union", ["cat", "emu", "dog"], {"emu": "cat"}, {"emu": None}, {"emu": "cow"}, {"emu": "dog"})
    ]
    assert len({data.fingerprint for data in made}) == len(made)
    assert sluice.concat([pets, birds], labels="union").fingerprint == made[0].fingerprint
    columns = {"label": sluice.columns.Number("number")}
    loader = sluice.Loader(made[0], batch_size=2, columns=columns)
    next(iter(loader))
    state = loader.state_dict()
    sluice.Loader(made[0], batch_size=2, columns=columns).load_state_dict(state)
    with pytest.raises(sluice.Error):
        other = sluice.Loader(made[1], batch_size=2, columns=columns)
        other.load_state_dict(state)
        next(iter(other))


def test_in_another_process(pets, birds):
    for labels in ("union", {"emu": None, "dog": "cat"}, ["emu", "dog", "cat"]):
        data = sluice.concat([pets, birds], labels=labels)
        again = pickle.loads(pickle.dumps(data))
        assert again.fingerprint == data.fingerprint and names(again) == names(data)
    mixed = sluice.mix({pets: 1, birds: 2}, labels="union")
    assert pickle.loads(pickle.dumps(mixed)).fingerprint == mixed.fingerprint


def test_arguments(pets, birds):
    for wrong in ("both", 3, ["cat", 1], {"cat": 3}, {1.5: "cat"}):
        with pytest.raises((TypeError, ValueError), match="labels"):
            sluice.concat([pets, birds], labels=wrong)
    with pytest.raises(TypeError, match="allow_case_duplicates"):
        sluice.concat([pets, birds], labels="union", allow_case_duplicates="yes")


def test_without_labels_there_is_nothing_to_number(pets, birds, tmp_path):
    data = sluice.concat([pets, birds], fields=["number"], labels="union")
    assert len(data.classes) == 0 and [sample["number"] for sample in data] == [*range(5), *range(5)]
    with pytest.raises(sluice.InvalidError, match="no labels to renumber"):
        sluice.concat([pets, birds], fields=["number"], labels={"cat": "dog"})
    boxes = []
    for place, classes in enumerate((["cat", "dog"], ["dog", "cat"])):
        fields = {"labels": ("tensor", "int64", (0,))}
        with sluice.Writer(tmp_path / f"boxes{place}", fields=fields, classes=classes) as writer:
            writer.add(labels=[0, 1, 1])
        boxes.append(sluice.Dataset(tmp_path / f"boxes{place}"))
    with pytest.raises(sluice.InvalidError, match=r"\(several per sample\), which cannot be renumbered"):
        sluice.concat(boxes, labels="union")
    assert len(sluice.concat([boxes[0], boxes[0]], labels="union")) == 2


def test_many_at_random(tmp_path):
    """Random numbers of classes, orders and overlaps, in joins of any shape."""
    random.seed(5)
    words = [f"w{number}" for number in range(12)]
    datasets = []
    for place in range(6):
        classes = random.sample(words, random.randint(1, 8))
        labels = [random.choice([None, -1, *range(len(classes))]) for _ in range(random.randint(1, 9))]
        datasets.append(shards(tmp_path / str(place), classes, labels))
    known = {id(data): names(data) for data in datasets}
    for _ in range(40):
        chosen = [random.choice(datasets) for _ in range(random.randint(1, 6))]
        expected = [name for data in chosen for name in known[id(data)]]
        parts = list(chosen)
        while len(parts) > 1:  # joins two or three at a time, at random positions
            at = random.randrange(len(parts) - 1)
            parts[at : at + 2] = [sluice.concat(parts[at : at + 2], labels="union")]
            if random.random() < 0.3:
                parts[at] = parts[at][:]
        assert names(parts[0]) == expected
        order = [name for data in chosen for name in data.classes]
        assert list(parts[0].classes) == list(dict.fromkeys(order))


# ---- adding to packed datasets ----


def test_adding_other_classes(pets, birds, tmp_path):
    packed = tmp_path / "packed"
    options = {"keep_order": True, "progress": False}
    sluice.pack(pets, packed, **options)
    before = (packed / "shard-000000.sluice").read_bytes()
    with pytest.raises(sluice.StateError, match="the classes must be the same") as caught:
        sluice.pack(birds, packed, append=True, **options)
    assert 'labels="union"' in str(caught.value)
    for again in (False, True):
        made = sluice.pack(birds, packed, append=True, labels="union", **options)
        assert made.complete and made.was_complete == again
    data = sluice.Dataset(packed)
    assert data.classes == ["cat", "dog", "emu"] and names(data) == names(pets) + names(birds)
    assert data.verify().findings == []
    assert (packed / "shard-000000.sluice").read_bytes() == before  # existing shards are not rewritten
    assert sluice.Dataset(packed / "shard-000000.sluice").classes == ["cat", "dog"]
    # Then other ones, in parts, and the same ones again.
    cows = shards(tmp_path / "cows", ["cow", "Emu"], [0, 1, 1, 0])
    with pytest.raises(sluice.InvalidError, match='"emu" and "Emu".*differ only in case'):
        sluice.pack(cows, packed, append=True, labels="union", **options)
    for part in (1, 0):
        made = sluice.pack(cows, packed, append=True, labels={"Emu": "emu"}, part=(part, 2), **options)
    assert made.complete
    sluice.pack(pets, packed, append=True, labels="union", seed=1, **options)
    data = sluice.Dataset(packed)
    assert data.classes == ["cat", "dog", "emu", "cow"]
    assert names(data) == names(pets) + names(birds) + ["cow", "emu", "emu", "cow"] + names(pets)
    assert data.verify().findings == []
    with pytest.raises(sluice.InvalidError, match="only be renamed"):
        sluice.pack(pets, packed, append=True, labels=["cat", "dog", "emu", "cow"], **options)
    with pytest.raises(sluice.InvalidError, match="append"):
        sluice.pack(pets, tmp_path / "new", labels="union", **options)


def test_what_was_packed_before_is_held_against_the_classes(pets, birds, tmp_path):
    """A shard with fewer classes has the first ones, or it belongs to another dataset."""
    packed, other = tmp_path / "packed", tmp_path / "other"
    options = {"keep_order": True, "progress": False}
    sluice.pack(pets, packed, **options)
    sluice.pack(birds, packed, append=True, labels="union", **options)
    sluice.pack(shards(tmp_path / "x", ["cow", "dog"], [0, 1, 1, -1, 0]), other, **options)
    whole = (packed / "shard-000000.sluice").read_bytes()
    (packed / "shard-000000.sluice").write_bytes((other / "shard-000000.sluice").read_bytes())
    data = sluice.Dataset(packed)
    with pytest.raises(sluice.CorruptError, match="not the shard that the manifest describes"):
        data[0]
    assert data.verify().findings
    (packed / "shard-000000.sluice").write_bytes(whole)
    assert not sluice.Dataset(packed).verify().findings
