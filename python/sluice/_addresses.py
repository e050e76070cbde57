# SPDX-License-Identifier: Apache-2.0
"""Addresses of object stores, wherever a path may be one."""
from __future__ import annotations

import os

_WEB = ("http://", "https://")
_SCHEMES = (*_WEB, "s3://", "gs://", "hf://")


def is_address(path):
    """True if the path is an address in an object store, not of a file here."""
    return os.fsdecode(path).startswith(_SCHEMES)


def shown(path):
    """Returns the path as it may be printed: an http address without user, query and fragment, which may be secrets."""
    text = os.fsdecode(path)
    if not text.startswith(_WEB):
        return path
    scheme, _, rest = text.partition("://")
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, key = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{key}"
