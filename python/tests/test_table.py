# SPDX-License-Identifier: Apache-2.0
"""Images listed by a table; tables are written by Python's csv and json, images by Pillow."""
import csv
import json
import locale
import re
import subprocess

import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

CORRUPT, INVALID, UNSUPPORTED = sluice.CorruptError, sluice.InvalidError, sluice.UnsupportedError
ROWS = 12
WORDS = ["dog", "cat", "Eel", "émeu"]


@pytest.fixture
def pictures(tmp_path):
    (tmp_path / "pics").mkdir()
    for number in range(ROWS):
        Image.new("RGB", (16 + number, 12), (20 * number, 0, 0)).save(tmp_path / "pics" / f"{number}.png")
    return tmp_path


def row_of(number):
    return {
        "file": f"pics/{number}.png", "label": WORDS[number % 4], "n": number - 3, "score": number / 8,
        "caption": f'he said "{number}",\r\nä', "boxes": [[1, 2, 3, number + 0.5]] * (number % 3),
        "ids": list(range(number % 4)),
    }  # fmt: skip


def write_csv(path, rows, **how):
    with open(path, "w", newline="", encoding=how.pop("encoding", "utf-8")) as file:
        writer = csv.writer(file, **how)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow(json.dumps(value) if isinstance(value, list) else value for value in row.values())
    return path


def write_json(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def plain(value):
    return numpy.asarray(value).tolist() if isinstance(value, memoryview) else value


def check(path, rows=None):
    rows = rows or [row_of(number) for number in range(ROWS)]
    names = sorted({row["label"] for row in rows})
    data = sluice.Dataset(path)
    assert data.format == "table" and len(data) == len(rows) and list(data.classes) == names
    for found, row in zip(data, rows):
        found = {name: plain(value) for name, value in found.items()}
        picture = (path.parent / row["file"]).read_bytes()
        assert bytes(found.pop("image")) == picture
        wanted = {**row, "key": row["file"], "label": names.index(row["label"])}
        del wanted["file"]
        assert found == wanted
    fields = {name: (field.type, field.dtype, field.shape) for name, field in data.fields.items()}
    assert fields["boxes"] == ("tensor", "float32", (0, 4)) and fields["ids"][1:] == ("int64", (0,))


WAYS = {
    "usual": {}, "lf": {"lineterminator": "\n"}, "cr": {"lineterminator": "\r"}, "quoted": {"quoting": csv.QUOTE_ALL},
    "marked": {"encoding": "utf-8-sig"},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_csv(pictures, way):
    check(write_csv(pictures / "a.csv", [row_of(number) for number in range(ROWS)], **WAYS[way]))


SPACED = {
    "roboflow": ("filename, cat, dog", ["pics/0.png, 1, 0", "pics/1.png, 0, 1"]),
    "words": ("file_name, label, t", ["pics/0.png, cat, a b", "pics/1.png, dog,c", 'pics/2.png, cat, "x, y "']),
    "after": ("file_name ,t\t, n", ["pics/0.png ,a,1 ", "pics/1.png\t, b ,  2", 'pics/2.png, "c" , 3']),
    "quoted names": ('"file_name", "t", "n"', ['"pics/0.png", " a", 1', '"pics/1.png", "b ", 2']),
    "after quotes": ('"file_name" ,"t"', ['"pics/0.png" , "a, b"', '"pics/1.png","b "']),
    "tsv": ("file_name\t n\tt ", ["pics/0.png\t 1\t a", "pics/1.png\t2 \tb"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SPACED)
def test_blanks_after_commas(pictures, name):
    """Like Python's csv with skipinitialspace, and without trailing blanks of unquoted values."""
    head, lines = SPACED[name]
    path = pictures / ("a.tsv" if name == "tsv" else "a.csv")
    path.write_text("\n".join([head, *lines]) + "\n")
    comma, blanks = ("\t", " ") if name == "tsv" else (",", "[ \t]")
    table = list(csv.reader((re.sub(f"{blanks}+(?={comma}|$)", "", line) for line in [head, *lines]), skipinitialspace=True, delimiter=comma))
    data = sluice.Dataset(path)
    for sample, row in zip(data, table[1:], strict=True):
        for column, value in zip(table[0][1:], row[1:], strict=True):
            found = sample[column]
            assert (data.classes[found] if column == "label" else str(found)) == value, column
        assert sample["key"] == row[0] and bytes(sample["image"]) == (pictures / row[0]).read_bytes()


def test_blanks_around_numbers_alone(pictures):
    """If the names of columns have none."""
    (pictures / "a.csv").write_text('file_name,label,x,t,q\npics/0.png, 3, 1.5 , a,1\npics/1.png,4 , , b ," 2"\n')
    data = sluice.Dataset(pictures / "a.csv")
    assert [[sample[name] for name in ("label", "x", "t", "q")] for sample in data] == [[3, 1.5, " a", "1"], [4, None, " b ", " 2"]]


def test_tsv_and_json_lines(pictures):
    rows = [row_of(number) for number in range(ROWS)]
    check(write_csv(pictures / "a.tsv", rows, delimiter="\t"))
    check(write_json(pictures / "a.jsonl", rows))
    (pictures / "b.NDJSON").write_text((pictures / "a.jsonl").read_text().replace("\n", "\r\n\r\n"), "utf-8")
    check(pictures / "b.NDJSON")


def test_as_pandas_writes_it(pictures):
    """The column of row numbers has no name."""
    (pictures / "a.csv").write_text(",path,x\n0,pics/0.png,1.5\n1,pics/1.png,\n")
    data = sluice.Dataset(pictures / "a.csv")
    assert list(data.fields) == ["image", "x", "key"] and [sample["x"] for sample in data] == [1.5, None]


def test_cells_without_a_value(pictures):
    (pictures / "a.csv").write_text("image,label,x,y,t,none\npics/0.png,,1,,,\npics/1.png,3,,2.5,,\n")
    data = sluice.Dataset(pictures / "a.csv")
    types = {name: field.type for name, field in data.fields.items()}
    assert types == {"image": "image", "label": "int", "x": "int", "y": "float", "t": "text", "none": "text",
                     "key": "text"}  # fmt: skip
    first, second = data[0], data[1]
    assert [first[name] for name in "xyt"] == [1, None, ""] and first["label"] is None
    assert [second[name] for name in "xyt"] == [None, 2.5, ""] and second["label"] == 3


def types_of(path, **options):
    data = sluice.Dataset(path, **options)
    return {name: field.type for name, field in data.fields.items()}


def test_what_is_no_number(pictures):
    """No digits are lost."""
    cells = ["9223372036854775808", "1 x", "0x10", "1,5", "1_0", "--1", "1e", "", "nan", "-inf", "1.", ".5", "+7", "True"]
    kinds = ["text"] * 7 + ["text", "float", "float", "float", "float", "int", "text"]
    for cell, kind in zip(cells, kinds):
        write_csv(pictures / "a.csv", [{"path": "pics/0.png", "x": cell}])
        assert types_of(pictures / "a.csv")["x"] == kind, cell


def test_json_has_its_own_types(pictures):
    rows = [
        {"file_name": "pics/0.png", "objects": {"bbox": [], "categories": [1, 2]}, "s": "12", "ok": True, "m": 1,
         "deep": {"a": {"b": [1, "x"]}}, "mixed": [[1], [2, 3]]},
        {"file_name": "pics/1.png", "s": "", "ok": None, "m": "one", "more": 0.5, "objects": {"bbox": [[1, 2, 3, 4]]}},
    ]  # fmt: skip
    write_json(pictures / "a.jsonl", rows)
    data = sluice.Dataset(pictures / "a.jsonl")
    first, second = data[0], data[1]
    assert plain(first["objects.bbox"]) == [] and plain(second["objects.bbox"]) == [[1, 2, 3, 4]]
    assert plain(first["objects.categories"]) == [1, 2] and plain(second["objects.categories"]) == []
    assert (first["s"], first["ok"], first["m"], first["more"]) == ("12", 1, "1", None)
    assert (second["s"], second["ok"], second["m"], second["more"]) == ("", None, "one", 0.5)
    assert json.loads(first["deep.a"]) == {"b": [1, "x"]} and json.loads(first["mixed"]) == [[1], [2, 3]]


def test_a_column_of_words_is_the_classes(pictures):
    for name in ("class", "cls", "category", "target"):
        write_csv(pictures / "a.csv", [{"path": "pics/0.png", name: "b"}, {"path": "pics/1.png", name: "a"}])
        data = sluice.Dataset(pictures / "a.csv")
        assert [sample["label"] for sample in data] == [1, 0] and list(data.classes) == ["a", "b"]
    data = sluice.Dataset(pictures / "a.csv", fields={"image": "path", "t": "target"})
    assert [sample["t"] for sample in data] == ["b", "a"] and len(data.classes) == 0
    data = sluice.Dataset(pictures / "a.csv", fields={"image": "path", "label": ("target", "text")})
    assert data[0]["label"] == "b" and len(data.classes) == 0


def test_too_many_words_are_a_text(pictures):
    write_csv(pictures / "a.csv", [{"path": "pics/0.png", "label": f"w{i}"} for i in range(65537)])
    assert types_of(pictures / "a.csv")["label"] == "text"
    write_csv(pictures / "a.csv", [{"path": "pics/0.png", "label": f"w{i % 65536:05}"} for i in range(65537)])
    data = sluice.Dataset(pictures / "a.csv")
    assert len(data.classes) == 65536 and data[65536]["label"] == 0 and data[65535]["label"] == 65535


def test_fields_can_be_chosen(pictures):
    rows = [{"photo": f"pics/{i}.png", "zip": f"0{i}", "n": i, "box": [i, 1, 2, 3], "species": WORDS[i]} for i in range(4)]
    path = write_csv(pictures / "gone.csv", [row | {"photo": f"gone{row['photo']}"} for row in rows])
    with pytest.raises(INVALID, match='image=COLUMN:image.*"photo", "zip", "n"'):
        sluice.Dataset(path)
    path = write_csv(pictures / "a.csv", rows)
    assert next(iter(sluice.Dataset(path).fields)) == "image"  # the only column whose values are files
    wanted = {"image": ("photo", "image"), "code": ("zip", "text"), "n": ("n", "float"), "box": ("box", "f64[4]"),
              "label": "species", "where": "key"}  # fmt: skip
    data = sluice.Dataset(path, fields=wanted)
    assert list(data.fields) == list(wanted)
    for i, sample in enumerate(data):
        assert (sample["code"], sample["n"], plain(sample["box"])) == (f"0{i}", float(i), [i, 1, 2, 3])
        assert sample["label"] == sorted(WORDS[:4]).index(WORDS[i]) and sample["where"] == f"pics/{i}.png"
        assert isinstance(sample["n"], float)
    for wrong, words in {
        "zip:f32[0,4]": "line 2, column \"zip\": not a list", "species:int": "", "n:image": "", "absent": "no column has this name",
        "box:i32[3]": "shape does not match", "box:u8[4]": "f32, f64, i32 or i64", "species:float": "not a number",
    }.items():  # fmt: skip
        with pytest.raises(sluice.Error, match=words):
            sluice.Dataset(path, fields={"image": ("photo", "image"), "x": wrong})


def test_where_pictures_lie(pictures):
    folder = pictures / "deep"
    folder.mkdir()
    absolute = pictures / "pics" / "1.png"
    write_csv(folder / "a.csv", [{"path": "../pics/0.png"}, {"path": absolute}, {"path": "absent.png"}])
    data = sluice.Dataset(folder / "a.csv", allow_outside=True)
    assert bytes(data[0]["image"]) == (pictures / "pics" / "0.png").read_bytes()
    assert bytes(data[1]["image"]) == absolute.read_bytes()
    with pytest.raises(sluice.Error, match="absent.png.*No such file"):
        data[2]["image"]


def test_a_folder_with_metadata(pictures):
    """As in Hugging Face's ImageFolder; a metadata.csv that names no images is ignored."""
    folder = pictures / "pics"
    write_csv(folder / "metadata.csv", [{"file_name": "3.png", "text": "three"}])
    data = sluice.Dataset(folder)
    assert data.format == "table" and data[0]["text"] == "three"
    write_json(folder / "metadata.jsonl", [{"file_name": "3.png"}])
    with pytest.raises(INVALID, match="metadata.csv and metadata.jsonl"):
        sluice.Dataset(folder)
    (folder / "metadata.csv").unlink()
    assert types_of(folder) == {"image": "image", "key": "text"}
    (folder / "metadata.jsonl").unlink()
    (folder / "metadata.csv").write_text("made by,when\nme,today\n")
    data = sluice.Dataset(folder)
    assert data.format == "folder" and len(data) == ROWS


# ---- im2rec's lists ----


def write_list(path, rows):
    """Writes a list like im2rec.py: the number, each label as a float, the path."""
    path.write_text("".join(f"{number}\t" + "".join(f"{x:f}\t" for x in labels) + f"{name}\n" for number, labels, name in rows), "utf-8")
    return path


def test_lists(pictures):
    rows = [(100 + n, [n % 3], f"pics/{n}.png") for n in range(ROWS)]
    data = sluice.Dataset(write_list(pictures / "train.lst", rows))
    assert data.format == "table"
    assert {name: field.type for name, field in data.fields.items()} == {"id": "int", "label": "int", "image": "image", "key": "text"}
    for found, (number, (label,), name) in zip(data, rows):
        assert (found["id"], found["label"], found["key"]) == (number, label, name)
        assert found["image"] == (pictures / name).read_bytes()
    batches = list(sluice.Loader(data, batch_size=5, transform=[T.Resize(12), T.CenterCrop(8)]))
    assert [n for batch in batches for n in batch["label"].numpy().tolist()] == [n % 3 for n in range(ROWS)]
    halves = sluice.Dataset(write_list(pictures / "halves.lst", [(n, [n / 2], f"pics/{n}.png") for n in range(ROWS)]))
    assert halves.fields["label"].type == "float" and [sample["label"] for sample in halves] == [n / 2 for n in range(ROWS)]


def test_lists_of_boxes(pictures):
    rows = [(n, [2, 5, *[0, 0.25, 0.5, 0.75, n] * (n % 3)], f"pics/{n}.png") for n in range(ROWS)]
    data = sluice.Dataset(write_list(pictures / "boxes.LST", rows))
    assert data.fields["label"] == ("label", "tensor", "float32", (0,))
    assert [plain(sample["label"]) for sample in data] == [labels for _, labels, _ in rows]


def test_objects_of_json_lines(pictures):
    """A structure of lists, as in Hugging Face's image folders; or boxes alone."""
    objects = [{"bbox": [[i, 2, 3, 4.5]] * i, "categories": [7] * i, "area": [13.5] * i} for i in range(3)]
    rows = [{"file_name": f"pics/{i}.png", "objects": each, "boxes": each["bbox"], "at": [[1, 2, 3, 4]]} for i, each in enumerate(objects)]
    data = sluice.Dataset(write_json(pictures / "metadata.jsonl", rows))
    beside = {"per_box": True, "of": "objects.bbox"}
    meanings = {name: field.meaning for name, field in data.fields.items() if field.meaning}
    assert meanings == {"objects.bbox": {"role": "boxes"}, "objects.categories": beside, "objects.area": beside, "boxes": {"role": "boxes"}}
    assert [plain(sample["objects.bbox"]) for sample in data] == [each["bbox"] for each in objects]
    columns = {"boxes": sluice.columns.Boxes("objects.bbox")}
    with pytest.raises(INVALID, match="write format xywh"):
        sluice.Loader(data, batch_size=1, columns=columns)


def test_lists_as_people_write_them(pictures):
    path = pictures / "a.lst"
    path.write_bytes(b'\xef\xbb\xbf7 \t dog\t pics/1.png \r\n\r\n-1\tcat\t"pics"/2.png')
    data = sluice.Dataset(path)
    assert list(data.classes) == ["cat", "dog"] and [sample["label"] for sample in data.subset([0])] == [1]
    assert data[0]["key"] == "pics/1.png" and data.sample(1)["file"].endswith('/"pics"/2.png')
    for number, (text, error, words) in enumerate([
        (b"", INVALID, "lists no images"),
        (b"0\t1\ta\n1\t2\n", CORRUPT, "line 2.*im2rec"),
        (b"0 1 a\n", CORRUPT, "line 1.*tabs"),
        (b"0\t1\t2\ta\n1\tx\t2\ta\n", CORRUPT, 'line 2, column "label": one of the labels is not a number'),
        (b"0\t[1\t2]\ta\n", CORRUPT, "not a number"),
        (b"0\t1\t\ta\n", CORRUPT, "not a number"),
        (b"0\t1\t" + b"1" * 100 + b"\ta\n", CORRUPT, "not a number"),
        (b"0\t1\t \n", CORRUPT, 'column "path": the path of the image is missing'),
        (b"0\t1" + b"\t1" * 1100 + b"\ta\n", UNSUPPORTED, "1024 columns"),
        (b"0\t1\ta\0b\n", CORRUPT, "NUL"),
    ]):  # fmt: skip
        path = pictures / f"{number}.lst"
        path.write_bytes(text)
        with pytest.raises(error, match=words):
            sluice.Dataset(path)


BAD = {
    "empty": (b"", INVALID, "line 1: the file is empty"),
    "only columns": (b"path\r\n", INVALID, "lists no images"),
    "no columns": (b"a.png,1\nb.png,2\n", INVALID, "have the first line name the columns"),
    "twice": (b"path,a,a\nx,1,2\n", CORRUPT, 'line 1, column "a": two columns'),
    "few": (b"path,a\nx,1\ny\n", CORRUPT, "line 3: it has fewer"),
    "many": (b"path,a\n\nx,1,2\n", CORRUPT, "line 3: it has more"),
    "open quotes": (b'path,a\nx,1\n"y,2\nz,3\n', CORRUPT, "line 3: the file ends within"),
    "behind quotes": (b'path,a\n"x"y,1\n', CORRUPT, "line 2: unexpected text after"),
    "lines in quotes count": (b'path,a\nx,"1\n2\n"\n,3\n', CORRUPT, "line 5.*path of the image is missing"),
    "NUL": (b"path,a\nx\0,1\n", CORRUPT, "line 2: it contains NUL"),
    "no path": (b"path,a\n,1\n", CORRUPT, 'line 2, column "path": the path of the image is missing'),
    "URL": (b"path\nhttps://host/a.png\n", CORRUPT, "URL"),
    "long": (b"path\n" + b"x" * 5000 + b"\n", CORRUPT, "too long"),
    "latin1": (b"path,t\nx,\xe4\n", CORRUPT, 'line 2, column "t": not valid UTF-8'),
    "latin1 class": (b"path,label\nx,\xe4\n", CORRUPT, 'line 2, column "label": not valid UTF-8'),
    "UTF-16": ("path\nx\n".encode("utf-16"), UNSUPPORTED, "UTF-16"),
    "wide": (b"path" + b",".join(b"c%d" % i for i in range(1100)) + b"\n", UNSUPPORTED, "1024 columns"),
    "64 fields": (b"path," + b",".join(b"c%d" % i for i in range(64)) + b"\nx" + b",1" * 64 + b"\n", UNSUPPORTED, "64 col"),
    "long name": (b"path," + b"x" * 256 + b"\nx,1\n", UNSUPPORTED, "255 bytes"),
    "huge": (b'path,t\nx,"' + b"y" * (17 << 20), UNSUPPORTED, "line 2: a row has more than 16 MiB"),
}  # fmt: skip
BAD_JSON = {
    "array": (b'[{"path": "x"}]\n', CORRUPT, "line 1: not a JSON object: each line"),
    "no JSON": (b'{"path": "x"}\n\n{"path": }\n', CORRUPT, "line 3: not a JSON object"),
    "two": (b'{"path": "x"} {"path": "y"}\n', CORRUPT, "line 1: not a JSON object"),
    "twice": (b'{"path": "x", "a.b": 1, "a": {"b": 2}}\n', CORRUPT, 'column "a.b": it occurs twice'),
    "duplicate": (b'{"path": "x", "path": "y"}\n', CORRUPT, "line 1"),
    "number": (b'{"path": 1}\n', CORRUPT, "not the path of an image"),
    "lacks it": (b'{"path": "x"}\n{"a": 1}\n', CORRUPT, 'line 2, column "path": the path of the image is missing'),
    "NUL in a path": (b'{"path": "x\\u0000y"}\n', CORRUPT, "NUL"),
    "NUL in a class": (b'{"path": "x", "label": "a\\u0000b"}\n', CORRUPT, 'column "label"'),
    "NUL in a text": (b'{"path": "x", "t": "a\\u0000b"}\n', CORRUPT, 'column "t"'),
    "large number": (b'{"path": "x", "n": 9223372036854775808}\n', CORRUPT, "line 1.*integer"),
    "deep": (b'{"path": "x", "n": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", CORRUPT, "line 1.*depth"),
    "empty": (b"\n\n", INVALID, "no column has a usual name"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables(tmp_path, name):
    content, error, words = BAD[name]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(error, match=words) as told:
        sluice.Dataset(tmp_path / "a.csv")
    assert "a.csv" in str(told.value)


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_lines(tmp_path, name):
    content, error, words = BAD_JSON[name]
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(error, match=words):
        sluice.Dataset(tmp_path / "a.jsonl")


def test_tables_are_not_joined(pictures):
    path = write_csv(pictures / "a.csv", [{"path": "pics/0.png"}])
    with pytest.raises(INVALID, match="cannot be joined"):
        sluice.Dataset([path, path])


def test_what_is_called_image_is_the_picture(pictures):
    rows = [{"path": "nothing", "other": f"pics/{number}.png"} for number in range(3)]
    data = sluice.Dataset(write_csv(pictures / "two.csv", rows), fields={"image": "other"})
    assert list(data.fields) == ["image"] and data.fields["image"].type == "image"
    assert data[1]["image"] == (pictures / "pics/1.png").read_bytes()


@pytest.fixture
def decimal_comma(tmp_path, monkeypatch):
    """A locale in which 1.5 is written 1,5."""
    made = tmp_path / "locales"
    made.mkdir()
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made / "de_DE.UTF-8"], capture_output=True)
        monkeypatch.setenv("LOCPATH", str(made))
        locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
    except (OSError, locale.Error):
        pytest.skip("localedef cannot make de_DE.UTF-8 (package locales)")
    assert locale.localeconv()["decimal_point"] == ","
    yield
    locale.setlocale(locale.LC_NUMERIC, "C")


def test_numbers_have_a_point_whatever_the_locale(pictures, decimal_comma):
    rows = [{"path": "pics/0.png", "x": "1.5"}, {"path": "pics/1.png", "x": "0.5"}]
    data = sluice.Dataset(write_csv(pictures / "a.csv", rows))
    assert data[0]["x"] == 1.5 and len(data.where("x > 1.25")) == 1
    sluice.unpack(data, pictures / "files", tar=True, progress=False)
    assert "1.5" in "".join(path.read_bytes().decode("latin-1") for path in (pictures / "files").glob("*.tar"))


def test_the_same_table_is_the_same_dataset(pictures):
    rows = [row_of(number) for number in range(ROWS)]
    sums = []
    for path, table in (("a.csv", rows), ("b.csv", rows), ("c.csv", rows[::-1]), ("d.csv", rows[:-1])):
        data = sluice.Dataset(write_csv(pictures / path, table))
        sums.append(data.fingerprint)
    assert sums[0] == sums[1] and len(set(sums)) == 3


def test_training(pictures):
    """Batches equal those of class folders with the same images; resumed; packed."""
    rows = []
    for number in range(24):
        folder = pictures / "photos" / f"c{number // 8}"
        folder.mkdir(parents=True, exist_ok=True)
        noise = numpy.random.default_rng(number).integers(0, 255, (40, 50, 3), dtype=numpy.uint8)
        Image.fromarray(noise).save(folder / f"{number:02}.jpg")
        boxes = [[number, 1, 2, 3]] * (number % 3)
        rows.append({"file": f"photos/c{number // 8}/{number:02}.jpg", "label": f"c{number // 8}", "boxes": boxes})
    path = write_csv(pictures / "a.csv", rows)
    options = {"batch_size": 5, "shuffle": True, "seed": 3, "transform": T.RandomResizedCrop(16), "num_workers": 2}

    def batches(source):
        return [[column.numpy().tobytes() for column in batch] for batch in sluice.Loader(source, **options)]

    whole = batches(path)
    assert whole == batches(pictures / "photos") and len(whole) == 5
    loader = sluice.Loader(path, **options)
    iterator = iter(loader)
    next(iterator), next(iterator)
    other = sluice.Loader(path, **options)
    other.load_state_dict(loader.state_dict())
    assert [[column.numpy().tobytes() for column in batch] for batch in other] == whole[2:]
    sluice.pack(path, pictures / "packed", keep_order=True, keep_bytes=True, progress=None)
    assert batches(pictures / "packed") == whole
    data = sluice.Dataset(pictures / "packed")
    assert list(data.classes) == ["c0", "c1", "c2"] and [sample["key"] for sample in data] == [r["file"] for r in rows]
    assert [plain(sample["boxes"]) for sample in data] == [row["boxes"] for row in rows]
