# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel with nothing but cmake, a compiler and Python itself (PEP 517; no package index).

`pip install .` calls this. The wheel holds the package, the tool (`sluice`, `python -m sluice`) with the library of `sluice
idle` beside it, and the shared libraries that they need besides the C library's own, found next to them (RPATH
$ORIGIN).
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Every Linux with a C library has these.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread|gcc_s|resolv)\.so|ld-linux|linux-vdso)")


# What pip's script `sluice` calls. Not in the package, which would be imported first, and that takes longer than all the rest.
COMMAND = "_sluice_command"
COMMAND_SOURCE = """# SPDX-License-Identifier: Apache-2.0
\"\"\"The command `sluice`: as `python -m sluice`, without importing the package.\"\"\"
import os
import runpy


def main():
    runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sluice", "__main__.py"), run_name="__main__")
"""


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without this, pip would build a whole wheel for the metadata, and then the wheel."""
    for name, text in metadata(wheel_tag()):
        path = pathlib.Path(metadata_directory) / name
        if path.parent.suffix == ".dist-info":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return f"sluice-{PROJECT['version']}.dist-info"


def run(*command):
    if shutil.which(command[0]) is None:
        raise RuntimeError(f"{command[0]} was not found: run scripts/quickstart, which installs what building needs")
    subprocess.run(list(map(str, command)), check=True, cwd=ROOT)


def build(folder):
    """The folder of the wheel's binaries, built."""
    run(
        "cmake", "-S", ROOT, "-B", folder, *(["-G", "Ninja"] if shutil.which("ninja") else []), "-DCMAKE_BUILD_TYPE=Release", "-DSLUICE_BUILD_EXAMPLES=OFF",
        "-DSLUICE_INSTALL=OFF",
    )  # fmt: skip
    if not (pathlib.Path(folder) / "python" / "sluice").exists():
        raise RuntimeError("no headers of Python 3.11 or newer were found: install python3-dev")
    run("cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1), "--target", "wheel")
    return pathlib.Path(folder) / "wheel"


def needed(binary):
    """Shared libraries that a binary is linked to, by soname, where the loader finds them."""
    lines = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout.splitlines()
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", "\n".join(lines), re.MULTILINE))
    return {name: path for name, path in found.items() if not SYSTEM.match(name)}


def contents(extension, programs, libraries):
    """(name in the wheel, file, whether it is a program) of everything."""
    package = ROOT / "python" / "sluice"
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"sluice/{path.relative_to(package).as_posix()}", path, False
    yield f"sluice/{extension.name}", extension, False
    for path in programs:  # beside each other: there the tool looks first
        yield f"sluice/bin/{path.name}", path, True
    for name, path in sorted(libraries.items()):
        yield f"sluice/lib/{name}", pathlib.Path(path), False


def packages_of(paths):
    """Debian's package that each file is of, by path. A package may know a file by its name from before /lib went into /usr."""
    names = {name: path for path in paths for name in (path.removeprefix("/usr"), path)}
    lines = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True).stdout.splitlines()
    found = [line.rpartition(": ") for line in lines if not line.startswith("diversion by ")]
    return {names[name]: owners.split(":")[0] for owners, _, name in found if name in names}


def licenses(libraries):
    """(name, text) of the licences of what the wheel carries, where Debian's packages have them."""
    yield "LICENSE", (ROOT / "LICENSE").read_text()
    yield "copyright", (ROOT / "cmake/debian/copyright").read_text()  # has the licence of the tool's letters
    packages = packages_of([os.path.realpath(path) for path in libraries.values()])
    for name, path in sorted(libraries.items()):
        package = packages.get(os.path.realpath(path))
        text = pathlib.Path("/usr/share/doc") / (package or "") / "copyright"
        if package and text.exists():
            yield f"{name}.txt", text.read_text()


def metadata(tag):
    yield f"{COMMAND}.py", COMMAND_SOURCE
    info = f"sluice-{PROJECT['version']}.dist-info"
    yield f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
        f"Summary: {PROJECT['description']}\nRequires-Python: {PROJECT['requires-python']}\n"
        f"License: {PROJECT['license']['text']}\n"
    )
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sluice\nRoot-Is-Purelib: false\nTag: {tag}\n"
    yield f"{info}/entry_points.txt", f"[console_scripts]\nsluice = {COMMAND}:main\n"


def record_row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel, name, data, is_program=False):
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if is_program else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, data)
    return record_row(name, data)


def wheel_tag():
    return "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def pack(binaries, wheel_directory):
    """Writes the wheel of a folder of binaries (cmake's target `wheel`), and returns its name."""
    tag = wheel_tag()
    name = f"sluice-{PROJECT['version']}-{tag}.whl"
    extension = pathlib.Path(binaries) / "_sluice.abi3.so"
    programs = [pathlib.Path(binaries) / "bin" / name for name in ("sluice", "libsluice_inject.so")]
    libraries = needed(extension) | needed(programs[0])
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as wheel:
        records = [
            add(wheel, inside, path.read_bytes(), is_program)
            for inside, path, is_program in contents(extension, programs, libraries)
        ]
        records += [add(wheel, inside, text.encode()) for inside, text in metadata(tag)]
        info = f"sluice-{PROJECT['version']}.dist-info"
        records += [add(wheel, f"{info}/licenses/{called}", text.encode()) for called, text in licenses(libraries)]
        last = f"{info}/RECORD"
        add(wheel, last, ("".join(records) + f"{last},,\n").encode())
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        return pack(build(folder), wheel_directory)
