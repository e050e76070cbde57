# SPDX-License-Identifier: Apache-2.0
"""Whether a sanitizer watches, and how much a test does then: the amounts that tests in C have (TEST_AMOUNT)."""
import os

ASAN = "asan" in os.environ.get("LD_PRELOAD", "")


def amount(plain, sanitized):
    """How many rounds, or how far apart. Every round of it runs without a sanitizer."""
    return sanitized if ASAN else plain
