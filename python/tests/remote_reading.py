# SPDX-License-Identifier: Apache-2.0
"""Digests of a dataset's content, to compare: computed here, or in another process with other credentials.

remote_reading.py < {"NAME": "ADDRESS", ...} prints {"NAME": {"format":, "samples":, "epochs":} or {"error":}}. The key
"configure" has the options of sluice.remote.configure."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import sluice
from sluice import columns as C
from sluice import transforms as T


def plain(value):
    """Returns a field's value as bytes that include its type and shape."""
    if hasattr(value, "tobytes"):
        return repr((str(getattr(value, "dtype", "")), getattr(value, "shape", ""))).encode() + value.tobytes()
    return repr(value).encode()


def samples_of(data):
    digest = hashlib.sha256()
    for sample in data:
        for name, value in sample.items():
            digest.update(name.encode() + b"\0" + plain(value))
    return digest.hexdigest()


def epochs_of(data, epochs=2, **options):
    """Returns a digest of all batches, or the type of the error if no loader can be opened."""
    columns = {"image": C.Image(transform=T.RandomResizedCrop(16))} if "image" in data.fields else None
    options = {"batch_size": 3, "shuffle": True, "seed": 5, "num_workers": 2, "columns": columns, "last_batch": "short"} | options
    digest = hashlib.sha256()
    try:
        with sluice.Loader(data, **options) as loader:
            for epoch in range(epochs):
                loader.set_epoch(epoch)
                for batch in loader:
                    for name in batch.keys():
                        digest.update(name.encode() + b"\0" + plain(batch[name].numpy()))
    except (sluice.InvalidError, sluice.UnsupportedError, sluice.CorruptError, TypeError, ValueError) as error:
        return type(error).__name__
    return digest.hexdigest()


def run(data, epochs, state=None, stop=None, **options):
    """Returns digests of the batches of some epochs, up to batch `stop` of the last one, and the state there."""
    found = []
    if "image" in data.fields:
        options["columns"] = {"image": C.Image(transform=T.RandomResizedCrop(16))}
    with sluice.Loader(data, batch_size=2, seed=7, num_workers=1, **options) as loader:
        if state is not None:
            loader.load_state_dict(state)
        for epoch in epochs:
            loader.set_epoch(epoch)
            for number, batch in enumerate(loader):
                found.append(hashlib.sha256(b"".join(plain(batch[name].numpy()) for name in batch.keys())).hexdigest())
                if epoch == epochs[-1] and number == stop:
                    return [found, loader.state_dict()]
        return [found, loader.state_dict()]


def fill_or_run(address, runs=(), fill=False):
    """Returns the result of filling the cache with a dataset, or the result of each of `runs`."""
    if fill:
        return sluice.cache.fill(address, progress=None)._asdict()
    data = sluice.Dataset(address)
    return [run(data, **options) for options in runs]


def read(address):
    try:
        data = sluice.Dataset(address)
        if data.front_to_back:
            return {"format": data.format, "epochs": epochs_of(data, shuffle=False)}
        return {"format": data.format, "count": len(data), "samples": samples_of(data), "epochs": epochs_of(data)}
    except sluice.Error as error:
        return {"error": type(error).__name__, "text": str(error)}


def read_elsewhere(addresses, environment, **configure):
    """Returns the same for several datasets, read by another process with these variables."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", pathlib.Path(__file__)], text=True, capture_output=True, timeout=600,
                          input=json.dumps({**addresses, "configure": configure}),
                          env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


if __name__ == "__main__":
    given = json.load(sys.stdin)
    options = given.pop("configure")
    if options:
        sluice.remote.configure(**options)
    json.dump({name: read(address) for name, address in given.items()}, sys.stdout)
