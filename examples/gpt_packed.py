#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small byte-level GPT on packed rows: several whole documents per row, which do not see each other.

    gpt_packed.py [FOLDER] [--packed PATH] [--steps N]

FOLDER: any folder; each of its files is a document [docstrings of Python's standard library]. PATH: output for the packed
documents [a temporary folder]. `tokens.documents` gives the attention mask, `tokens.targets` the targets of the loss. Prints the
loss, which falls, and checks that the logits of a document are the same in its row and alone.
"""
import argparse
import ast
import itertools
import os
import pathlib
import tempfile

import numpy
import torch
from torch import nn

import sluice.torch
from sluice import columns as C

LENGTH, BATCH, WIDTH, HEADS, LAYERS = 256, 3, 32, 2, 2
IGNORE = -100  # target of positions without a target
MODULES = 40  # of the library, with about 700 docstrings of functions and classes


def docstrings():
    """Yields docstrings of Python's standard library, as bytes."""
    library = pathlib.Path(os.__file__).parent
    for path in sorted(library.glob("*.py"))[:MODULES]:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield (ast.get_docstring(node) or "").encode()


def files(folder):
    return (path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file())


def write(documents, path):
    """Writes a dataset with one document per sample; a byte is a token."""
    with sluice.Writer(path, {"tokens": ("tensor", "uint8", (0,))}, zstd="off") as writer:
        for document in documents:
            if document:
                writer.add(tokens=numpy.frombuffer(document, numpy.uint8))


def open_loader(path):
    columns = {"tokens": C.Packed(length=LENGTH, cut="long")}
    return sluice.torch.DataLoader(path, batch_size=BATCH, shuffle=True, drop_last=True, seed=5, ignore_index=IGNORE, columns=columns)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.ask, self.answer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        rows, length, _ = x.shape
        query, key, value = self.ask(self.norms[0](x)).view(rows, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5  # torch 2.0: scaled_dot_product_attention(query, key, value, mask)
        seen = scores.masked_fill(~mask, -torch.inf).softmax(3) @ value
        x = x + self.answer(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(256, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256))

    def forward(self, tokens, documents, positions):
        """Returns logits, rows x length x 256. A token sees itself and earlier tokens of its document."""
        before = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril()
        mask = (before & (documents[:, :, None] == documents[:, None]))[:, None]  # for all heads
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


def train(loader, model, steps):
    """Returns the losses, in nats per token."""
    optimizer, losses = torch.optim.Adam(model.parameters(), 5e-3), []
    epochs = itertools.chain.from_iterable(itertools.repeat(loader))
    for step, batch in enumerate(itertools.islice(epochs, steps), 1):
        logits = model(batch["tokens"], batch["tokens.documents"], batch["tokens.positions"])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch["tokens.targets"].flatten(), ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        if step % 20 == 0 or step == 1:
            print(f"step {step}: {losses[-1]:.2f} nats per token", flush=True)
    return losses


@torch.no_grad()
def compare(model, batch, documents):
    """Returns the number of documents compared and the largest difference of logits in the row and alone. documents: as tokens.documents."""
    together, count, differences = model(batch["tokens"], documents, batch["tokens.positions"]), batch["tokens.count"], []
    for row in range(len(count)):
        for number in range(count[row]):
            begin, length = batch["tokens.cu_seqlens_padded"][row, number], batch["tokens.lengths"][row, number]
            alone = batch["tokens"][row : row + 1, begin : begin + length]
            logits = model(alone, torch.zeros_like(alone), torch.arange(length)[None])[0]
            differences.append(float((logits - together[row, begin : begin + length]).abs().max()))
    return len(differences), max(differences)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--packed")
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        path = arguments.packed or os.path.join(temporary, "documents")
        write(files(arguments.folder) if arguments.folder else docstrings(), path)
        data = sluice.Dataset(path)
        made = sluice.packed_rows(data.lengths("tokens"), LENGTH, cut="long")
        print(f"{made.documents} documents in {made.rows} rows of {LENGTH} bytes, {made.padding:.1%} padding, {made.cut} cut")
        model, loader = GPT(), open_loader(data)
        losses = train(loader, model, arguments.steps)
        batch = next(iter(loader))
        count, difference = compare(model, batch, batch["tokens.documents"])
        _, other = compare(model, batch, torch.zeros_like(batch["tokens.documents"]))
    print(f"logits of {count} documents, in their rows and alone, differ by at most {difference:.1g}; with only a causal mask by {other:.1g}")
    if difference > 1e-4:
        return "documents of a row see each other"
    return 0 if losses[-1] < 0.75 * losses[0] else "the loss did not fall"


if __name__ == "__main__":
    raise SystemExit(main())
