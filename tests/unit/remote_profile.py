# SPDX-License-Identifier: Apache-2.0
"""Compares profiles of random AWS files with botocore's reading of them.

remote_profile.py PROGRAM: PROGRAM is remote_settings_test. Exit status 77: there is no botocore.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import botocore.configloader
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FILES = 300
NAMES = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token", "credential_process", "role_arn", "role_session_name",
         "web_identity_token_file", "source_profile", "credential_source", "sso_session", "sso_start_url", "region", "ca_bundle",
         "ignore_configured_endpoint_urls", "endpoint_url", "services"]
OTHERS = ["output", "cli_pager", "regions", "xregion", "max_attempts"]
VALUES = ["eu-west-1", "abc/+=", "a = b", "a:b", "http://127.0.0.1:9000", "'quoted arg' \"x\"", "value # no comment", "value ; no comment",
          "[x]", "ä", "", "%(region)s", "$HOME"]
PROFILES = ["default", "lab", "my lab", "a-b.c", "x]y"]


def setting(chance, name):
    separator = chance.choice(["=", " = ", ":", " : ", "= ", "\t=\t"])
    cased = chance.choice([name, name, name.upper(), name.capitalize()])
    return f"{cased}{separator}{chance.choice(VALUES)}{chance.choice(['', '', '  ', chr(9)])}"


def body(chance, services):
    """Lines of a section: each name once, since botocore refuses a second one."""
    lines = []
    for name in chance.sample(NAMES + OTHERS, chance.randint(0, 8)):
        if name == "services":
            if services:
                lines.append(f"services = {chance.choice(services)}")
        else:
            lines.append(setting(chance, name))
        if chance.random() < 0.2:
            lines.append(chance.choice(["", "# comment", "; comment", "   ", "#region = no"]))
    if chance.random() < 0.4:
        lines += ["s3 =", *(f"  {name} = nested" for name in chance.sample(["endpoint_url", "region", "addressing_style"], 2))]
    return lines


def services_body(chance):
    lines = []
    for service in chance.sample(["s3", "sts", "dynamodb", "S3"], chance.randint(1, 3)):
        lines += [f"{service} =", *(f"{chance.choice(['  ', chr(9)])}{name} = http://{service}.{chance.randint(0, 9)}"
                                    for name in chance.sample(["endpoint_url", "region"], chance.randint(1, 2)))]
    return lines if len({line.lower() for line in lines}) == len(lines) and "S3 =" not in lines else []


def section(chance, name):
    quoted = f"\"{name}\"" if " " in name or chance.random() < 0.3 else name
    return "[default]" if name == "default" and chance.random() < 0.7 else f"[profile {quoted}]"


def text(chance, sections):
    end = chance.choice(["\n", "\n", "\r\n"])
    lines = [line for header, lines in sections for line in ([header, *lines, ""] if chance.random() < 0.5 else [header, *lines])]
    return end.join(lines) + chance.choice(["", end])


def make(chance, folder, number):
    config, credentials = folder / f"config{number}", folder / f"credentials{number}"
    names = chance.sample(PROFILES[:-1], chance.randint(0, 4))
    services = chance.sample(["lab services", "one"], chance.randint(0, 2))
    sections = [(section(chance, name), body(chance, services)) for name in names]
    sections += [(f"[services {name}]" if " " not in name else f"[services \"{name}\"]", services_body(chance)) for name in services]
    chance.shuffle(sections)
    config.write_text(text(chance, sections), newline="")
    own = [(f"[{name}]", body(chance, [])) for name in chance.sample(PROFILES, chance.randint(0, 3))]
    credentials.write_text(text(chance, own), newline="")
    return config, credentials


def expected(config, credentials, name):
    """What botocore finds, by our numbers."""
    loaded = botocore.configloader.load_config(str(config))
    raw = botocore.configloader.raw_config_parse(str(credentials))
    found = loaded["profiles"].get(name, {}) | raw.get(name, {})
    values = {number: found[word] for number, word in enumerate(NAMES) if isinstance(found.get(word), str)}
    services = botocore.configloader.raw_config_parse(str(config))
    chosen = loaded["profiles"].get(name, {}).get("services")
    for header, inside in services.items():
        if chosen and header.split(" ", 1)[0] == "services" and header.split(" ", 1)[1].strip("\"") == chosen:
            for place, service in enumerate(["s3", "sts"]):
                endpoint = inside[service].get("endpoint_url") if isinstance(inside.get(service), dict) else None
                if endpoint:
                    values[len(NAMES) + place] = endpoint
    return values


def main():
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        made = [make(chance, pathlib.Path(folder), number) for number in range(FILES)]
        asked = [(config, credentials, name) for config, credentials in made for name in PROFILES]
        lines = "".join("\t".join(map(str, one)) + "\n" for one in asked)
        run = subprocess.run([sys.argv[1], "--values"], input=lines, capture_output=True, text=True, check=True)
        answers = [dict(line.split(" ", 1) for line in answer.splitlines()) for answer in run.stdout.split("end\n")[:-1]]
        assert len(answers) == len(asked), (len(answers), run.stderr)
        values = 0
        for one, answer in zip(asked, answers):
            wanted = {str(number): value for number, value in expected(*one).items()}
            assert answer == wanted, (answer, wanted, one[2], one[0].read_text(), one[1].read_text())
            values += len(wanted)
    print(f"{values} values of {FILES} pairs of files equal botocore's")


main()
