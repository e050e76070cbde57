# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh: functions shared by scripts/quickstart and scripts/test. Sourced, never run.

say() { printf '%s\n' "$*"; }
die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Each line: package, accepted alternatives, and why it is needed.
# shellcheck disable=SC2034 # used by those who source this
packages_to_build='
gcc                                           : the C compiler
libc6-dev                                     : headers of the C library
cmake                                         : describes the build (3.25 or newer)
ninja-build                                   : runs the build
pkg-config|pkgconf                            : finds libraries
libjpeg-dev|libjpeg62-turbo-dev|libjpeg-turbo8-dev : libjpeg-turbo, decodes photos
liburing-dev                                  : io_uring, reads files without a thread per read
libzstd-dev                                   : zstd, compressed fields of shards
libxxhash-dev                                 : XXH3, checksums of samples
libjansson-dev                                : JSON, which many formats keep their index in
libpng-dev                                    : decodes PNG, writes the pictures of sluice view
libwebp-dev                                   : decodes WebP (built without it, sluice refuses WebP)
libbrotli-dev                                 : unpacks Parquet files and MDS shards of Brotli (refused without it)
liblz4-dev                                    : unpacks Parquet and Arrow files of LZ4 (refused without it)
libexpat1-dev                                 : reads annotations in XML, those of Pascal VOC (built without it, refused)
libyaml-dev                                   : reads data.yaml, where YOLO keeps its folders (built without it, refused)
libcurl4-openssl-dev|libcurl4-gnutls-dev      : headers of libcurl, reads from object stores (refused without it)
libssl-dev                                    : libcrypto, verifies hashes of MDS shards (without it those of xxHash only)
'
# shellcheck disable=SC2034 # used by those who source this
packages_for_python='
python3                                       : the language of training loops, and of style and ABI checks
python3-dev                                   : headers for the Python package
python3-venv                                  : environments that the Python package is installed into
'
# Further packages that a build with tests looks for.
# shellcheck disable=SC2034
packages_to_build_tests='
g++                                           : checks that the headers are C++ too
libcmocka-dev                                 : the test framework
libopenmpi-dev                                : builds examples/mpi_training.c
'
# Packages that only the tests need at run time: they can be installed during the build.
# shellcheck disable=SC2034 # used by those who source this
packages_to_test='
python3-pil                                   : Pillow, the reference for resized pixels
python3-numpy                                 : compares arrays with it
fonts-dejavu-extra                            : DejaVu Sans Condensed, the font of docs/transforms.png
python3-pytest                                : tests of the Python package
locales                                       : makes a locale that writes 1,5 for 1.5
python3-lmdb                                  : LMDB itself, to compare its reader with
python3-protobuf                              : another writer of tf.train.Examples
python3-torch                                 : the same, with torch tensors
python3-opencv                                : its HSV, the reference for that of random_hsv; bench/yolo_twin.py
python3-torchvision                           : its functions, the reference for augmented pixels
libarchive-tools                              : makes tars (bsdtar) for the tests of their reader
xz-utils                                      : compresses the bundle of scripts/gpu-check
libsnappy1v5                                  : compresses MDS shards for the tests of their reader
mypy                                          : checks that its types are those of its code
groff-base                                    : checks the man pages
zsh                                           : checks the completions in it
fish                                          : likewise
dpkg-dev                                      : makes and looks at Debian packages
jq                                            : reads the JSON output of the tool
clang-format-14                               : checks the layout of the code
clang-tidy-14                                 : static analysis of C
shellcheck                                    : static analysis of shell scripts
'

# Some are daemons, which may fail to install without an init system.
# shellcheck disable=SC2034
packages_of_launchers='
openmpi-bin                                   : mpirun, to train under it
slurmctld                                     : Slurm, likewise
slurmd                                        : its daemon for a machine
slurm-client                                  : srun and sbatch
munge                                         : authenticates Slurm
python3-distributed                           : Dask, to pack on its workers
'

# Servers for the object store tests: 300 MB, including daemons. Only CI installs them; elsewhere, the tests of a missing
# server are skipped.
# shellcheck disable=SC2034
packages_of_stores='
radosgw                                       : the gateway of Ceph, an S3 server
ceph-mon                                      : its monitor
ceph-osd                                      : its storage, in memory
ceph-common                                   : ceph, which configures it
swift-proxy                                   : a second S3 server, OpenStack Swift
swift-account                                 : its accounts
swift-container                               : its buckets
swift-object                                  : its objects
memcached                                     : its cache
nginx-light                                   : serves files over HTTP and TLS, and caches between hosts
openssl                                       : makes certificates for it
python3-boto3                                 : fills their buckets; the reference for signatures
'

# Tests that run for AArch64 in CI, under qemu-user: those of kernels, and of the threads that pass batches on.
# shellcheck disable=SC2034 # used by those who source this
aarch64_tests='^(augment_(kernels|levels|warp|blur|resample|mixing)_test|jpeg_(idct|levels|fast)_test|base_crc32_test|loader_digests_test|staging_[a-z]*_test)$'

# installed_packages NAME...: prints those that are installed for this machine. Packages of a foreign architecture
# (libzstd-dev:i386), beside the native one or alone, do not help this build.
installed_packages() {
    local native
    native=$(dpkg --print-architecture)
    # shellcheck disable=SC2016 # dpkg-query's
    { dpkg-query -W -f '${Package} ${Architecture} ${db:Status-Status}\n' "$@" 2> /dev/null || true; } |
        awk -v native="$native" '$3 == "installed" && ($2 == native || $2 == "all") { print $1 }'
}

# ensure_packages LIST: installs the missing packages and explains each one. If nothing is missing, it uses no apt, no network
# and no root. With `optional`, packages that the distribution lacks are named and left out; otherwise they are an error.
ensure_packages() {
    local line names reason name found installed all missing=()
    command -v dpkg-query > /dev/null ||
        { say "This is not Debian or Ubuntu: install the packages yourself (see scripts/lib.sh)."; return; }
    all=$(sed 's/:.*//; s/|/ /g' <<< "$1")
    # shellcheck disable=SC2086 # names, between blanks
    installed=" $(installed_packages $all | tr '\n' ' ')"
    while IFS= read -r line; do
        names=${line%%:*} reason=${line#*: }
        names=${names// /}
        [ -n "$names" ] || continue
        found=
        for name in ${names//|/ }; do
            case $installed in *" $name "*) found=1 ;; esac
        done
        if [ -z "$found" ]; then
            [ "${#missing[@]}" -gt 0 ] || say "Missing packages:"
            missing+=("${names%%|*}")
            printf '  %-16s %s\n' "${names%%|*}" "$reason"
        fi
    done <<< "$1"
    [ "${#missing[@]}" -eq 0 ] || install_packages "${missing[@]}"
}

# candidates NAME...: prints those that apt could install.
candidates() {
    LC_ALL=C apt-cache policy "$@" 2> /dev/null |
        awk '/^[^ ]/ { sub(/:$/, ""); name = $1 } $1 == "Candidate:" && $2 != "(none)" { print name }'
}

# keep_candidates NAME...: sets `wanted` to those that apt could install, and names the others.
keep_candidates() {
    local name lacking=()
    mapfile -t wanted < <(candidates "$@")
    for name in "$@"; do
        case " ${wanted[*]} " in *" $name "*) ;; *) lacking+=("$name") ;; esac
    done
    [ "${#lacking[@]}" -eq 0 ] || say "Not in this distribution: ${lacking[*]}. Tests that need them are skipped."
}

install_packages() { # with `unattended`, sudo fails instead of asking for a password
    local as_root=() log wanted=("$@")
    command -v apt-get > /dev/null || die "There is no apt-get here: please install $* yourself."
    # Once apt has its lists, packages that it cannot install need neither root nor the network.
    if [ -n "${optional-}" ] && compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null &&
        [ -z "$(candidates "$@")" ]; then
        keep_candidates "$@"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null ||
            die "Installing them needs root, and there is no sudo. As root, run:
  apt-get install --no-install-recommends $*
and start this again."
        as_root=(sudo)
        [ -z "${unattended-}" ] || as_root+=(-n)
    fi
    log=$(mktemp)
    say "Installing them with apt-get ..."
    if ! "${as_root[@]}" apt-get update > "$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get failed (its last lines are above). Packages wanted: $*"
    fi
    [ -z "${optional-}" ] || keep_candidates "$@"
    if [ "${#wanted[@]}" -gt 0 ] && ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y \
        --no-install-recommends "${wanted[@]}" > "$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get failed (its last lines are above). Packages wanted: ${wanted[*]}"
    fi
    rm -f "$log"
}

# quietly NAME COMMAND...: prints one line on success, the whole output on failure.
quietly() {
    local name=$1 log started=$SECONDS
    shift
    log=$(mktemp)
    if ! "$@" > "$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        die "failed: $name"
    fi
    rm -f "$log"
    say "$name: done in $((SECONDS - started)) s"
}

check_cmake() {
    local version
    version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\.[0-9]*\).*/\1/p')
    [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ] ||
        die "cmake is $version; sluice needs 3.25 or newer (Debian 12, Ubuntu 24.04)."
}
