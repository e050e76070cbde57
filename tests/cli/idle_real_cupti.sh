# SPDX-License-Identifier: Apache-2.0
# Tests sluice idle with the CUDA toolkit's own CUPTI and no driver: the error is reported, the
# program continues. idle_real_cupti.sh SLUICE PROGRAM. Skipped without a CUPTI or with a driver.
. "$(dirname "$0")/lib.sh"
need jq
unset SLUICE_CUPTI CUDA_INJECTION64_PATH
code=0
"$sluice" idle --json -- "$2" cuda print=on > out 2> err || code=$?
says err on
! jq -e '.reason | contains("was found")' out > /dev/null || skip "no CUPTI here"
jq -e '.processes[0].cupti | contains("libcupti")' out > /dev/null || fail "no CUPTI was opened"
! jq -e '.processes[0].reason == null' out > /dev/null || skip "CUPTI works here: there is a driver"
[ "$code" -eq 1 ] || fail "exit code $code instead of 1"
json '.measured == false and (.reason | test("cupti[A-Z][A-Za-z]+.*: CUPTI_ERROR_[A-Z_]+ \\([0-9]+\\)"))'
