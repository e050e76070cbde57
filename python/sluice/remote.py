# SPDX-License-Identifier: Apache-2.0
"""Datasets in object stores: settings and statistics of this process.

    import sluice

    sluice.remote.configure(endpoint="https://minio.example:9000", cache="/nvme/sluice")
    data = sluice.Dataset("s3://bucket/photos")

Most programs need no settings: an address works wherever a path does, and credentials come from the
places that the store's other programs use (docs/remote.md). Settings apply to datasets that are
opened afterwards.
"""
from __future__ import annotations

from . import _sluice
from ._check import flag, integer, items, missing_name, path, text
from ._names import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["configure", "stats"]


def configure(
    *, endpoint: str | None = None, region: str | None = None, profile: str | None = None, anonymous: bool = False,
    ca_file: str | os.PathLike[str] | None = None, connections: int | None = None, stall: float | None = None,
    cache: str | os.PathLike[str] | None = None, cache_bytes: int | None = None, cache_nodes: str | Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Sets how this process reads object stores.

    Replaces all earlier settings; without arguments, restores the defaults.

    Also reads the environment and AWS's files again, and asks for credentials again.

    Args:
        endpoint: server of s3 addresses, 'https://HOST[:PORT]' [AWS_ENDPOINT_URL_S3,
            AWS_ENDPOINT_URL, the profile's, or Amazon's].
        region: region of s3 addresses [AWS_REGION, AWS_DEFAULT_REGION, the profile's, or
            us-east-1].
        profile: profile of AWS's files, which then takes precedence over keys in the environment
            [AWS_PROFILE or 'default'].
        anonymous: True sends no credentials and signs no request [False].
        ca_file: trusted certificates, PEM [AWS_CA_BUNDLE, CURL_CA_BUNDLE, the profile's, or the
            system's].
        connections: maximum number of connections per host, 1 to 1024 [256].
        stall: seconds without a byte after which a read fails, 0.001 to 3600 [30].
        cache: folder on a local disk that caches remote data; '' for none [SLUICE_REMOTE_CACHE, or
            none].
        cache_bytes: size limit of that folder in bytes [SLUICE_REMOTE_CACHE_BYTES, or nine tenths
            of its free space].
        cache_nodes: HTTP caches to ask before the store, 'HOST:PORT', or a list of them; '' for
            none [SLUICE_CACHE_NODES, or none].

    Raises:
        ValueError: a setting is not valid.

    Example:
        >>> sluice.remote.configure(connections=64, stall=10)
        >>> sluice.remote.configure()  # the defaults again
    """
    nodes = cache_nodes if cache_nodes is None or isinstance(cache_nodes, str) else ",".join(
        text("cache_nodes", node) for node in items("cache_nodes", cache_nodes, "'HOST:PORT', or a list of them"))
    waits = None if stall is None else seconds("stall", stall)
    if waits is not None and not 0.001 <= waits <= 3600:
        raise ValueError(f"stall={stall!r}: expected seconds, 0.001 to 3600")
    _sluice.remote_configure({
        "endpoint": None if endpoint is None else text("endpoint", endpoint),
        "region": None if region is None else text("region", region),
        "profile": None if profile is None else text("profile", profile),
        "anonymous": int(flag("anonymous", anonymous)),
        "ca_file": None if ca_file is None else path("ca_file", ca_file),
        "connections": None if connections is None else integer("connections", connections, 1, 1024),
        "stall_ns": None if waits is None else round(waits * 1e9),
        "cache": None if cache is None else path("cache", cache),
        "cache_bytes": None if cache_bytes is None else integer("cache_bytes", cache_bytes, 0, 2**64 - 1),
        "cache_nodes": nodes,
    })


def stats() -> dict[str, int | str]:
    """Returns what this process has read from object stores so far.

    Returns:
        A dict. 'requests' counts all requests, including 'lists' (listings), 'retried' and 'hedged'
        (second requests for slow ones; 'hedges_won' counts those that were answered first). 'busy'
        counts responses that asked to slow down, 'failed' requests without a usable response, and
        'stalled' those of them that received no byte for too long. 'bytes' counts bodies. 'host'
        sent the most bytes: 'p50_ns' and 'p99_ns' are its times to the first byte, 'window'
        estimates the requests in flight that it can serve. 'cache_hits' to 'cache_damaged' describe
        the cache on the local disk; a hit is a read without a download. 'cache_off' says why the
        cache stores nothing more, or is ''.

    Example:
        >>> sluice.remote.stats()["requests"]
        0
    """
    return _sluice.remote_stats()


if not TYPE_CHECKING:

    def __getattr__(name):
        raise missing_name(__name__, name, __all__)
