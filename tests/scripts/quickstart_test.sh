#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quickstart_test.sh ROOT: tests which packages scripts/quickstart and scripts/test consider installed, and what they do about
# missing ones. dpkg reports a machine described here; apt-get, sudo and cmake are fakes. Exit 77: not Debian.
set -eu -o pipefail
export LC_ALL=C
for tool in dpkg dpkg-query; do
    command -v "$tool" > /dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1/scripts" "$work/scripts"
native=$(dpkg --print-architecture)
foreign=i386
[ "$native" != i386 ] || foreign=arm64

fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}
says() { grep -qF -e "$1" "$work/out" || fail "'$1' is missing in the output"; }

# Replacements of the commands: each records its call, arguments and input.
mkdir "$work/bin" "$work/no-sudo"
fake() { # fake NAME SCRIPT
    printf '#!/bin/sh\necho "%s $*" >> "%s/called"\n%s\n' "$1" "$work" "$2" > "$work/bin/$1"
    chmod +x "$work/bin/$1"
}
fake apt-get 'exit 7'
# shellcheck disable=SC2016 # the fake's
fake sudo '[ "$1" != -n ] || { echo "a password is required"; exit 1; }; exec "$@"'
# shellcheck disable=SC2016 # the fake's
fake cmake '[ "$1" != --version ] || { echo "cmake version 3.25.1"; exit; }; echo "no real cmake"; exit 3'
for user in 0 1000; do # whichever user runs this
    mkdir "$work/bin-$user"
    # shellcheck disable=SC2016 # the fake's
    printf '#!/bin/sh\n[ "${1-}" = -u ] || exec /usr/bin/id "$@"\necho %s\n' "$user" > "$work/bin-$user/id"
    chmod +x "$work/bin-$user/id"
done
# A PATH with everything except sudo.
ln -sf /usr/bin/* "$work/no-sudo/"
ln -sf "$work/bin/apt-get" "$work/bin/cmake" "$work/no-sudo/"
rm -f "$work/no-sudo/sudo"

# The machine: everything is installed except WITHOUT; MORE is added.
status() { # status WITHOUT MORE
    local name
    mkdir -p "$work/dpkg/info" "$work/dpkg/updates"
    {
        for name in "${all[@]}"; do
            [ "$name" = "$1" ] || stanza "$name" "$native" installed
        done
        printf '%s\n\n' "$2"
    } > "$work/dpkg/status"
    printf '%s\n' "$native" "$foreign" > "$work/dpkg/arch"
}
stanza() { # stanza NAME ARCHITECTURE STATE
    printf 'Package: %s\nStatus: install ok %s\nMaintainer: x\nArchitecture: %s\n' "$1" "$3" "$2"
    [ "$2" = all ] || printf 'Multi-Arch: same\n'
    printf 'Version: 1\nDescription: x\n\n'
}
. "$work/scripts/lib.sh"
mapfile -t all < <(printf '%s' "$packages_to_build$packages_for_python$packages_to_build_tests$packages_to_test$packages_of_launchers$packages_of_stores" |
    sed 's/[ |:].*//' | grep .)
[ "${#all[@]}" -gt 30 ] || fail "there are ${#all[@]} packages only"

# try SCRIPT USER CODE: runs scripts/SCRIPT as that user.
try() {
    local code=0
    rm -rf "$work/build" "$work/called"
    # shellcheck disable=SC2086 # a script and its options
    DPKG_ADMINDIR=$work/dpkg PATH=$work/bin-$2:${path-$work/bin:$PATH} "$work"/scripts/$1 > "$work/out" 2>&1 || code=$?
    [ "$code" -eq "$3" ] || fail "$1 ended with $code instead of $3"
    touch "$work/called"
}
runs() { grep -q "^$1" "$work/called" || fail "$1 was not run"; }
runs_no() { ! grep -q "^$1" "$work/called" || fail "$1 was run"; }

# Nothing is missing: no user calls apt or sudo, and the build begins.
status nothing "$(stanza libzstd-dev $foreign installed; stanza libfoo $foreign installed)"
[ "$(DPKG_ADMINDIR=$work/dpkg dpkg-query -W -f '${Status}\n' libzstd-dev | wc -l)" -eq 2 ] || fail "the package is not listed twice"
for user in 0 1000; do
    for script in quickstart "test --quick"; do
        try "$script" "$user" 1
        runs_no apt-get
        runs_no sudo
        says "no real cmake"
        ! grep -q -i missing "$work/out" || fail "something is missing"
    done
done

# Of another architecture only, removed with its configuration left, or half installed: counts as missing.
for state in "$foreign installed" "$native config-files" "$native unpacked" "$foreign unpacked"; do
    # shellcheck disable=SC2086 # architecture and state
    status libzstd-dev "$(stanza libzstd-dev $state)"
    try quickstart 0 1
    says "  libzstd-dev "
    [ "$(grep -c '^  ' "$work/out")" -eq 1 ] || fail "more is missing"
    runs "apt-get update"
    runs_no sudo
    says "apt-get failed"
    says "Packages wanted: libzstd-dev"
done

# Another package is accepted as well, including one for all architectures.
status pkg-config "$(stanza pkgconf all installed)"
try quickstart 0 1
runs_no apt-get

# An ordinary user: with sudo if it exists; otherwise the script says what to do and runs nothing.
status libpng-dev ""
try quickstart 1000 1
runs "sudo apt-get update"
path=$work/no-sudo try quickstart 1000 1
says "apt-get install --no-install-recommends libpng-dev"
runs_no apt-get
runs_no cmake

# Launchers may be missing: the tests run without them.
status openmpi-bin ""
path=$work/no-sudo try "test --quick" 1000 1
says "Launchers that are not installed are not tested."
says "no real cmake"
runs_no apt-get
# Servers are installed in CI only, and the tests run without them.
status radosgw ""
CI=true try "test --quick" 0 1
runs "apt-get update"
says "Servers of object stores that are not installed are not read from."
says "no real cmake"
CI='' try "test --quick" 0 1
runs_no apt-get
says "no real cmake"
# Packages that only tests need are installed during the build if no password is needed, otherwise before the tests.
status python3-numpy ""
try "test --quick" 1000 1
runs "sudo -n apt-get update"
runs "sudo apt-get update"
says "what tests need cannot be installed"
try "test --quick" 0 1
runs "apt-get update"
runs_no sudo
says "what tests need cannot be installed"
# The tests run where the distribution lacks one of these; a package of the build must exist.
fake apt-get 'exit 0'
# shellcheck disable=SC2016 # the fake's
fake apt-cache 'shift; for name in "$@"; do printf "%s:\n  Candidate: (none)\n" "$name"; done'
status python3-torch ""
try "test --quick" 0 1
says "Not in this distribution: python3-torch. Tests that need them are skipped."
says "no real cmake"
runs_no "apt-get install"
status libpng-dev ""
try "test --quick" 0 1
runs "apt-get install -y --no-install-recommends libpng-dev"
echo "quickstart: ${#all[@]} packages"
