# SPDX-License-Identifier: Apache-2.0
"""Four clients over four cache nodes: the requests to the store, and that batches equal those of local reading, regardless of faults of a node."""
import hashlib
import re
import subprocess
import sys

import numpy
import pages
import pytest
import remote_servers
from remote_servers import fault_server, nginx, nginx_nodes  # noqa: F401

import sluice

ROWS, FEW, ROW_BYTES, BATCH, CLIENTS = 1024, 64, 1 << 16, 16, 4
BATCHES = ROWS // BATCH
# Reads an epoch; after a quarter of it, the program prints a line and waits for one.
CLIENT = f"""
import hashlib, sys
import sluice
address, seed, nodes = sys.argv[1:]
sluice.remote.configure(cache_nodes=nodes)
digest = hashlib.sha256()
with sluice.Loader(address, batch_size={BATCH}, shuffle=True, seed=int(seed)) as loader:
    for number, batch in enumerate(loader):
        digest.update(batch["x"].numpy())
        if number == {BATCHES // 4}:
            print("there", flush=True)
            sys.stdin.readline()
print(digest.hexdigest(), sluice.remote.stats()["bytes"])
"""

def write_rows(folder, rows):
    """Writes incompressible rows."""
    random = numpy.random.default_rng(1)
    with sluice.Writer(folder / "packed", {"x": ("tensor", "uint8", (ROW_BYTES,))}, shard_bytes=rows * ROW_BYTES // 2) as writer:
        for _ in range(rows):
            writer.add(x=random.integers(0, 256, ROW_BYTES, dtype=numpy.uint8))


def digest_of(address, seed):
    """Returns the sha256 of all batches of an epoch."""
    digest = hashlib.sha256()
    with sluice.Loader(address, batch_size=BATCH, shuffle=True, seed=seed) as loader:
        for batch in loader:
            digest.update(batch["x"].numpy())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    write_rows(folder, ROWS)
    return folder


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    write_rows(folder, FEW)
    return folder


class Cluster:
    """A store, and four cache nodes in front of it."""

    def __init__(self, nginx, nginx_nodes, served):
        self.store = nginx(served)
        self.nodes = nginx_nodes(4, self.store.plain)
        self.address = f"{self.store.plain}/packed/"

    def sent(self):
        """Returns the body bytes that the store has sent."""
        return sum(request[3] for request in self.store.requests())

    def kill(self, number):
        self.nodes.kill(number)


@pytest.fixture
def cluster(served, nginx, nginx_nodes):
    return Cluster(nginx, nginx_nodes, served)


@pytest.fixture(scope="module")
def local(served):
    digests = {seed: digest_of(served / "packed", seed) for seed in range(CLIENTS)}
    assert len(set(digests.values())) == CLIENTS
    return digests


class Clients:
    """Four clients that read at the same time, each in another order, and have read a quarter."""

    def __init__(self, address, nodes):
        self.running = [subprocess.Popen([sys.executable, "-c", CLIENT, address, str(seed), nodes], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True) for seed in range(CLIENTS)]  # fmt: skip
        for client in self.running:
            assert client.stdout.readline() == "there\n"

    def finish(self):
        """Returns the digest of each client by its seed, and the bytes received by all."""
        ends = [client.communicate("\n", timeout=600)[0].split() for client in self.running]
        assert all(client.returncode == 0 for client in self.running)
        return {seed: digest for seed, (digest, _) in enumerate(ends)}, sum(int(got) for _, got in ends)


def test_the_store_sends_each_byte_once(cluster, local):
    digests, got = Clients(cluster.address, cluster.nodes.list).finish()
    assert digests == local
    assert got >= CLIENTS * ROWS * ROW_BYTES
    assert cluster.sent() <= 1.02 * ROWS * ROW_BYTES
    assert cluster.nodes.origin_bytes() >= ROWS * ROW_BYTES, "the nodes have asked for all of it"


def test_a_node_dies_in_the_middle(cluster, local):
    clients = Clients(cluster.address, cluster.nodes.list)
    cluster.kill(2)
    digests, _ = clients.finish()
    assert digests == local
    assert cluster.sent() <= 1.4 * ROWS * ROW_BYTES


def test_no_node_is_there(few, fault_server):
    store = fault_server(few)
    try:
        sluice.remote.configure(cache_nodes=["127.0.0.1:1", "127.0.0.1:2", "localhost:3"])
        assert digest_of(f"{store.url}/packed/", 0) == digest_of(few / "packed", 0)
    finally:
        sluice.remote.configure()


LIES = ["etag=none", 'etag="other"', "etag=weak", "status=404", "status=403", "status=503", "status=412", "ignore-range", "shorten=1000", "extra=1000",
        "truncate=1000", "reset=1000", "range-off=1000", "total-off=1000", "gzip", "garbage", "close", "huge-header=100000", "chunked no-length"]


@pytest.mark.parametrize("lie", LIES)
def test_a_node_lies(few, fault_server, lie):
    """Its answers do not match, and the store's are used."""
    digest, _, node = read_with_a_node(few, fault_server, lie)
    assert digest == digest_of(few / "packed", 0)
    assert node["struck"] > 0


def test_an_honest_node(few, fault_server):
    digest, store, node = read_with_a_node(few, fault_server)
    assert digest == digest_of(few / "packed", 0)
    assert node["bytes"] >= FEW * ROW_BYTES and store["bytes"] < FEW * ROW_BYTES / 4


def test_a_node_sends_other_bytes(few, fault_server):
    """The right number of bytes, with the right ETag: only the samples' checksums reveal the change."""
    digest, _, node = read_with_a_node(few, fault_server, "other-bytes")
    assert digest == digest_of(few / "packed", 0)
    assert node["struck"] > 0


def read_with_a_node(folder, fault_server, *rules):
    """Returns the sha256 of all batches, and the counters of the store and the node."""
    store, node = fault_server(folder), fault_server(folder)
    node.rules(*rules)
    try:
        sluice.remote.configure(cache_nodes=node.url.removeprefix("http://"))
        digest = digest_of(f"{store.url}/packed/", 0)
    finally:
        sluice.remote.configure()
    return digest, store.counts(), node.counts()


def test_the_page_has_the_configuration_of_the_nodes():
    """docs/remote.md has the configuration of tests/servers/nginx-nodes, apart from addresses, folders, sizes and TLS."""
    page = re.search(r"^```nginx\n(.*?)^```", (pages.DOCS / "remote.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    script = (remote_servers.SCRIPTS / "nginx-nodes").read_text().replace("\\$", "$")

    def location(text):
        inside = text[text.index("location / {") + len("location / {"):].split("}")[0]
        found = {" ".join(directive.split()) for directive in inside.split(";")}
        return {directive.replace("https:", "http:") for directive in found if directive and not directive.startswith("proxy_ssl_")}

    assert location(page) == location(script) and len(location(page)) >= 10
    assert page.count("\n") <= 22
