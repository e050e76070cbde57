# SPDX-License-Identifier: Apache-2.0
"""Texts of a batch as str."""
import numpy
import pytest
from test_batch_parts import kinds

import sluice
from sluice import columns as C

TEXTS = ["a dog", "", "ein Ü", "犬と猫", "x" * 30]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "p"
    fields = {"text": "text", "raw": "bytes", "number": "int", "pixels": ("tensor", "uint8", (3, 2)), "words": ("tensor", "int32", (0,))}
    with sluice.Writer(path, fields) as writer:
        for number, text in enumerate(TEXTS):
            raw = b"ab\xff\xfe" if number == 3 else text.encode()
            writer.add(text=text, raw=raw, number=number, pixels=numpy.zeros((3, 2), "uint8"), words=[1] * number)
    return sluice.Dataset(path)


@pytest.mark.parametrize("kind", kinds())
def test_texts_of_ragged_and_padded_columns(data, kind):
    loader = kind(data, batch_size=3, columns={"ragged": C.Ragged("text", length=40), "padded": C.Padded("text", length=40)}, last_batch="pad")
    batches = list(loader)
    for name in ("ragged", "padded"):
        assert [text for batch in batches for text in batch.texts(name)] == [*TEXTS, ""]
    if kind is not sluice.Loader:
        assert batches[0].to("cpu").texts("ragged") == TEXTS[:3]


@pytest.mark.parametrize("column", [C.Ragged, C.Padded])
@pytest.mark.parametrize("kind", kinds())
def test_bytes_that_are_not_text(data, kind, column):
    (batch,) = kind(data, batch_size=5, columns={"raw": column(length=40)})
    with pytest.raises(UnicodeDecodeError, match=r"in position 2: invalid start byte, in row 3 \(sample 3\) of 'raw'; errors='replace'") as told:
        batch.texts("raw")
    assert isinstance(told.value, ValueError) and told.value.start == 2 and told.value.object == b"ab\xff\xfe"
    assert batch.texts("raw", errors="replace")[3] == "ab\ufffd\ufffd" and batch.texts("raw", "ignore")[3] == "ab"
    with pytest.raises(LookupError):
        batch.texts("raw", errors="no such")


@pytest.mark.parametrize("column", [C.Ragged, C.Padded])
def test_texts_that_were_cut_inside_a_character(data, column):
    (batch,) = sluice.Loader(data, batch_size=5, columns={"text": column(length=5, too_long="truncate")})
    assert batch.texts("text", "ignore") == ["a dog", "", "ein ", "犬", "xxxxx"]
    with pytest.raises(UnicodeDecodeError, match=r"row 2 \(sample 2\) of 'text' .too_long='truncate' cuts at a byte"):
        batch.texts("text")


@pytest.mark.parametrize("kind", kinds())
def test_columns_without_texts(data, kind):
    columns = {"number": C.Number(), "pixels": C.Tensor(), "words": C.Ragged(length=9), "padded": C.Padded("words", length=9)}
    (batch,) = kind(data, batch_size=5, columns=columns)
    for name in columns:
        with pytest.raises(TypeError, match=f"'{name}' has no texts .*(int64|uint8|int32).*columns.Ragged or Padded"):
            batch.texts(name)
    with pytest.raises(KeyError, match="'txt'"):
        batch.texts("txt")
    batch["number"] = ["a"] * 5
    with pytest.raises(TypeError, match="it is list"):
        batch.texts("number")
    batch.release()
    with pytest.raises(sluice.StateError):
        batch.texts("words")
