#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""remote_loaders.py [options] NAME=ADDRESS[,cache=FOLDER[,cache_bytes=N]] ...: compares reading one dataset from several places.

A separate process reads each place, alternating (A B C A B C ...) for --rounds. It opens the dataset and reads --epochs epochs: photos with
RandomResizedCrop(224) and a flip to float32 batches of 64, or with --whole the fields as stored. The cache folder is emptied before each
round. Prints for each epoch medians and (min..max) of samples/s and of CPU ms per sample (user + system of the process, all threads), both
relative to the first place in the same round, the requests and bytes of the epoch, and the hit rate of the cache; and once the seconds and
requests from the process's first call to its first batch. --digest compares the sha256 of all batches.
"""
import argparse
import hashlib
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def counters():
    import sluice

    stats = sluice.remote.stats()
    return {name: stats[name] for name in ("requests", "lists", "bytes", "cache_hit_bytes", "cache_miss_bytes")}


def loader_of(job, data):
    import sluice

    T = sluice.transforms
    more = dict(batch_size=job["batch"], shuffle={"true": True, "false": False}.get(job["shuffle"], job["shuffle"]), seed=job["seed"],
                num_workers=job["workers"])
    if not job["whole"]:
        more["transform"] = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor()]
    return sluice.Loader(data, **more)


def read_epoch(loader, digest):
    import numpy

    samples = 0
    for batch in loader:
        samples += batch.rows
        if digest is not None:
            for name in batch.keys():
                digest.update(numpy.ascontiguousarray(batch[name]))
    return samples


def run_place(job):
    import sluice

    if job["cache"]:
        sluice.remote.configure(cache=job["cache"], cache_bytes=job["cache_bytes"])
    begin, before, epochs = time.monotonic(), counters(), []
    data = sluice.Dataset(job["address"])
    digest = hashlib.sha256() if job["digest"] else None
    with loader_of(job, data) as loader:
        next(iter(loader))
    first = {"seconds": time.monotonic() - begin, "requests": counters()["requests"] - before["requests"]}
    with loader_of(job, data) as loader:
        for _ in range(job["epochs"]):
            begin, used, before = time.monotonic(), cpu_seconds(), counters()
            samples = read_epoch(loader, digest)
            seconds, used, after = time.monotonic() - begin, cpu_seconds() - used, counters()
            epochs.append({"rate": samples / seconds, "cpu": used / samples * 1e3, **{name: after[name] - before[name] for name in after}})
    print(json.dumps({"first": first, "epochs": epochs, "digest": digest and digest.hexdigest()}))


def spread(values, digits=3):
    return "%.*f (%.*f..%.*f)" % (digits, statistics.median(values), digits, min(values), digits, max(values))


def measure(options, place):
    name, _, rest = place.partition("=")
    address, *more = rest.split(",")
    more = dict(one.split("=", 1) for one in more)
    job = {"address": address, "cache": more.get("cache"), "cache_bytes": int(more.get("cache_bytes", 0)),
           **{key: getattr(options, key) for key in ("epochs", "whole", "batch", "shuffle", "seed", "workers", "digest")}}
    if job["cache"]:
        shutil.rmtree(job["cache"], ignore_errors=True)
    done = subprocess.run([sys.executable, __file__, "--place", json.dumps(job)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit("%s: exit %d: %s" % (name, done.returncode, done.stderr.strip()[-800:]))
    return name, json.loads(done.stdout)


def show(options, figures):
    names = list(figures)
    for name in names:
        firsts = [one["first"] for one in figures[name]]
        print("%-16s first batch after %s s, %s requests" % (name, spread([one["seconds"] for one in firsts]),
                                                             spread([one["requests"] for one in firsts], 0)))
    for epoch in range(options.epochs):
        for name in names:
            rows = [one["epochs"][epoch] for one in figures[name]]
            base = [one["epochs"][epoch] for one in figures[names[0]]]
            hits, misses = (sum(row[key] for row in rows) for key in ("cache_hit_bytes", "cache_miss_bytes"))
            print("%-16s epoch %d: %s samples/s, %s of the first; %s CPU ms, %s of the first; %d requests, %d bytes%s" % (
                name, epoch + 1, spread([row["rate"] for row in rows], 0), spread([a["rate"] / b["rate"] for a, b in zip(rows, base)]),
                spread([row["cpu"] for row in rows]), spread([a["cpu"] / b["cpu"] for a, b in zip(rows, base)]),
                statistics.median(row["requests"] for row in rows), statistics.median(row["bytes"] for row in rows),
                ", hit rate %.3f" % (hits / (hits + misses)) if hits + misses else ""))
    if options.digest:
        digests = {one["digest"] for rows in figures.values() for one in rows}
        print("sha256 of all batches: %s" % ("equal everywhere" if len(digests) == 1 else "DIFFERENT"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--shuffle", default="true", help="true, false, shards or block")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--digest", action="store_true")
    options = parser.parse_args()
    figures = {}
    for _ in range(options.rounds):
        for place in options.places:
            name, result = measure(options, place)
            figures.setdefault(name, []).append(result)
    show(options, figures)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--place"]:
        run_place(json.loads(sys.argv[2]))
    else:
        main()
