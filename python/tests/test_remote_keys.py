# SPDX-License-Identifier: Apache-2.0
"""Two independent S3 servers accept our signatures for hundreds of odd keys: boto3 puts objects, and sluice's reads, queries for one
name and listings find the same bytes and names."""
import concurrent.futures
import os
import random
import subprocess

import pytest
from remote_servers import ROOT, radosgw, swift  # noqa: F401 fixtures

# Characters that signing, escaping, XML and query strings treat specially, and characters of 2, 3 and 4 bytes.
ODD = list(" !\"#$%&'()*+,-.:;<=>?@[\\]^_`{|}~") + ["%2F", "%25", "%zz", "..", "&amp;", "é", "ß", "日", "\u2028", "\ufeff", "😀"]
PLAIN = list("aZ09")
SEED = 20260


def odd_name(choose):
    """Returns one part of a key, which paths can name."""
    while True:
        name = "".join(choose.choice(ODD if choose.random() < 0.7 else PLAIN) for _ in range(choose.randint(1, 12)))
        if name not in (".", ".."):
            return name


def odd_keys(choose, count):
    """Returns {folder: {name: body}}: each folder has one object, or two, one with a name that begins with the other's."""
    keys = {}
    while sum(map(len, keys.values())) < count:
        folder, name = odd_name(choose), odd_name(choose)
        names = keys.setdefault(folder, {})
        for one in [name, name + odd_name(choose)][: choose.randint(1, 2)]:
            names[one] = choose.randbytes(choose.randint(1, 600))
    return keys


def dotted_keys(choose, count):
    """Returns {key: body} with folders that no path can name: empty ones and dots."""
    parts = ["", ".", "..", *(odd_name(choose) for _ in range(5))]
    return {"/".join(["dots", *choose.choices(parts, k=choose.randint(1, 6)), odd_name(choose)]): choose.randbytes(99) for _ in range(count)}


def program():
    named = os.environ.get("SLUICE_STORE_READER")
    place = named or ROOT / "build" / "release" / "tests" / "support" / "store_reader"
    if not os.path.exists(place):
        pytest.skip("store_reader is not built (SLUICE_BUILD_TESTS)")
    return place


def ask(store, questions):
    """Returns store_reader's answer to each (word, address): bytes, or the text of an error."""
    done = subprocess.run([program()], input=b"".join(f"{word} {address}\0".encode() for word, address in questions),
                          capture_output=True, timeout=300, env={**os.environ, **store.environment()})
    assert done.returncode == 0, done.stderr
    answers, rest = {}, done.stdout
    for question in questions:
        line, rest = rest.split(b"\n", 1)
        word, value = line.split(b" ", 1)
        size = int(value) if word == b"ok" else 0
        answers[question] = rest[:size] if word == b"ok" else f"error: {value.decode()}"
        rest = rest[size:]
    assert rest == b""
    return answers


def put_all(store, bodies):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: store.put(key, bodies[key]), bodies))


@pytest.mark.parametrize("name, count", [("radosgw", 300), ("swift", 80)])  # few for Swift: a request takes it 10 ms of CPU
def test_signatures_over_odd_keys(request, name, count):
    store = request.getfixturevalue(name)
    choose = random.Random(SEED)
    keys, dotted = odd_keys(choose, count), dotted_keys(choose, count // 6)
    bodies = {f"odd/{folder}/{name}": body for folder, names in keys.items() for name, body in names.items()} | dotted
    put_all(store, bodies)
    top = f"s3://{store.bucket}"
    expected = {("read", f"{top}/{key}"): body for key, body in bodies.items()}
    expected["list", f"{top}/odd"] = {f"{folder}/" for folder in keys}
    for folder, names in keys.items():
        expected["list", f"{top}/odd/{folder}"] = set(names)
        for name, body in names.items():
            expected["stat", f"{top}/odd/{folder}/{name}"] = b"%d" % len(body)
        first = min(names, key=str.encode)
        expected["after", f"{top}/odd/{folder}/{first}"] = set(names) - {first}
    found = ask(store, list(expected))
    for question, answer in found.items():
        if question[0] in ("list", "after") and isinstance(answer, bytes):
            found[question] = set(answer.decode().split("\0")[:-1])
    wrong = {question: (found[question], answer) for question, answer in expected.items() if found[question] != answer}
    assert not wrong, f"seed {SEED}: {len(wrong)} of {len(expected)} differ: {dict(list(wrong.items())[:5])}"
