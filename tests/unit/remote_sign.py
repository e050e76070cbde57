# SPDX-License-Identifier: Apache-2.0
"""Compares signatures of random requests with botocore's.

remote_sign.py PROGRAM: PROGRAM is remote_sign_test. Exit status 77: there is no botocore.
"""

import datetime
import random
import subprocess
import sys

try:
    import botocore.auth
    import botocore.awsrequest
    import botocore.config
    import botocore.credentials
    import botocore.utils
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

REQUESTS = 600
ODD = ["a", "B", "7", "/", "//", "/./", "/../", ".", "..", "=", "+", " ", "%", "%20", "%2F", "&", "?", "#", "~", "-", "_", "*", "'", "(", ")",
       "!", ",", ";", ":", "@", "$", '"', "<", ">", "\\", "^", "`", "{", "|", "}", "[", "]", "\t", "\n", "\x01", "\x7f", "ä", "é", "日本",
       "\U0001f600", "e\u0301"]


def text(chance, most):
    return "".join(chance.choice(ODD) for _ in range(chance.randint(0, most)))


def make(chance):
    """A request as its parts, the path and the query's names and values raw."""
    now = chance.randrange(86400, 4102444800)
    return {
        "method": chance.choice(["GET", "GET", "HEAD", "PUT", "POST"]),
        "host": chance.choice(["bucket.s3.amazonaws.com", "127.0.0.1:9000", "[::1]:7480", "minio", "a-b.c_d.example:8"]),
        "path": "/" + text(chance, 12),
        "query": [(text(chance, 3) or "x", text(chance, 4)) for _ in range(chance.choice([0, 0, 1, 2, 5]))],
        "region": chance.choice(["us-east-1", "eu-central-1", "auto"]),
        "service": chance.choice(["s3", "s3", "s3express"]),
        "access": "".join(chance.choices("ABCDEFGHIJ234567", k=chance.choice([4, 20, 128]))),
        "secret": "".join(chance.choices("abcXYZ019/+=", k=chance.choice([1, 40, 80]))),
        "token": chance.choice(["", "", "FwoGZXIvYXdzE//+=" * chance.choice([1, 60])]),
        "body": chance.randbytes(chance.choice([0, 0, 1, 300])),
        "unsigned": chance.random() < 0.5,
        "now": now,
    }


def line(request):
    quote = lambda value: botocore.utils.percent_encode(value, safe="~")
    pairs = [(quote(name), quote(value)) for name, value in request["query"]]
    query = "&".join(name if value == "" and len(name) % 2 else f"{name}={value}" for name, value in pairs)
    parts = [request["method"], request["host"], request["path"], query, request["region"], request["service"], request["access"],
             request["secret"], request["token"], request["body"]]
    texts = [(part if isinstance(part, bytes) else part.encode()).hex() for part in parts]
    return " ".join([*texts, f"{int(request['unsigned'])}:{request['now']}"]), pairs


def expected(request, pairs):
    class Clock(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=request["now"])

    class Module:
        datetime = Clock

    botocore.auth.datetime = Module
    if hasattr(botocore.auth, "get_current_datetime"):
        botocore.auth.get_current_datetime = lambda *_, **__: Clock.utcnow()
    query = "&".join(f"{name}={value}" for name, value in pairs)
    path = botocore.utils.percent_encode(request["path"], safe="/~")
    url = f"https://{request['host']}{path}" + (f"?{query}" if query else "")
    made = botocore.awsrequest.AWSRequest(method=request["method"], url=url, data=request["body"])
    made.context["client_config"] = botocore.config.Config(s3={"payload_signing_enabled": not request["unsigned"]})
    keys = botocore.credentials.Credentials(request["access"], request["secret"], request["token"] or None)
    botocore.auth.S3SigV4Auth(keys, request["service"], request["region"]).add_auth(made)
    headers = {name.lower(): value for name, value in made.headers.items()}
    names = ["authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"]
    return {name: headers[name] for name in names if name in headers}


def main():
    chance = random.Random(42)
    requests = [make(chance) for _ in range(REQUESTS)]
    lines = [line(request) for request in requests]
    run = subprocess.run([sys.argv[1], "--lines"], input="".join(f"{text}\n" for text, _ in lines), capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stdout, run.stderr)
        sys.exit(run.returncode)
    answers = run.stdout.splitlines()
    assert len(answers) == REQUESTS, len(answers)
    for request, (_, pairs), answer in zip(requests, lines, answers):
        got = dict(header.split(": ", 1) for header in answer.split("|"))
        assert {name.lower(): value for name, value in got.items()} == expected(request, pairs), (request, answer)
    print(f"{REQUESTS} signatures equal botocore's")


main()
