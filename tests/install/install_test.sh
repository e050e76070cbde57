#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install_test.sh BUILD CC: installs BUILD into an empty folder, moves that folder, and builds and
# runs a stranger's project against it: by CMake and by pkg-config, shared and static.
set -eu
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { # step NAME COMMAND...: quiet unless it fails
    local name=$1
    shift
    if ! "$@" > "$work/log" 2>&1; then
        echo "failed: $name: $*"
        cat "$work/log"
        exit 1
    fi
}

step install cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
pc=$(find "$prefix" -name sluice.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}

soname=$(readelf -d "$libdir/libsluice.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
[ "$soname" = libsluice.so.0.1 ] || { echo "soname is '$soname'"; exit 1; }
if grep -rlF "$work" "$prefix"; then
    echo "these installed files name the folder they were installed to"
    exit 1
fi

for kind in shared static; do
    step "configure $kind" cmake -S "$here/consumer" -B "$work/$kind" -G Ninja -DKIND=$kind \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
    step "build $kind" cmake --build "$work/$kind"
    step "run $kind" "$work/$kind/consumer"
done

# Word splitting is how pkg-config's output is meant to be used.
# shellcheck disable=SC2046
step "pkg-config shared" "$cc" -std=c11 -o "$work/pc-shared" "$here/consumer/consumer.c" \
    $(pkg-config --cflags --libs sluice)
step "run pkg-config shared" env LD_LIBRARY_PATH="$libdir" "$work/pc-shared"
# As docs/c.md says, for a prefix that the system does not know.
# shellcheck disable=SC2046
step "pkg-config rpath" "$cc" -std=c11 -o "$work/pc-rpath" "$here/consumer/consumer.c" \
    $(pkg-config --cflags --libs sluice) -Wl,-rpath,"$(pkg-config --variable=libdir sluice)"
step "run pkg-config rpath" "$work/pc-rpath"
# shellcheck disable=SC2046
step "pkg-config static" "$cc" -std=c11 -static -o "$work/pc-static" "$here/consumer/consumer.c" \
    $(pkg-config --static --cflags --libs sluice)
step "run pkg-config static" "$work/pc-static"

needed() { readelf -d "$1" | grep -c 'NEEDED.*libsluice' || true; }
for program in shared/consumer:1 static/consumer:0 pc-shared:1 pc-static:0; do
    [ "$(needed "$work/${program%:*}")" = "${program#*:}" ] ||
        { echo "${program%:*} is linked the wrong way"; exit 1; }
done
if [ -x "$prefix/bin/sluice" ]; then
    for file in man/man1/sluice-pack.1 bash-completion/completions/sluice zsh/site-functions/_sluice \
        fish/vendor_completions.d/sluice.fish; do
        [ -s "$prefix/share/$file" ] || { echo "$file is not installed"; exit 1; }
    done
    step "installed tool" "$prefix/bin/sluice" --help
    # shellcheck disable=SC2016
    step "installed idle" sh -c '"$1" idle -- true | grep "did not start CUDA"' - "$prefix/bin/sluice"
fi

# The Python package is installed where it is asked for, and then finds the tool in PATH.
if find "$prefix" -name '*.py' | grep -q .; then
    echo "the Python package is installed without being asked for"
    exit 1
fi
if [ -e "$build/python/sluice/_sluice.abi3.so" ]; then
    step "install python" cmake --install "$build" --prefix "$prefix" --component python
    export PYTHONPATH=$prefix/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
    step "installed python" /usr/bin/python3 -c \
        'import importlib.metadata, sluice; assert importlib.metadata.version("sluice") == sluice.__version__'
    [ ! -x "$prefix/bin/sluice" ] ||
        step "python -m" env PATH="$prefix/bin:$PATH" /usr/bin/python3 -m sluice --version
fi
echo "install: CMake and pkg-config, shared and static"
