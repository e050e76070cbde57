#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""remote_clients.py FOLDER HTTP [--tls HTTPS --ca FILE] [--reads PROGRAM] [options]: CPU time of reading from an HTTP server.

FOLDER is what the server at HTTP (and HTTPS) serves. The script writes FOLDER/bucket/rows-SIZE.npy there: --mebibytes of random bytes, as
rows of SIZE bytes. Each client then reads all rows of a file --passes times in random orders, by one range request a row, with --flight requests
in flight:

  sluice   a whole sluice.Loader: batches of 16 MiB in host memory, shuffled, with default options
  reads    the program of --reads (build/.../bench/remote_reads), which has no loader around its requests
  awscrt   awscrt.s3.S3Client of Debian's python3-awscrt; it asks ports 80 and 443 only, so the server has to listen there
  boto3    get_object in threads
  aiohttp  one event loop

A client is a process of its own, and a figure is its CPU time (user + system, by getrusage, imports and opening subtracted by a run
over no rows) divided by the bytes. The clients alternate (A B C A B C ...) for --rounds; the table has medians and (min..max).
"""
import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

SIZES = {"128KiB": 128 << 10, "1MiB": 1 << 20, "8MiB": 8 << 20}
HEADER = 128  # of a .npy file below


def make_rows(path, size, total):
    rows = total // size
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, size)
    head = head.ljust(HEADER - 11).encode() + b"\n"
    if path.exists() and path.stat().st_size == HEADER + rows * size:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
        for _ in range(rows):
            out.write(os.urandom(size))


def ranges(job):
    """One range a row, in another order in each pass."""
    found = []
    for seed in range(job["passes"]):
        order = list(range(job["rows"]))
        random.Random(seed).shuffle(order)
        found += [(HEADER + row * job["size"], HEADER + (row + 1) * job["size"] - 1) for row in order]
    return found


def read_sluice(job):
    import sluice

    if not job["rows"]:
        return 0
    got = 0  # AWS_CA_BUNDLE has the certificates
    with sluice.Loader(sluice.Dataset(job["url"]), batch_size=max(1, (16 << 20) // job["size"]), shuffle=True, last_batch="short") as loader:
        for _ in range(job["passes"]):
            for batch in loader:
                got += memoryview(batch["tensor"]).nbytes
    return got


def read_boto3(job):
    from concurrent.futures import ThreadPoolExecutor

    import boto3
    import botocore
    from botocore.config import Config

    client = boto3.client("s3", endpoint_url=job["base"], region_name="us-east-1", verify=job["ca"] or None,
                          config=Config(signature_version=botocore.UNSIGNED, max_pool_connections=job["flight"],
                                        s3={"addressing_style": "path"}))

    def get(part):
        return len(client.get_object(Bucket="bucket", Key=job["key"], Range="bytes=%d-%d" % part)["Body"].read())

    with ThreadPoolExecutor(job["flight"]) as pool:
        return sum(pool.map(get, ranges(job)))


def read_aiohttp(job):
    import asyncio
    import ssl

    import aiohttp

    async def work(session, parts):
        got = 0
        for part in parts:  # an iterator that all tasks share
            async with session.get(job["url"], headers={"Range": "bytes=%d-%d" % part}) as reply:
                assert reply.status == 206
                got += len(await reply.read())
        return got

    async def everything():
        trusted = ssl.create_default_context(cafile=job["ca"]) if job["ca"] else None
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=job["flight"], ssl=trusted)) as session:
            parts = iter(ranges(job))
            return sum(await asyncio.gather(*(work(session, parts) for _ in range(job["flight"]))))

    return asyncio.run(everything())


def read_awscrt(job):
    import threading

    from awscrt import http, io, s3

    group = io.EventLoopGroup(1)
    bootstrap = io.ClientBootstrap(group, io.DefaultHostResolver(group))
    host, tls = job["base"].split("//")[1], None
    if job["ca"]:
        options = io.TlsContextOptions()
        options.override_default_trust_store_from_path(None, job["ca"])
        tls = io.ClientTlsContext(options).new_connection_options()
        tls.set_server_name(host)
    client = s3.S3Client(bootstrap=bootstrap, region="us-east-1", throughput_target_gbps=10, tls_connection_options=tls,
                         tls_mode=s3.S3RequestTlsMode.ENABLED if job["ca"] else s3.S3RequestTlsMode.DISABLED)
    parts, lock, got = iter(ranges(job)), threading.Lock(), [0]

    def work():
        while True:
            with lock:
                part = next(parts, None)
            if part is None:
                return
            body, count = bytearray(job["size"]), [0]

            def arrived(chunk, offset, body=body, count=count, first=part[0], **more):
                body[offset - first:offset - first + len(chunk)] = chunk
                count[0] += len(chunk)

            headers = http.HttpHeaders([("Host", host), ("Range", "bytes=%d-%d" % part)])
            request = http.HttpRequest("GET", "/bucket/" + job["key"], headers)
            client.make_request(type=s3.S3RequestType.GET_OBJECT, request=request, on_body=arrived).finished_future.result()
            with lock:
                got[0] += count[0]

    threads = [threading.Thread(target=work) for _ in range(job["flight"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got[0]


def run_client(job):
    started = time.monotonic()
    got = globals()["read_" + job["client"]](job)
    used = resource.getrusage(resource.RUSAGE_SELF)
    if got != job["passes"] * job["rows"] * job["size"]:
        raise SystemExit("%s: read %d bytes of %d" % (job["client"], got, job["passes"] * job["rows"] * job["size"]))
    print(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "wall_s": time.monotonic() - started}))


def measure(job, program):
    if job["client"] == "reads":
        command = [program, job["url"], str(job["size"]), str(job["flight"]), str(job["passes"] * job["size"] * job["rows"])]
    else:
        command = [sys.executable, __file__, "--client", json.dumps(job)]
    environment = dict(os.environ, AWS_EC2_METADATA_DISABLED="true")
    if job["ca"]:
        environment["AWS_CA_BUNDLE"] = job["ca"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    wall = time.monotonic() - started
    if done.returncode != 0:
        raise SystemExit("%s: exit %d: %s" % (job["client"], done.returncode, done.stderr.strip()[-600:]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def spread(values):
    return "%.2f (%.2f..%.2f)" % (statistics.median(values), min(values), max(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("http")
    parser.add_argument("--tls")
    parser.add_argument("--ca")
    parser.add_argument("--reads", help="build/.../bench/remote_reads")
    parser.add_argument("--clients", default="sluice,awscrt,boto3,aiohttp")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--flight", type=int, default=16)
    parser.add_argument("--mebibytes", type=int, default=512)
    parser.add_argument("--passes", type=int, default=4, help="times that each client reads the file")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    clients = options.clients.split(",") + (["reads"] if options.reads else [])
    for name in options.sizes.split(","):
        size, total = SIZES[name], options.mebibytes << 20
        make_rows(options.folder / "bucket" / ("rows-%s.npy" % name), size, total)
        for base, ca in [(options.http, None)] + ([(options.tls, options.ca)] if options.tls else []):
            figures = {client: ([], []) for client in clients}
            for _ in range(options.rounds):
                for client in clients:
                    job = {"client": client, "base": base, "key": "rows-%s.npy" % name, "ca": ca, "size": size, "rows": total // size,
                           "flight": options.flight, "passes": options.passes, "url": "%s/bucket/rows-%s.npy" % (base, name)}
                    cpu, wall = measure(job, options.reads)
                    idle = 0 if client == "reads" else measure(dict(job, rows=0), options.reads)[0]
                    figures[client][0].append((cpu - idle) / total / options.passes * 2**30)
                    figures[client][1].append(total * options.passes / wall / 2**30)
            print("%s, %s: client, CPU s/GiB, GiB/s with start-up" % (name, base.split(":")[0]))
            for client, (cpu, rate) in figures.items():
                print("  %-8s %s  %s" % (client, spread(cpu), spread(rate)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        run_client(json.loads(sys.argv[2]))
    else:
        main()
