#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# packages_test.sh SOURCE BUILD CPACK: makes Debian packages of what BUILD has built, looks at what they say
# and hold, and runs it where they are unpacked. scripts/package-check installs them. Exit 77: no Debian.
set -eu -o pipefail
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
source=$1 build=$2 cpack=$3
for tool in dpkg-deb dpkg-shlibdeps readelf; do
    command -v "$tool" > /dev/null || { echo "skipped: there is no $tool (dpkg-dev, binutils)"; exit 77; }
done
if [ ! -x "$build/bin/sluice" ] || [ ! -e "$build/python/sluice/_sluice.abi3.so" ]; then
    echo "skipped: the tool or the Python package is not built here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    [ ! -s "$work/log" ] || tail -n 30 "$work/log"
    exit 1
}

# xz takes most of the time, and nothing that is looked at here depends on it.
grep -qx 'set(CPACK_DEBIAN_COMPRESSION_TYPE "xz")' "$build/CPackConfig.cmake" || fail "packages are not compressed by xz"
sed 's/^\(set(CPACK_DEBIAN_COMPRESSION_TYPE\) .*/\1 "gzip")/' "$build/CPackConfig.cmake" > "$work/config.cmake"
"$cpack" --config "$work/config.cmake" -B "$work/made" > "$work/log" 2>&1 || fail "cpack"
version=$("$build/bin/sluice" --version)
version=${version#* }
abi=${version%.*}
arch=$(dpkg --print-architecture)
packages=("libsluice$abi" libsluice-dev sluice python3-sluice)
[ "$(find "$work/made" -maxdepth 1 -name '*.deb' | wc -l)" -eq "${#packages[@]}" ] ||
    fail "there are not ${#packages[@]} packages"

# field PACKAGE NAME PATTERN: an extended regular expression for the whole of a control field
field() {
    local value
    value=$(dpkg-deb -f "$work/$1.deb" "$2")
    [[ $value =~ ^($3)$ ]] || fail "$1: $2 is '$value'"
}

holds() { # holds PACKAGE FILE...: paths below /usr
    local package=$1 file
    shift
    for file; do
        [ -e "$work/$package/usr/$file" ] || [ -L "$work/$package/usr/$file" ] ||
            fail "$package has no $file"
    done
}

for package in "${packages[@]}"; do
    mv "$work/made/${package}_$version-1_$arch.deb" "$work/$package.deb"
    dpkg-deb -x "$work/$package.deb" "$work/$package"
    dpkg-deb -x "$work/$package.deb" "$work/root"
    dpkg-deb -e "$work/$package.deb" "$work/$package.control"
    (cd "$work/$package" && md5sum --quiet -c "$work/$package.control/md5sums") || fail "$package: sums"
    field "$package" Package "$package"
    field "$package" Version "$version-1"
    field "$package" Architecture "$arch"
    field "$package" Source sluice
    field "$package" Maintainer '.+ <.+@.+>'
    field "$package" Section '[a-z]+'
    [ "$(dpkg-deb -f "$work/$package.deb" Description | wc -l)" -ge 4 ] || fail "$package: description"
    holds "$package" "share/doc/$package/"{copyright,changelog.gz,changelog.Debian.gz}
    zcat "$work/$package/usr/share/doc/$package/changelog.Debian.gz" | head -n 1 |
        grep -qF "sluice ($version-1)" || fail "$package: the changelog is of another version"
    odd=$(dpkg-deb -c "$work/$package.deb" |
        awk '$2 != "root/root" || $1 ~ /^[^l].......w/ || $6 !~ "^./usr/" || /__pycache__|stamp$/')
    [ -z "$odd" ] || fail "$package holds $odd"
done
[ "$(find "${packages[@]/#/$work/}" ! -type d -printf '%P\n' | sort | uniq -d)" = "" ] ||
    fail "two packages hold the same file"

field "libsluice$abi" Depends '.*libc6 .*libjansson4 .*libjpeg.*libpng16.*liburing2 .*libzstd1 .*'
if grep -rqF libcurl.so.4 "$work/libsluice$abi/usr"; then
    field "libsluice$abi" Recommends 'libcurl4, ca-certificates'
fi
for package in "${packages[@]}"; do # libcurl is opened at run time
    [[ $(dpkg-deb -f "$work/$package.deb" Depends) != *curl* ]] || fail "$package: it depends on libcurl"
done
field libsluice-dev Depends "libsluice$abi \(= $version-1\), libjansson-dev, libjpeg-dev, libpng-dev, .*"
field sluice Depends '.*libc6 .*libjpeg.*libpng16.*'
field python3-sluice Depends "python3 \(>= 3.11\), sluice \(= $version-1\), .*libc6 .*libjpeg.*"
field python3-sluice Suggests python3-numpy
control=$work/libsluice$abi.control
grep -qx 'activate-noawait ldconfig' "$control/triggers" || fail "no trigger for ldconfig"
grep -qx "libsluice $abi libsluice$abi (>= $version)" "$control/shlibs" || fail "no shlibs"
scripts=$(cd "$work" && find ./*.control -perm -100 -type f | sort | tr '\n' ' ')
[ "$scripts" = "./python3-sluice.control/postinst ./python3-sluice.control/prerm " ] ||
    fail "scripts of maintainers are $scripts"

libdir=$(cd "$work/libsluice$abi/usr" && find lib -name "libsluice.so.$abi" -printf '%h')
holds "libsluice$abi" "$libdir/libsluice.so.$version"
holds libsluice-dev "$libdir/"{libsluice.so,libsluice.a,pkgconfig/sluice.pc,cmake/sluice/sluiceConfig.cmake}
diff -r "$source/include/sluice" "$work/libsluice-dev/usr/include/sluice" || fail "headers are missing"
holds sluice bin/sluice "$libdir/sluice/libsluice_inject.so"
mapfile -t commands < <("$build/bin/sluice" --help | sed -nE 's/^  ([a-z]+)  +.*/\1/p')
[ "${#commands[@]}" -ge 9 ] || fail "the tool has ${#commands[@]} commands"
for command in "${commands[@]}"; do
    holds sluice "share/man/man1/sluice-$command.1.gz"
done
holds sluice share/man/man1/sluice.1.gz share/bash-completion/completions/sluice \
    share/zsh/vendor-completions/_sluice share/fish/vendor_completions.d/sluice.fish
for file in "$source"/python/sluice/{,transforms/}*.py*; do
    holds python3-sluice "lib/python3/dist-packages/${file#"$source"/python/}"
done

if grep -q curl "$work/libsluice-dev/usr/$libdir/"{pkgconfig/sluice.pc,cmake/sluice/*.cmake}; then
    fail "who links the library needs libcurl"
fi

# Programs are stripped and look for libraries nowhere of their own; nothing names the build's folders.
for file in bin/sluice "$libdir/libsluice.so" "$libdir/sluice/libsluice_inject.so" \
    lib/python3/dist-packages/sluice/_sluice.abi3.so; do
    said=$(readelf -SWd "$work/root/usr/$file")
    [[ $said != *.symtab* && $said != *RPATH* && $said != *RUNPATH* ]] || fail "$file: symbols or RPATH"
done
if grep -rlF -e "$build" -e "$source" "$work/root"; then fail "these files name the build's folders"; fi

export LD_LIBRARY_PATH=$work/root/usr/$libdir PATH=$work/root/usr/bin:$PATH
export PYTHONPATH=$work/root/usr/lib/python3/dist-packages
cd "$work"
[ "$(sluice --version)" = "sluice $version" ] || fail "the tool does not run"
bash -c '. root/usr/share/bash-completion/completions/sluice
    COMP_WORDS=(sluice pack --over) COMP_CWORD=2
    compopt() { :; }
    _sluice
    [ "${COMPREPLY[*]}" = --overwrite ]' || fail "nothing is completed in bash"
sluice synth photos --count 12 --size-scale 0.3 > log 2>&1 || fail "synth"
sluice pack photos packed > log 2>&1 || fail "pack"
sluice verify packed > log 2>&1 || fail "verify"
sluice idle -- true > log 2>&1 || grep -q 'did not start CUDA' log || fail "idle"
/usr/bin/python3 - "$abi" > log 2>&1 << 'PYTHON' || fail "python"
import ctypes, sys, sluice
assert sluice.__file__.startswith(sys.path[1]), sluice.__file__
library = ctypes.CDLL(f"libsluice.so.{sys.argv[1]}")
library.sluice_version.restype = ctypes.c_char_p
assert library.sluice_version().decode() == sluice.__version__
loader = sluice.Loader("packed", batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))
assert sum(batch.rows for batch in loader) == 12
PYTHON
/usr/bin/python3 -m sluice info packed > log 2>&1 || fail "python -m sluice"
echo "packages: $(stat -c '%n %s' ./*.deb | sed 's/^\.\///; s/\.deb//' | tr '\n' ' ')"
