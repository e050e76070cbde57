# SPDX-License-Identifier: Apache-2.0
"""Asks chains of credentials against servers that this script plays, and compares with botocore.

remote_credentials.py PROGRAM: PROGRAM is remote_credentials_test. Botocore is compared where it is installed.
"""

import datetime
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

try:
    import botocore.exceptions
    import botocore.session
except ImportError:
    botocore = None

ENDS = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(hours=1)
STAMP = ENDS.strftime("%Y-%m-%dT%H:%M:%SZ")
KEYS = {"Code": "Success", "AccessKeyId": "S3CR3TA", "SecretAccessKey": "S3CR3T/b+", "Token": "S3CR3T//token==", "Expiration": STAMP}
XML = f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<AssumedRoleUser><AssumedRoleId>x:y</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>S3CR3TS</AccessKeyId>
<SecretAccessKey>S3CR3Tsts</SecretAccessKey><SessionToken>S3CR3Ttoken</SessionToken><Expiration>{STAMP}</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""


class Server(http.server.BaseHTTPRequestHandler):
    """IMDSv2, a container's endpoint, STS and Google's metadata; `faults` maps a path to a status, a body or both."""

    faults, seen = {}, []

    def answer(self, status, body=b""):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def judge(self):
        path = self.path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        Server.seen.append((self.command, path, dict(self.headers), body.decode()))
        fault = Server.faults.get(path)
        if fault is not None:
            if isinstance(fault, list):
                fault = fault.pop(0) if len(fault) > 1 else fault[0]
            return fault if fault != 0 else self.good(body)
        return self.good(body)

    def good(self, body):
        path, headers = self.path, self.headers
        role = "/latest/meta-data/iam/security-credentials/"
        if path == "/latest/api/token":
            return (200, b"imds-S3CR3T") if self.command == "PUT" and headers.get("X-aws-ec2-metadata-token-ttl-seconds") else 400
        if path.startswith(role):
            if self.command != "GET" or headers.get("X-aws-ec2-metadata-token") != "imds-S3CR3T":
                return 401
            return (200, b"my role\n") if path == role else (200, KEYS) if path == role + "my%20role" else 404
        if path == "/container":
            return (200, KEYS) if headers.get("Authorization") in (None, "Basic S3CR3Tauth") else 403
        if path.startswith("/computeMetadata/v1/instance/service-accounts/default/token"):
            token = {"access_token": "S3CR3Tbearer", "expires_in": 3599, "token_type": "Bearer"}
            return (200, token) if headers.get("Metadata-Flavor") == "Google" else 403
        if path == "/" and self.command == "POST":
            form = dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))
            wanted = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/a b",
                      "WebIdentityToken": "S3CR3T.web&token"}
            named = form.pop("RoleSessionName", "")
            return (200, XML.encode()) if form == wanted and named else 400
        return 404

    def do_GET(self):
        result = self.judge()
        if result == "hang":
            return self.close_connection_later()
        self.answer(*(result if isinstance(result, tuple) else (result,)))

    do_PUT = do_POST = do_GET

    def close_connection_later(self):
        Server.hanging.wait(60)
        self.close_connection = True

    hanging = threading.Event()

    def log_message(self, *_):
        pass


class Rig:
    def __init__(self, program, folder, url):
        self.program, self.folder, self.url = program, folder, url
        self.checked = self.compared = 0

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def environment(self, variables):
        """Nothing of this machine's."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "AWS_CONFIG_FILE": str(self.folder / "config"),
                "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "credentials"), "AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true",
                **{name: value for name, value in os.environ.items() if name.startswith(("ASAN_", "UBSAN_"))},
                "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + ":atexit_sleep_ms=0",  # else it waits for a second
                **variables}

    def ask(self, kind, variables, profile=None):
        own = [self.program, "--ask", kind, *([profile] if profile else [])]
        run = subprocess.run(own, env=self.environment(variables), capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, (run.returncode, run.stdout, run.stderr)
        self.checked += 1
        return run.stdout.splitlines()

    def found(self, kind, variables, source, keys, ends=None, profile=None):
        lines = self.ask(kind, variables, profile)
        assert lines[:2] == ["found", source], lines
        assert tuple(lines[2:5]) == keys, lines
        assert ends is None or abs(int(lines[5]) - ends) <= 2, (lines, ends)
        if kind == "aws" and botocore:
            assert self.botocore(variables, profile) == keys

    def none(self, kind, variables, compare=True):
        assert self.ask(kind, variables) == ["none"]
        if kind == "aws" and botocore and compare:
            assert self.botocore(variables) is None

    def fails(self, kind, variables, status, text, profile=None):
        lines = self.ask(kind, variables, profile)
        assert lines[:2] == ["error", status], lines
        assert text in lines[2], lines
        assert "S3CR3T" not in lines[2], lines

    def botocore(self, variables, profile=None):
        before = dict(os.environ)
        own = self.environment(variables)
        os.environ.clear()
        os.environ.update(own)
        try:
            found = botocore.session.Session(profile=profile).get_credentials()
            self.compared += 1
            if found is None:
                return None
            frozen = found.get_frozen_credentials()
            return (frozen.access_key, frozen.secret_key, frozen.token or "")
        finally:
            os.environ.clear()
            os.environ.update(before)


def check_environment(rig):
    keys = {"AWS_ACCESS_KEY_ID": "S3CR3Tenv", "AWS_SECRET_ACCESS_KEY": "S3CR3Tkey"}
    rig.none("aws", {})
    rig.found("aws", keys, "environment", ("S3CR3Tenv", "S3CR3Tkey", ""), 0)
    rig.found("aws", {**keys, "AWS_SESSION_TOKEN": "S3CR3Ttoken"}, "environment", ("S3CR3Tenv", "S3CR3Tkey", "S3CR3Ttoken"))
    rig.fails("aws", {"AWS_ACCESS_KEY_ID": "S3CR3Tenv"}, "invalid", "AWS_SECRET_ACCESS_KEY is not")
    rig.fails("aws", {**keys, "AWS_SECRET_ACCESS_KEY": "S3CR3T\nx"}, "invalid", "control character")
    rig.fails("aws", {**keys, "AWS_SESSION_TOKEN": "S3CR3T" * 1000}, "invalid", "too long")


def check_profiles(rig):
    program = rig.file("program", "#!/bin/sh\nprintf '{\"Version\":1,\"AccessKeyId\":\"S3CR3Tp\",\"SecretAccessKey\":\"%s\"}' \"$1\"\n")
    os.chmod(program, 0o700)
    rig.file("config", f"""
[default]
aws_access_key_id = S3CR3Tc
aws_secret_access_key = S3CR3Tcc
[profile both]
aws_access_key_id = S3CR3Tc
aws_secret_access_key = S3CR3Tcc
[profile "the lab"]
credential_process = "{program}" 'S3CR3T arg'
[profile over]
credential_process = {program} x
[profile sso]
sso_session = corp
sso_account_id = 1
sso_role_name = r
[profile role]
role_arn = arn:aws:iam::1:role/r
source_profile = default
[profile half]
aws_access_key_id = S3CR3Tc
[profile web]
role_arn = arn:aws:iam::1:role/a b
web_identity_token_file = {rig.folder}/token
[sso-session corp]
sso_start_url = https://corp.example/start
sso_region = us-east-1
""")
    rig.file("credentials", """
[both]
aws_access_key_id = S3CR3Tb
aws_secret_access_key = S3CR3Tbb
aws_session_token = S3CR3Tbbb
[over]
aws_access_key_id = S3CR3To
aws_secret_access_key = S3CR3To=/+
""")
    rig.file("token", "\n S3CR3T.web&token \n\n")
    rig.found("aws", {}, "profile default", ("S3CR3Tc", "S3CR3Tcc", ""))
    rig.found("aws", {"AWS_PROFILE": "both"}, "profile both", ("S3CR3Tb", "S3CR3Tbb", "S3CR3Tbbb"))
    rig.found("aws", {"AWS_DEFAULT_PROFILE": "both"}, "profile both", ("S3CR3Tb", "S3CR3Tbb", "S3CR3Tbbb"))
    rig.found("aws", {"AWS_PROFILE": "the lab"}, "profile the lab (credential_process)", ("S3CR3Tp", "S3CR3T arg", ""))
    rig.found("aws", {"AWS_PROFILE": "over"}, "profile over", ("S3CR3To", "S3CR3To=/+", ""))
    keys = {"AWS_ACCESS_KEY_ID": "S3CR3Tenv", "AWS_SECRET_ACCESS_KEY": "S3CR3Tkey"}
    rig.found("aws", {**keys, "AWS_PROFILE": "both"}, "environment", ("S3CR3Tenv", "S3CR3Tkey", ""))
    rig.found("aws", keys, "profile both", ("S3CR3Tb", "S3CR3Tbb", "S3CR3Tbbb"), profile="both")
    rig.fails("aws", {"AWS_PROFILE": "sso"}, "unsupported", "credential_process = aws configure export-credentials --profile sso")
    rig.fails("aws", {"AWS_PROFILE": "role"}, "unsupported", "uses role_arn")
    rig.fails("aws", {"AWS_PROFILE": "half"}, "invalid", "no aws_secret_access_key")
    rig.fails("aws", {"AWS_PROFILE": "nobody"}, "invalid", "\"nobody\" does not exist")
    lines = rig.ask("aws", {"AWS_PROFILE": "web", "AWS_ENDPOINT_URL_STS": rig.url})  # which botocore knows since 1.31
    assert lines[:5] == ["found", "profile web (web identity)", "S3CR3TS", "S3CR3Tsts", "S3CR3Ttoken"], lines
    (rig.folder / "config").unlink()
    (rig.folder / "credentials").unlink()


def check_web_identity(rig):
    token = rig.file("token", "S3CR3T.web&token\n")
    web = {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/a b", "AWS_ENDPOINT_URL": rig.url}
    good = ["found", "web identity", "S3CR3TS", "S3CR3Tsts", "S3CR3Ttoken", str(int(ENDS.timestamp()))]
    assert rig.ask("aws", web) == good
    assert rig.ask("aws", {**web, "AWS_ROLE_SESSION_NAME": "me & you"}) == good
    assert "RoleSessionName=me%20%26%20you" in Server.seen[-1][3]
    Server.faults["/"] = [(503, b"S3CR3T"), (500, b"S3CR3T"), 0]
    assert rig.ask("aws", web) == good  # tried again
    Server.faults["/"] = (403, b"<Error><Code>S3CR3T</Code></Error>")
    rig.fails("aws", web, "io", "STS refused, with status 403")
    Server.faults["/"] = (200, b"<Credentials><AccessKeyId>S3CR3T</AccessKeyId>")
    rig.fails("aws", web, "corrupt", "a key or the token is missing")
    Server.faults["/"] = (200, XML.replace(STAMP, "soon").encode())
    rig.fails("aws", web, "corrupt", "the end is not a date")
    Server.faults["/"] = (200, b"x" * 70000)
    rig.fails("aws", web, "io", "STS does not answer")
    Server.faults.clear()
    rig.fails("aws", {**web, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "io", "STS does not answer")
    rig.fails("aws", {**web, "AWS_WEB_IDENTITY_TOKEN_FILE": token + "x"}, "io", "cannot open")
    rig.fails("aws", {**web, "AWS_ROLE_ARN": ""}, "invalid", "AWS_ROLE_ARN is not")
    rig.file("token", "")
    rig.fails("aws", web, "invalid", "does not contain a token")
    rig.file("token", "S3CR3T\nS3CR3T")
    rig.fails("aws", web, "invalid", "does not contain a token")


def check_container(rig):
    auth = rig.file("auth", "Basic S3CR3Tauth\n")
    uri = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": rig.url + "/container"}
    keys = ("S3CR3TA", "S3CR3T/b+", "S3CR3T//token==")
    rig.found("aws", uri, "container", keys, ENDS.timestamp())
    rig.found("aws", {**uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic S3CR3Tauth"}, "container", keys)
    lines = rig.ask("aws", {**uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": auth})
    assert lines[:3] == ["found", "container", "S3CR3TA"], lines
    rig.fails("aws", {**uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "S3CR3Tother"}, "io", "refused, with status 403")
    rig.fails("aws", {**uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "S3CR3T\r\nX: y"}, "invalid", "AUTHORIZATION_TOKEN is too long")
    for bad in ("http://example.org/S3CR3T", "http://127.0.0.1.example.org/", "http://169.254.169.254/", "ftp://localhost/", "x"):
        rig.fails("aws", {"AWS_CONTAINER_CREDENTIALS_FULL_URI": bad}, "invalid", "FULL_URI is refused")
    for body, text in (({**KEYS, "Token": None}, "the token is missing"), ([], "not an object"), (b"{", "not valid JSON"),
                       ({**KEYS, "Expiration": 5}, "the end is not a date"), ({**KEYS, "AccessKeyId": "S3CR3T" * 90}, "a key is missing"),
                       ({**KEYS, "Expiration": "2001-01-01T00:00:00Z"}, "already ended")):
        Server.faults["/container"] = (200, body)
        rig.fails("aws", uri, "io" if text == "already ended" else "corrupt", text)
    Server.faults["/container"] = (200, {"Code": "AssumeRoleUnauthorizedAccess", "Message": "S3CR3T"})
    rig.fails("aws", uri, "io", "refused: AssumeRoleUnauthorizedAccess")
    Server.faults.clear()


def check_instance(rig):
    on = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": rig.url + "/"}
    role = "/latest/meta-data/iam/security-credentials/"
    lines = rig.ask("aws", on)
    assert lines == ["found", "instance role my role", "S3CR3TA", "S3CR3T/b+", "S3CR3T//token==", str(int(ENDS.timestamp()))], lines
    Server.faults[role] = 404
    rig.none("aws", on, compare=False)
    Server.faults[role] = 500
    rig.fails("aws", on, "io", "IMDS refused, with status 500")
    Server.faults[role] = (200, b"")
    rig.fails("aws", on, "corrupt", "no usable name of a role")
    Server.faults.clear()
    Server.faults["/latest/api/token"] = 403
    rig.fails("aws", on, "io", "IMDS refused, with status 403")
    Server.faults["/latest/api/token"] = "hang"
    rig.fails("aws", on, "io", "IMDS does not answer")
    Server.faults["/latest/api/token"] = (200, b"S3CR3T" * 100)
    rig.fails("aws", on, "corrupt", "no usable session token")
    Server.faults.clear()
    rig.fails("aws", {**on, "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"}, "io", "IMDS does not answer")


def check_google(rig):
    keys = {"GS_ACCESS_KEY_ID": "GOOGS3CR3T", "GS_SECRET_ACCESS_KEY": "S3CR3T/+"}
    rig.none("gs", {})
    rig.found("gs", keys, "GS_ACCESS_KEY_ID", ("GOOGS3CR3T", "S3CR3T/+", ""))
    rig.fails("gs", {"GS_ACCESS_KEY_ID": "S3CR3T"}, "invalid", "GS_SECRET_ACCESS_KEY is not")
    rig.found("gs", {"GOOGLE_OAUTH_ACCESS_TOKEN": "S3CR3Tya29"}, "GOOGLE_OAUTH_ACCESS_TOKEN", ("", "", "S3CR3Tya29"))
    rig.fails("gs", {"GOOGLE_APPLICATION_CREDENTIALS": "/S3CR3T.json"}, "unsupported", "does not read GOOGLE_APPLICATION_CREDENTIALS")
    on = {"NO_GCE_CHECK": "false", "GCE_METADATA_HOST": rig.url.removeprefix("http://")}
    now = datetime.datetime.now().timestamp()
    rig.found("gs", on, "service account of the machine", ("", "", "S3CR3Tbearer"), now + 3599)
    Server.faults["/computeMetadata/v1/instance/service-accounts/default/token"] = 404
    rig.fails("gs", on, "io", "refused, with status 404")
    Server.faults.clear()


def check_hub(rig):
    rig.none("hf", {})
    rig.found("hf", {"HF_TOKEN": "hf_S3CR3T"}, "HF_TOKEN", ("", "", "hf_S3CR3T"))
    (rig.folder / ".cache/huggingface").mkdir(parents=True)
    rig.file(".cache/huggingface/token", "hf_S3CR3Tcache\n")
    rig.found("hf", {}, "token file", ("", "", "hf_S3CR3Tcache"))
    rig.none("hf", {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"})
    rig.none("hf", {"HF_HOME": str(rig.folder / "other")})
    rig.found("hf", {"HF_TOKEN_PATH": rig.file("hf", "  hf_S3CR3Tfile ")}, "token file", ("", "", "hf_S3CR3Tfile"))
    rig.fails("hf", {"HF_TOKEN_PATH": rig.file("hf", "S3CR3T\nS3CR3T")}, "invalid", "does not contain a token")
    rig.fails("hf", {"HF_TOKEN_PATH": rig.file("hf", "S3CR3T" * 1000)}, "invalid", "too large")


def main():
    if os.environ.get("SLUICE_TEST_WITHOUT_REMOTE"):
        print("skipped: sluice was built without libcurl")
        sys.exit(77)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(sys.argv[1], pathlib.Path(folder), f"http://127.0.0.1:{server.server_port}")
        for check in (check_environment, check_profiles, check_web_identity, check_container, check_instance, check_google, check_hub):
            check(rig)
    Server.hanging.set()
    server.shutdown()
    print(f"{rig.checked} chains asked, {rig.compared} compared with botocore's")


main()
