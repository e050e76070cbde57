#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""remote_clients.py FOLDER HTTP [--tls HTTPS --ca FILE] [--reads PROGRAM] [options]: measures CPU time of reading from an HTTP server.

FOLDER is the folder served at HTTP (and HTTPS). The script writes FOLDER/bucket/rows-SIZE.npy there: --mebibytes of random bytes, as rows
of SIZE bytes. Each client then reads all rows of a file --passes times in random orders, with one range request per row and --flight
requests in flight:

  sluice   a whole sluice.Loader: batches of 16 MiB in host memory, shuffled, with default options
  reads    the program of --reads (build/.../bench/remote_reads), without a loader
  awscrt   awscrt.s3.S3Client of Debian's python3-awscrt; it uses only ports 80 and 443, so the server must listen there
  boto3    get_object in threads
  aiohttp  one event loop
  floor    one blocking socket (OpenSSL with TLS), one request after the other, into a reused 16 MiB buffer

Each client is a separate process. A result is its CPU time (user + system, by getrusage; a run over no rows subtracts imports and opening)
divided by the bytes. With --after N, counting starts after N passes: the cost of later epochs. A virtual machine may have to get memory from
its host at the first touch, which costs several times as much as reading into it. The clients alternate (A B C A B C ...) for --rounds; the
table has medians and (min..max).
"""
import argparse
import json
import math
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import threading
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
    """Returns one range per row, in another order in each pass."""
    found = []
    for seed in range(job["passes"]):
        order = list(range(job["rows"]))
        random.Random(seed).shuffle(order)
        found += [(HEADER + row * job["size"], HEADER + (row + 1) * job["size"] - 1) for row in order]
    return found


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


progress = {"bytes": 0, "counted_from": math.inf, "lock": threading.Lock()}


def arrived(count):
    """Counts bytes; called by each client for the bytes it has read."""
    with progress["lock"]:
        progress["bytes"] += count
        if progress["bytes"] >= progress["counted_from"]:
            progress.update(counted_from=math.inf, cpu_s=cpu_s())


def read_sluice(job):
    import sluice

    if not job["rows"]:
        return
    # AWS_CA_BUNDLE names the certificates.
    with sluice.Loader(sluice.Dataset(job["url"]), batch_size=max(1, (16 << 20) // job["size"]), shuffle=True, last_batch="short") as loader:
        for _ in range(job["passes"]):
            for batch in loader:
                arrived(memoryview(batch["tensor"]).nbytes)


def read_boto3(job):
    from concurrent.futures import ThreadPoolExecutor

    import boto3
    import botocore
    from botocore.config import Config

    client = boto3.client("s3", endpoint_url=job["base"], region_name="us-east-1", verify=job["ca"] or None,
                          config=Config(signature_version=botocore.UNSIGNED, max_pool_connections=job["flight"],
                                        s3={"addressing_style": "path"}))

    def get(part):
        arrived(len(client.get_object(Bucket="bucket", Key=job["key"], Range="bytes=%d-%d" % part)["Body"].read()))

    with ThreadPoolExecutor(job["flight"]) as pool:
        list(pool.map(get, ranges(job)))


def read_floor(job):
    import socket
    import ssl

    host, _, port = job["base"].split("//")[1].partition(":")
    connection = socket.create_connection((host, int(port or (443 if job["ca"] else 80))))
    if job["ca"]:
        connection = ssl.create_default_context(cafile=job["ca"]).wrap_socket(connection, server_hostname=host)
    memory = memoryview(bytearray(16 << 20))
    request = "GET /bucket/%s HTTP/1.1\r\nHost: %s\r\nRange: bytes=%%d-%%d\r\n\r\n" % (job["key"], host)
    at = 0
    for part in ranges(job):
        connection.sendall((request % part).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1024)
        first = len(head) - head.index(b"\r\n\r\n") - 4  # bytes of the body, copied twice: at most 1 KiB
        body = memory[at + first:at + job["size"]]
        while body:
            body = body[connection.recv_into(body):]
        arrived(job["size"])
        at = (at + job["size"]) % len(memory)


def read_aiohttp(job):
    import asyncio
    import ssl

    import aiohttp

    async def work(session, parts):
        for part in parts:  # an iterator shared by all tasks
            async with session.get(job["url"], headers={"Range": "bytes=%d-%d" % part}) as reply:
                assert reply.status == 206
                arrived(len(await reply.read()))

    async def everything():
        trusted = ssl.create_default_context(cafile=job["ca"]) if job["ca"] else None
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=job["flight"], ssl=trusted)) as session:
            parts = iter(ranges(job))
            await asyncio.gather(*(work(session, parts) for _ in range(job["flight"])))

    asyncio.run(everything())


def read_awscrt(job):
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
    parts, lock = iter(ranges(job)), threading.Lock()

    def work():
        while True:
            with lock:
                part = next(parts, None)
            if part is None:
                return
            body, count = bytearray(job["size"]), [0]

            def keep(chunk, offset, body=body, count=count, first=part[0], **more):
                body[offset - first:offset - first + len(chunk)] = chunk
                count[0] += len(chunk)

            headers = http.HttpHeaders([("Host", host), ("Range", "bytes=%d-%d" % part)])
            request = http.HttpRequest("GET", "/bucket/" + job["key"], headers)
            client.make_request(type=s3.S3RequestType.GET_OBJECT, request=request, on_body=keep).finished_future.result()
            arrived(count[0])

    threads = [threading.Thread(target=work) for _ in range(job["flight"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_client(job):
    one = job["rows"] * job["size"]
    if job["after"]:
        progress["counted_from"] = job["after"] * one
    globals()["read_" + job["client"]](job)
    if progress["bytes"] != job["passes"] * one:
        raise SystemExit("%s: read %d bytes of %d" % (job["client"], progress["bytes"], job["passes"] * one))
    print(json.dumps(cpu_s() - progress.get("cpu_s", 0)))


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
    if job["after"]:
        return json.loads(done.stdout), wall
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
    parser.add_argument("--passes", type=int, default=4, help="number of times each client reads the file")
    parser.add_argument("--after", type=int, default=0, help="number of first passes not to count")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if unknown := set(options.sizes.split(",")) - set(SIZES):
        parser.error("--sizes: %s: none of %s" % (", ".join(sorted(unknown)), ", ".join(SIZES)))
    if options.passes <= options.after:
        parser.error("--after: as many as --passes, or more")
    if options.after and options.reads:
        parser.error("--after: not with --reads, whose program counts all passes")
    clients = options.clients.split(",") + (["reads"] if options.reads else [])
    for name in options.sizes.split(","):
        size, total = SIZES[name], options.mebibytes << 20
        make_rows(options.folder / "bucket" / ("rows-%s.npy" % name), size, total)
        for base, ca in [(options.http, None)] + ([(options.tls, options.ca)] if options.tls else []):
            figures = {client: ([], []) for client in clients}
            for _ in range(options.rounds):
                for client in clients:
                    job = {"client": client, "base": base, "key": "rows-%s.npy" % name, "ca": ca, "size": size, "rows": total // size,
                           "flight": options.flight, "passes": options.passes, "after": options.after, "url": "%s/bucket/rows-%s.npy" % (base, name)}
                    cpu, wall = measure(job, options.reads)
                    idle = 0 if client == "reads" or options.after else measure(dict(job, rows=0), options.reads)[0]
                    figures[client][0].append((cpu - idle) / total / (options.passes - options.after) * 2**30)
                    figures[client][1].append(total * options.passes / wall / 2**30)
            print("%s, %s: client, CPU s/GiB, GiB/s with start-up" % (name, base.split(":")[0]))
            for client, (cpu, rate) in figures.items():
                print("  %-8s %s  %s" % (client, spread(cpu), spread(rate)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        run_client(json.loads(sys.argv[2]))
    else:
        main()
