#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizes a folder of JSON Lines into a packed dataset, in several processes.

    tokenize_jsonl.py DOCS PACKED [--field text] [--processes N] [--tokenizer tokenizer.json]

DOCS: *.jsonl files or a folder of them; each line is an object with a text. Documents without text are left out and counted.
Tokens are the bytes of the text and an end token, 256; with --tokenizer, those of a Hugging Face tokenizer (package
`tokenizers`). The same command resumes an interrupted run; with another tokenizer or field it fails. Prints the number of
packed documents, and of a loader's batches.
"""
import argparse
import hashlib
import os
from pathlib import Path

import sluice
from sluice import columns as C

END = 256


class ByteTokenizer:
    def encode(self, text):
        return [*text.encode(), END]


class FileTokenizer:
    """Opens the tokenizer once per process: pickle copies the path, not the tokenizer."""

    def __init__(self, path):
        import tokenizers

        self.path, self._tokenizer = path, tokenizers.Tokenizer.from_file(path)

    def __reduce__(self):
        return FileTokenizer, (self.path,)

    def encode(self, text):
        return self._tokenizer.encode(text).ids


class Tokenize:
    """Returns the function to call for each document."""

    def __init__(self, field, tokenizer):
        self.field, self.tokenizer = field, tokenizer

    def __call__(self, sample):
        text = sample[self.field]
        return {"tokens": self.tokenizer.encode(text)} if text.strip() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs")
    parser.add_argument("packed")
    parser.add_argument("--field", default="text")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--tokenizer", metavar="tokenizer.json")
    arguments = parser.parse_args()
    tokenizer, version = ByteTokenizer(), "bytes"
    if arguments.tokenizer:
        tokenizer, version = FileTokenizer(arguments.tokenizer), hashlib.sha256(Path(arguments.tokenizer).read_bytes()).hexdigest()
    made = sluice.pack(
        sluice.JsonLines(arguments.docs), arguments.packed,
        map=Tokenize(arguments.field, tokenizer), map_version=f"{arguments.field} {version}", processes=arguments.processes,
        map_fields={"tokens": ("tensor", "int32", (0,))}, zstd="off",  # windows need plain tensors
    )  # fmt: skip
    print(f"{made.mapped} documents read, {made.left_out} without text, {made.samples} packed, {made.bytes} bytes")
    columns = {"tokens": C.Window("tokens", length=16, dtype="int64")}
    with sluice.Loader(arguments.packed, batch_size=8, shuffle=True, drop_last=True, columns=columns) as loader:
        batches = sum(1 for _ in loader)
    print(f"{batches} batches of 8 windows of 16 tokens")


if __name__ == "__main__":  # worker processes import this file
    main()
