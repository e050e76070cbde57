# SPDX-License-Identifier: Apache-2.0
"""Addresses of object stores, which may replace paths."""
from __future__ import annotations

import os

_WEB = ("http://", "https://")
_SCHEMES = (*_WEB, "s3://", "gs://", "hf://")


def is_address(path):
    """Returns True if the path is an address in an object store rather than a local file."""
    return os.fsdecode(path).startswith(_SCHEMES)


def shown(path):
    """Returns the path for printing: an http address without user, query and fragment, which may be
    secrets.
    """
    text = os.fsdecode(path)
    if not text.startswith(_WEB):
        return path
    scheme, _, rest = text.partition("://")
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, key = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{key}"
