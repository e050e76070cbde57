#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kernel_instructions.py NVCC NVDISASM SOURCE ARCH ...: counts machine instructions of the conversion kernels.

Compiles SOURCE (src/device/conversion.cu, also of another checkout) for each architecture (75 90). Prints for each kernel
its registers, all its instructions, and those that a thread of a plain and of a flipped image executes if the image's width
is a multiple of 16. Runs nothing: it takes the longest path through the code that has the loads and stores of such a
thread. NVDISASM may be from another toolkit than NVCC.
"""
import collections
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

# Bits of sample loads: their width, and the number of additional 32-bit loads of a flipped NHWC thread.
LOADS = {"u8": (128, 6), "f16": (64, 4), "bf16": (64, 4), "f32": (32, 3)}
INCLUDES = pathlib.Path(__file__).resolve().parent.parent / "include"


def kernels(cubin):
    """Yields the name and code of each kernel, from the sections of an ELF file."""
    begin, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, begin + i * size) for i in range(count)]
    for section in sections:
        name = cubin[sections[names][4] + section[0]:].split(b"\0", 1)[0].decode()
        if name.startswith(".text.sl_conversion_"):
            yield name[len(".text.sl_conversion_"):], cubin[section[4]:section[4] + section[5]]


def disassemble(nvdisasm, code, arch, folder):
    """Returns (address, predicate, operation, operands) of each instruction, without padding."""
    (folder / "code").write_bytes(code)
    text = subprocess.run([nvdisasm, "-b", f"SM{arch}", folder / "code"], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"/\*([0-9a-f]+)\*/ +(@!?U?P\w+ )?\s*([A-Z0-9_.a-z]+) *(.*);", text)
    lines = [(int(address, 16), *rest) for address, *rest in found]
    while lines[-1][2] == "NOP" or (lines[-1][2] == "BRA" and target(lines[-1][3]) == lines[-1][0]):
        lines.pop()
    return lines


def target(operands):
    return int(operands.split("0x")[-1].split(",")[0], 16)


def access(operation):
    """Returns the kind of load or store and its bits; None: neither."""
    if not operation.startswith(("LDG", "STG")):
        return None
    bits = re.search(r"\.U?(8|16|64|128)(?=\.|$)", operation)
    return operation[:3], int(bits[1]) if bits else 32


def wanted(name, mirrored):
    dtype, layout = name.split("_")
    planes = 3 if layout == "nchw" else 1
    bits, more = LOADS[dtype]
    count = collections.Counter({("LDG", 8): 1})  # the flags
    count["LDG", bits] += planes
    count["STG", 128] += planes
    if mirrored:
        count["LDG", bits if planes == 3 else 32] += 3 if planes == 3 else more
    return count


def longest(lines, want):
    """Counts the instructions of the longest path with exactly these loads and stores; 0: no such path."""
    places = {line[0]: i for i, line in enumerate(lines)}
    ways = [(0, 0, collections.Counter(), frozenset())]
    seen = set()
    best = 0
    while ways:
        at, length, did, turns = ways.pop()
        while at not in turns:
            _, predicate, operation, operands = lines[at]
            length += 1
            kind = access(operation)
            if kind:
                did = did + collections.Counter([kind])
                if did[kind] > want[kind]:
                    break
            if operation == "EXIT" and not predicate:
                best = max(best, length) if did == want else best
                break
            if operation == "BRA":
                turns = turns | {at}
                state = (at, length, tuple(sorted(did.items())))
                if (predicate or "P" in operands) and state not in seen:
                    ways.append((at + 1, length, did, turns))
                elif predicate or "P" in operands:
                    break
                seen.add(state)
                at = places[target(operands)]
            else:
                at += 1
    return best


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    nvcc, nvdisasm, source, *archs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for arch in archs:
            log = subprocess.run([nvcc, "-cubin", "-O3", f"-arch=sm_{arch}", "-Xptxas", "-v", f"-I{INCLUDES}", "-o",
                                  folder / "cubin", source], check=True, stderr=subprocess.PIPE, text=True).stderr
            registers = dict(re.findall(r"entry function 'sl_conversion_(\w+)'.*?Used (\d+) registers", log, re.S))
            print(f"sm_{arch}      registers   all  plain   flipped")
            for kernel, code in sorted(kernels((folder / "cubin").read_bytes())):
                lines = disassemble(nvdisasm, code, arch, folder)
                ways = [longest(lines, wanted(kernel, mirrored)) for mirrored in (False, True)]
                print(f"{kernel:10} {registers[kernel]:>9} {len(lines):5}  {ways[0]:5}  {ways[1]:8}")


if __name__ == "__main__":
    main()
