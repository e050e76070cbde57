# SPDX-License-Identifier: Apache-2.0
"""Class folders with a caption beside each image, as kohya's trainers have them."""
import pytest
from test_folders import left_out, photo, text

import sluice


def captioned(folder, names, extension="txt"):
    for number, name in enumerate(names):
        photo(folder / f"{name}.jpg", number)
        text(folder / f"{name}.{extension}", f"a «{folder.name}», {name}\n")


@pytest.mark.parametrize("extension", ["txt", "caption"])
@pytest.mark.parametrize("folders", [["10_sks dog"], ["10_sks dog", "5_cat"], ["1_a", "2_a"], ["cat", "dog"]])
def test_captions_of_class_folders(tmp_path, extension, folders):
    names = ["0", "1.v2", "img (3)"]
    for folder in folders:
        captioned(tmp_path / folder, names, extension)
    data = sluice.Dataset(tmp_path)
    if folders == ["cat", "dog"] or len(folders) > 1 or folders[0].startswith("10_"):
        assert data.classes == folders and list(data.fields) == ["image", "label", "caption", "key"]
    assert len(data) == 3 * len(folders) and data.left_out == []
    assert ("repeats" in data.description) == folders[0][0].isdigit()
    for sample in data:
        stem = sample["key"].rsplit("/", 1)[1].removesuffix(".jpg")
        assert sample["caption"] == f"a «{data.classes[sample['label']]}», {stem}\n"
        assert bytes(sample["image"]) == (tmp_path / sample["key"]).read_bytes()
    assert data.decode(1).shape == (20, 24, 3)
    with sluice.Loader(data, batch_size=3, shuffle=False, columns={"label": sluice.columns.Number()}) as loader:
        assert [batch["label"].numpy().tolist() for batch in loader] == [[label] * 3 for label in range(len(folders))]


def test_some_pictures_lack_a_caption(tmp_path):
    captioned(tmp_path / "10_a", ["0", "1", "2"])
    captioned(tmp_path / "10_b", ["0", "1"])
    photo(tmp_path / "10_b/2.jpg")
    photo(tmp_path / "10_b/0.png")  # the same caption
    text(tmp_path / "10_b/3.txt")
    with pytest.warns(UserWarning) as warned:
        data = sluice.Dataset(tmp_path)
    assert "1 images have no caption file" in " ".join(str(one.message) for one in warned)
    assert {sample["key"]: sample["caption"] for sample in data if sample["label"] == 1} == {
        "10_b/0.jpg": "a «10_b», 0\n", "10_b/0.png": "a «10_b», 0\n", "10_b/1.jpg": "a «10_b», 1\n", "10_b/2.jpg": ""}  # fmt: skip
    assert all(count == 1 for count, *_ in left_out(data).values())


def test_texts_beside_few_pictures_are_counted(tmp_path):
    for i in range(40):
        photo(tmp_path / f"a/{i}.jpg", i)
        photo(tmp_path / f"b/{i}.jpg", i)
    captioned(tmp_path / "a", ["0", "1", "2"])
    data = sluice.Dataset(tmp_path)
    assert list(data.fields) == ["image", "label", "key"]
    assert left_out(data) == {"texts that are not captions of most images": (3, False, "a/0.txt")} or list(
        left_out(data).values())[0][0] == 3


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.filterwarnings("error")
def test_few_captions_that_name_their_picture(tmp_path, count):
    """They are captions that were read, so they do not count as lists of the images."""
    for i in range(count):
        photo(tmp_path / f"{i}a.jpg", i)
        text(tmp_path / f"{i}a.txt", f"a picture {i}a.jpg of a cat")
    data = sluice.Dataset(tmp_path)
    assert [each["txt"] for each in data] == [f"a picture {i}a.jpg of a cat" for i in range(count)] and left_out(data) == {}
    text(tmp_path / "more.csv", "".join(f"{i}a.jpg,{i},cat\n" for i in range(count)))
    with pytest.warns(UserWarning, match="more.csv: it also describes the images"):
        assert left_out(sluice.Dataset(tmp_path))["lists of the images"] == (1, False, "more.csv")


def test_captions_of_other_encodings(tmp_path):
    captioned(tmp_path / "a", ["0", "1"])
    captioned(tmp_path / "b", ["0"])
    (tmp_path / "a/0.txt").write_bytes("café".encode("latin-1"))
    (tmp_path / "a/1.txt").write_bytes("café".encode("utf-8-sig"))
    data = sluice.Dataset(tmp_path)
    with pytest.raises(sluice.CorruptError, match='a/0.txt.*"caption": the caption is not valid UTF-8'):
        data[0]
    assert data[1]["caption"] == "café"
    assert data.decode(0).shape == (20, 24, 3)


@pytest.mark.parametrize("flat", [False, True])
def test_captions_that_are_no_texts(tmp_path, flat):
    """Captions that are not valid text, beside images of class folders, and as samples of several files."""
    folders = [tmp_path / "a"] if flat else [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        captioned(folder, ["0", "1", "2", "3"])
    contents = (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a cat".encode("utf-16"), "a cat".encode("utf-16-be"),
                "caf\u00e9".encode("utf-8-sig"))  # fmt: skip
    for number, content in enumerate(contents):
        (tmp_path / f"a/{number}.txt").write_bytes(content)
    data = sluice.Dataset(tmp_path / "a" if flat else tmp_path)
    field = "txt" if flat else "caption"
    assert field in data.fields
    for number, match in enumerate(("a Git LFS pointer", "in UTF-16: save it as UTF-8", "in UTF-16: save it as UTF-8")):
        with pytest.raises(sluice.CorruptError, match=f'{number}.txt.*"{field}".*{match}'):
            data[number]
    assert data[3][field] == "café"


def test_what_is_packed_has_the_captions(tmp_path):
    captioned(tmp_path / "in/10_a", ["0", "1"])
    captioned(tmp_path / "in/5_b", ["0", "1"])
    data = sluice.Dataset(tmp_path / "in")
    sluice.pack(data, tmp_path / "out")
    packed = sluice.Dataset(tmp_path / "out")
    assert packed.classes == data.classes
    assert sorted(s["caption"] for s in packed) == sorted(s["caption"] for s in data)
