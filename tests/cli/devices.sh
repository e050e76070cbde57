# SPDX-License-Identifier: Apache-2.0
# `sluice devices`: lists host memory always, and CUDA or the reason why it is unavailable.
. "$(dirname "$0")/lib.sh"
need jq

run 0 devices
says out "host    yes"
says out "cuda"
[ ! -s err ] || fail "a missing device causes an error message"
run 0 devices --json
json '.devices | length >= 2'
json '.devices[0] == {device: "host", usable: true, text: "host memory"}'
json '.devices[1].device | startswith("cuda")'
json 'all(.devices[]; .usable == true or .usable == false)'
json 'all(.devices[]; .text | length > 0)'

# With no driver for certain.
export SLUICE_CUDA_DRIVER=$PWD/no-such-driver.so
run 0 devices
[ "$(wc -l < out)" -eq 2 ] || fail "one line for the host and one for CUDA"
grep -q '^cuda *no .*no-such-driver.so' out || fail "the reason does not name the file"
run 0 devices --json
json '.devices[1].device == "cuda" and .devices[1].usable == false'
json '.devices[1].text | contains("no-such-driver.so")'
run 0 info --system --json
json '.cuda == false and (.cuda_text | contains("cannot load the CUDA driver"))'

refuses 2 "too many" devices extra
refuses 2 "devices" devices --nonsense
