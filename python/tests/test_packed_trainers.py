# SPDX-License-Identifier: Apache-2.0
"""Runs the lines of docs/packed-trainers.md for each trainer on a batch, and compares with the documents themselves. The trainers' rules are
written again here, after their sources; no trainer is called."""
import re

import numpy
import pages
import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402
import sluice.torchtitan  # noqa: E402

EOS, ROWS, LENGTH, IGNORE = 4999, 4, 128, -100
TABLE = torch.randn(EOS + 1, 40, generator=torch.Generator().manual_seed(1))


def make_pairs(count=60):
    """Documents 2n and 2n + 1 begin with the same prompt. Each has its own tokens, which identify it."""
    chance, made, first = numpy.random.default_rng(5), [], 1
    for _ in range(count):
        prompt, chosen, rejected = chance.integers(2, 40, 3)
        text = list(range(first, first + prompt + chosen + rejected))
        made += [[*text[: prompt + chosen], EOS], [*text[:prompt], *text[prompt + chosen :], EOS]]
        first += len(text)
    assert first <= EOS
    return made


def model(tokens, documents, positions):
    """Returns scores of the next token, from the token and its position."""
    return (TABLE[tokens] + positions[:, :, None] * torch.arange(40) / 100).repeat(1, 1, (EOS + 1) // 40)


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Yields the names defined after each heading's lines, which run one after another, as on the page."""
    folder = tmp_path_factory.mktemp("trainers")
    with sluice.Writer(folder / "documents", {"tokens": ("tensor", "uint16", (0,))}, zstd="off") as writer:
        for document in make_pairs():
            writer.add(tokens=numpy.array(document, "uint16"))
    text = (pages.DOCS / "packed-trainers.md").read_text()
    names, made = {"model": model}, {"folder": folder}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for part in re.split(r"^## ", text, flags=re.MULTILINE):
            heading = part.partition("\n")[0].partition(":")[0].partition(",")[0]
            for block in re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL):
                exec(compile(block, f"packed-trainers.md, {heading}", "exec"), names)
                made[heading] = dict(names)
    assert len(made) == 9
    return made


def documents_of(batch):
    """Returns (row, first element, tokens) of each document of a batch, in order; each is in the dataset, and none repeats."""
    known, made = {tuple(document) for document in make_pairs()}, []
    for row, count in enumerate(batch["tokens.count"].tolist()):
        for number in range(count):
            begin, length = (int(batch[f"tokens.{name}"][row, number]) for name in ("cu_seqlens_padded", "lengths"))
            made.append((row, begin, batch["tokens"][row, begin : begin + length].tolist()))
            known.remove(tuple(made[-1][2]))
    return made


def seen(batch, length=LENGTH):
    """Returns the elements that each token of a document attends to, and which elements are tokens of a document."""
    made, real = numpy.zeros((ROWS, length, length), bool), numpy.zeros((ROWS, length), bool)
    for row, begin, document in documents_of(batch):
        for k in range(len(document)):
            made[row, begin + k, begin : begin + k + 1] = real[row, begin + k] = True
    return made, real


def segments(cu_seqlens, flat):
    assert cu_seqlens.dtype == torch.int32 and cu_seqlens[0] == 0 and (cu_seqlens.diff() > 0).all()
    return [flat[begin:end].tolist() for begin, end in zip(cu_seqlens[:-1], cu_seqlens[1:])]


def test_attention_of_torch(states):
    names = states["torch"]
    wanted, real = seen(names["batch"])
    mask = names["mask"]
    assert mask.shape == (ROWS, 1, LENGTH, LENGTH) and mask.dtype == torch.bool and mask.any(3).all()  # no softmax over nothing
    assert (mask[:, 0].numpy()[real] == wanted[real]).all()
    b, q, kv = torch.arange(ROWS)[:, None, None], torch.arange(LENGTH)[:, None], torch.arange(LENGTH)
    assert torch.equal(names["mask_mod"](b, torch.tensor(0), q, kv), mask[:, 0])


def test_sequences_without_padding(states):
    names, documents = states["flash-attn"], [document for _, _, document in documents_of(states["flash-attn"]["batch"])]
    assert segments(names["cu_seqlens"], names["inputs"]) == documents
    assert segments(names["cu_seqlens"], names["labels"]) == [[*document[1:], IGNORE] for document in documents]
    assert segments(names["cu_seqlens"], names["places"]) == [list(range(len(document))) for document in documents]
    assert names["max_seqlen"] == max(map(len, documents))
    parts = segments(names["whole"], names["tokens"].flatten())
    assert [part for part in parts if any(part)] == documents and sum(map(len, parts)) == ROWS * LENGTH


def test_sequences_in_slots(states):
    """THD: a document begins at its padded offset; its length comes from the unpadded offsets."""
    names = states["Transformer Engine and Megatron"]
    thd, flat, documents = names["thd"], names["tokens"].flatten(), documents_of(names["batch"])
    assert set(thd) == {"qkv_format"} | {f"{part}_{side}" for part in ("cu_seqlens", "max_seqlen") for side in ("q", "kv")} | {"cu_seqlens_q_padded", "cu_seqlens_kv_padded"}
    sums, padded = thd["cu_seqlens_q"], thd["cu_seqlens_q_padded"]
    assert sums.dtype == padded.dtype == torch.int32 and sums.shape == padded.shape == (len(documents) + 1,)
    assert padded[0] == 0 and padded[-1] == ROWS * LENGTH and not (padded % 4).any() and (padded.diff() >= sums.diff()).all()
    assert [flat[begin : begin + length].tolist() for begin, length in zip(padded, sums.diff())] == [document for _, _, document in documents]
    assert thd["max_seqlen_q"] == thd["max_seqlen_kv"] == int(padded.diff().max()) <= LENGTH
    assert thd["cu_seqlens_kv"] is sums and thd["cu_seqlens_kv_padded"] is padded


def test_megatron(states):
    batch, made = states["Megatron-LM's GPT batch"]["batch"], states["Megatron-LM's GPT batch"]["megatron"]
    wanted, real = seen(batch)
    assert {name: (tuple(value.shape), value.dtype) for name, value in made.items()} == {
        "tokens": ((ROWS, LENGTH), torch.int64), "labels": ((ROWS, LENGTH), torch.int64), "loss_mask": ((ROWS, LENGTH), torch.float32),
        "attention_mask": ((ROWS, 1, LENGTH, LENGTH), torch.bool), "position_ids": ((ROWS, LENGTH), torch.int64),
    }  # fmt: skip
    assert (made["attention_mask"][:, 0].numpy()[real] == ~wanted[real]).all()
    trained = [(row, begin + k, document[k + 1]) for row, begin, document in documents_of(batch) for k in range(len(document) - 1)]
    rows, places, labels = zip(*trained)
    assert made["loss_mask"].sum() == len(trained) and (made["loss_mask"][rows, places] == 1).all()
    assert made["labels"][rows, places].tolist() == list(labels) and made["labels"].min() >= 0


def test_torchtitan(states):
    names = states["torchtitan"]
    (inputs, labels), batch = names["titan_main"], names["batch"]
    assert inputs["input"].shape == inputs["positions"].shape == labels.shape == (ROWS * LENGTH,) and inputs["positions"].dtype == torch.int64
    number = (inputs["positions"] == 0).cumsum(0)
    for row, begin, document in documents_of(batch):
        own = (number == number[row * LENGTH + begin]).nonzero()[:, 0] - row * LENGTH
        assert own.tolist() == list(range(begin, begin + len(document)))
    loader = sluice.torch.DataLoader(states["folder"] / "documents", batch_size=ROWS, shuffle=True, drop_last=True, columns={"tokens": C.Packed(length=LENGTH, align=4)})
    flat = sluice.torchtitan.dataloader(loader, {"input": "tokens", "positions": "tokens.positions"}, "tokens.targets", flat=True)
    found, wanted = next(iter(flat)), names["titan_main"]
    assert set(found[0]) == set(wanted[0]) and torch.equal(found[1], wanted[1]) and all(torch.equal(found[0][name], wanted[0][name]) for name in wanted[0])
    made = sluice.torchtitan.dataloader(names["loader"], {"input": "tokens"}, "tokens.targets")
    inputs, labels = next(iter(made))
    assert list(inputs) == list(names["titan_02"][0]) and inputs["input"].shape == labels.shape == names["titan_02"][1].shape


@pytest.mark.parametrize("column", [{"length": 128}, {"length": 48, "cut": "long"}], ids=str)
def test_documents_by_eos(states, column):
    """torchtitan 0.2: a document ends with eos. The rest of a row is another document, or empty."""
    loader = sluice.torch.DataLoader(states["folder"] / "documents", batch_size=ROWS, shuffle=True, drop_last=True, columns={"tokens": C.Packed(**column)})
    for batch in loader:
        ends = batch["tokens"] == EOS
        number = torch.nn.functional.pad(ends[:, :-1].cumsum(1), (1, 0))
        documents = batch["tokens.documents"]
        assert torch.equal(number[:, :, None] == number[:, None], documents[:, :, None] == documents[:, None])


def test_hugging_face(states):
    """The batch of DataCollatorWithFlattening; the loss shifts the labels."""
    names = states["Hugging Face"]
    made, documents = names["hugging_face"], [document for _, _, document in documents_of(names["batch"])]
    sums = numpy.cumsum([0, *map(len, documents)]).tolist()
    assert {name: value if isinstance(value, int) else value.tolist() for name, value in made.items()} == {
        "input_ids": [sum(documents, [])], "position_ids": [[k for document in documents for k in range(len(document))]],
        "labels": [[token for document in documents for token in (IGNORE, *document[1:])]],
        "cu_seq_lens_q": sums, "cu_seq_lens_k": sums, "max_length_q": max(map(len, documents)), "max_length_k": max(map(len, documents)),
    }  # fmt: skip
    assert all(made[name].dtype == torch.int64 for name in ("input_ids", "position_ids", "labels")) and made["cu_seq_lens_q"].dtype == torch.int32


def test_preferences(states):
    names = states["Pairs for DPO"]
    documents = [document for _, _, document in documents_of(names["batch"])]
    left, right, prompts = documents[0::2], documents[1::2], []
    pairs = make_pairs()
    for one, other in zip(left, right, strict=True):
        assert pairs.index(other) == pairs.index(one) + 1 and pairs.index(one) % 2 == 0
        prompts.append(next(k for k, (a, b) in enumerate(zip(one, other)) if a != b))

    def score(document, first=1):
        tokens = torch.tensor([document[:-1]])
        scores = model(tokens, None, torch.arange(len(document) - 1)[None])[0].log_softmax(1)
        return float(sum(scores[k - 1, document[k]] for k in range(first, len(document))))

    assert numpy.allclose(names["chosen"], [score(document) for document in left], rtol=1e-4)
    assert numpy.allclose(names["rejected"], [score(document) for document in right], rtol=1e-4)
    answers = [score(one, k) - score(other, k) for one, other, k in zip(left, right, prompts)]
    assert numpy.allclose(names["chosen"] - names["rejected"], answers, atol=0.01)


def test_level_in_the_seat(states):
    """sluice.torch.DataLoader deals rows like sluice.Loader, which test_packed_level compares with its own dealer."""
    options = {"batch_size": 2, "shuffle": True, "seed": 7, "columns": {"tokens": C.Packed(length=LENGTH)}, "rank": 1, "world_size": 2, "drop_last": True}
    steps = [
        [numpy.asarray(batch["index"]).tolist() for batch in made(states["folder"] / "documents", **options, **more)]
        for made, more in ((sluice.torch.DataLoader, {"level": True}), (sluice.Loader, {"level": True}), (sluice.Loader, {}))
    ]
    assert steps[0] == steps[1] != steps[2]
