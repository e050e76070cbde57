#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that tests/data/conversion.ptx.zst, the text of the conversion kernels for builds without nvcc, is made of the sources here.

Usage: device_ptx_text.py [--renew] SOURCE PTX
PTX: the text that a build with nvcc made (BUILD/src/device/conversion.ptx); it may be missing, except with --renew, which packs it.
tests/data/conversion.ptx.sum has the digests: of the sources without comments and white space, of the text, and the compiler's name.
"""
import hashlib
import re
import subprocess
import sys
from pathlib import Path

SOURCES = ["src/device/conversion.cu", "src/device/conversion_body.h", "src/device/mixing_body.h", "src/device/conversion_kernel.h",
           "src/device/conversion.h", "cmake/SluiceOldPtx.cmake"]
# Of larger files only what the kernels depend on.
PARTS = {"include/sluice/common.h": r"\bSLUICE_(?:U8|F32|F16|BF16|NHWC|NCHW)\b[^,}]*",
         "cmake/SluiceCudaKernels.cmake": r"set\(SLUICE_PTX_\w+ [^)]*\)|\$\{nvcc\} -ptx[^\n]*|set\(nvcc [^)]*\)"}


def squeezed(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#(?!\s*(?:if|el|end|def|inc|pragma|undef))[^\n]*", " ", text, flags=re.S | re.M)
    return " ".join(text.split())


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def source_digest(root):
    parts = [squeezed((root / name).read_text()) for name in SOURCES]
    for name, pattern in PARTS.items():
        found = re.findall(pattern, squeezed((root / name).read_text()))
        if len(found) < 3:
            sys.exit(f"{name}: nothing that the kernels depend on was found")
        parts.append(" ".join(found))
    return digest("\n".join(parts))


def compiler(ptx):
    found = re.search(r"Cuda compilation tools, [^\n]*", ptx)
    return found.group(0) if found else "unknown"


def facts(root, ptx):
    return {"sources": source_digest(root), "text": digest(ptx), "compiler": compiler(ptx)}


def main():
    renew = sys.argv[1] == "--renew"
    root, built = map(Path, sys.argv[-2:])
    packed = root / "tests/data/conversion.ptx.zst"
    sums = root / "tests/data/conversion.ptx.sum"
    if renew:
        subprocess.run(["zstd", "-q", "-f", "--ultra", "-22", str(built), "-o", str(packed)], check=True)
        sums.write_text("".join(f"{name}: {value}\n" for name, value in facts(root, built.read_text()).items()))
        return 0
    kept = dict(line.split(": ", 1) for line in sums.read_text().splitlines())
    how = f"build with nvcc, then: tests/unit/device_ptx_text.py --renew . BUILD/{'src/device/conversion.ptx'}"
    if kept["sources"] != source_digest(root):
        print(f"the kernels' sources are not those that {packed.name} is made of: {how}")
        return 1
    try:
        text = subprocess.run(["zstd", "-q", "-d", "-c", str(packed)], check=True, stdout=subprocess.PIPE).stdout.decode()
        if digest(text) != kept["text"]:
            print(f"{packed.name} is not the text that {sums.name} names: {how}")
            return 1
    except FileNotFoundError:
        print("no zstd here: the packed text is not looked at")
    if built.exists():
        here = facts(root, built.read_text())
        if here["compiler"] != kept["compiler"]:
            print(f"made by another compiler, {here['compiler']}: the text may differ")
        elif here["text"] != kept["text"]:
            print(f"this build's text is another one: {how}")
            return 1
    return 0


sys.exit(main())
