# SPDX-License-Identifier: Apache-2.0
"""Shared by test_gpu.py, gpu_cupy.py and gpu_jax.py: the search for a GPU, data, and the batches of the host."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import pytest

import sluice
from sluice import transforms as T

HERE = os.path.dirname(os.path.abspath(__file__))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DTYPES, LAYOUTS = ("uint8", "float16", "bfloat16", "float32"), ("NHWC", "NCHW")
SIDE = 24


def skip_without_gpu():
    """Skips the module if the driver finds no device: that takes no import of a framework."""
    name = os.environ.get("SLUICE_CUDA_DRIVER", "libcuda.so.1")
    try:
        driver, count = ctypes.CDLL(name), ctypes.c_int()
    except OSError as error:
        pytest.skip(f"no CUDA driver: {error}", allow_module_level=True)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        pytest.skip(f"{name} finds no device", allow_module_level=True)
    return driver


def run_module(name):
    """Runs a module's tests in a process of its own: a crash, or torch's versions of shared libraries, cannot disturb others."""
    options = ["-q", "-rsxX", "-p", "no:cacheprovider"]
    command = [sys.executable, "-X", "faulthandler", "-m", "pytest", *options, os.path.join(HERE, name)]
    with tempfile.TemporaryFile("w+") as output:  # a process that does not end leaves its output, too
        try:
            code = subprocess.run(command, cwd=HERE, stdout=output, stderr=subprocess.STDOUT, timeout=120).returncode
        except subprocess.TimeoutExpired:
            code = "a timeout"
        output.seek(0)
        said = output.read()
    if code in (5, 77):
        pytest.skip(said.strip()[-300:])
    if code != 0:
        pytest.fail(f"{name} ended with {code}:\n{said[-12000:]}", pytrace=False)
    last = [line for line in said.splitlines() if line.startswith(("SKIPPED", "XFAIL", "XPASS")) or " passed" in line]
    warnings.warn(f"{name}: " + "; ".join(last), stacklevel=1)  # pytest shows warnings also of tests that pass


def recipe(dtype):
    """Returns steps whose last ones a device can do itself."""
    crop = [T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip()]
    return crop if dtype == "uint8" else [*crop, T.ToTensor(), T.Normalize(MEAN, STD)]


def names_of(batch):
    return [*batch.keys(), *batch.parts(), "index", "mask", "status"]


def bits(column):
    """Returns (dtype, shape, bytes) of a column in host memory."""
    return column.dtype, tuple(column.shape), ctypes.string_at(column.data_ptr, column.nbytes) if column.nbytes else b""


def host_epoch(data, **options):
    """Returns the bits of each batch of an epoch on the host, by name."""
    with sluice.Loader(data, **options | {"device": "cpu"}) as loader:
        return [{name: bits(batch[name]) for name in names_of(batch)} for batch in loader]


def wait_until(done):
    """Waits, since frameworks may free memory on threads of their own; not for long, because a GPU is lent for minutes."""
    end = time.monotonic() + 10
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    return done()


def write_objects(path, count=16):
    """Writes images with boxes, labels and polygons. The first four samples have none: a batch of them has empty columns."""
    fields = {
        "image": "image", "mask": ("tensor", "uint8", (0, 0)), "boxes": ("tensor", "float32", (0, 4)),
        "labels": ("tensor", "int64", (0,)), "shapes": "text", "class": "int",
    }  # fmt: skip
    random = numpy.random.RandomState(7)
    with sluice.Writer(path, fields) as writer:
        for number in range(count):
            height, width = random.randint(40, 70, 2)
            image = random.randint(0, 256, (height, width, 3)).astype("uint8")
            corners = numpy.sort(random.rand(number % 4 if number >= 4 else 0, 2, 2) * [width, height], axis=1)
            boxes = numpy.concatenate([corners[:, 0], corners[:, 1] + 1], axis=1).astype("float32")
            polygons = [[[b[0], b[1], b[2], b[1], b[2], b[3], b[0], b[3]]] for b in boxes.tolist()]
            writer.add(
                image=image, mask=image[:, :, 0].copy(), boxes=boxes, labels=numpy.arange(len(boxes)) + 10 * number,
                shapes=json.dumps(polygons), **{"class": number % 4},
            )  # fmt: skip
    return path
