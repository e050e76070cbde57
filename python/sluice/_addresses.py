# SPDX-License-Identifier: Apache-2.0
"""Addresses of object stores, wherever a path may be one."""
from __future__ import annotations

import os
import re

ADDRESS = re.compile(r"(https?|s3|gs|hf)://")
USER = re.compile(r"(https?://)[^/?#]*@")


def is_address(path):
    """True if the path is an address in an object store, not of a file here."""
    return ADDRESS.match(os.fsdecode(path)) is not None


def shown(path):
    """What may be printed of a path: of an http address without user, query and fragment, which may be secrets."""
    text = os.fsdecode(path)
    return USER.sub(r"\1", re.split("[?#]", text, maxsplit=1)[0]) if text.startswith(("http://", "https://")) else path
