# SPDX-License-Identifier: Apache-2.0
# Helpers of the command-line tests. A test is `bash NAME.sh PATH-OF-SLUICE`; it sources this file,
# works in a scratch folder of its own, and ends at the first failed check. Exit code 77: skipped,
# the reason is printed.
set -u -o pipefail

sluice=$(realpath "$1")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-cli.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

skip() { echo "skipped: $*"; exit 77; }
fail() {
    echo "FAILED: $*" >&2
    [ ! -s out ] || { echo "--- stdout"; head -c 4000 out; } >&2
    [ ! -s err ] || { echo "--- stderr"; head -c 4000 err; } >&2
    exit 1
}
# amount PLAIN SANITIZED: the number of rounds, or their spacing, without or with a sanitizer.
amount() { if [ -n "${SLUICE_TEST_SANITIZED-}" ]; then echo "$2"; else echo "$1"; fi; }
need() { command -v "$1" > /dev/null || skip "$1 is not installed"; }

# wait_for CONDITION: waits until the command succeeds, which may take minutes on a busy machine.
wait_for() {
    local naps=0
    until eval "$1"; do
        naps=$((naps + 1))
        [ "$naps" -le 2400 ] || fail "this did not come true within two minutes: $1"
        sleep 0.05
    done
}

# run CODE ARGUMENT ...: runs sluice; its exit code must be CODE. The output goes to `out` and
# `err`.
run() {
    local expected=$1 code=0
    shift
    "$sluice" "$@" > out 2> err || code=$?
    [ "$code" -eq "$expected" ] || fail "sluice $*: exit code $code instead of $expected"
}

# says FILE TEXT: checks that the file contains the text.
says() { grep -qF -e "$2" "$1" || fail "'$2' is missing in $1"; }

# json EXPRESSION: checks that `out` is JSON and that the jq expression is true.
json() {
    [ -s out ] || fail "no JSON for $1"
    jq -e "$1" out > /dev/null 2> jq.err || fail "not so: $1 $(cat jq.err)"
}

# refuses CODE TEXT ARGUMENT ...: checks for the exit code, one line on stderr with the text, and
# nothing on stdout.
refuses() {
    local code=$1 text=$2
    shift 2
    run "$code" "$@"
    says err "$text"
    [ ! -s out ] || fail "sluice $*: an error belongs on stderr"
}
