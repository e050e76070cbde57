# SPDX-License-Identifier: Apache-2.0
"""Whether a sanitizer is active, and how much a test does then: the amounts of the C tests (TEST_AMOUNT)."""
import os

ASAN = "asan" in os.environ.get("LD_PRELOAD", "")


def amount(plain, sanitized):
    """Returns a number of rounds, or a stride. Without a sanitizer every round runs."""
    return sanitized if ASAN else plain
