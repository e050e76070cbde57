# SPDX-License-Identifier: Apache-2.0
# Tests that synth's sizes, chroma sampling and colour kinds resemble ImageNet's.
. "$(dirname "$0")/lib.sh"
need jq
need python3

run 0 synth photos --count 200 --json
json '.mean_kb > 85 and .mean_kb < 135'
json '.mean_megapixels > 0.16 and .mean_megapixels < 0.25'

cat > kinds.py <<'PY'
"""Counts the kinds of JPEG in a folder: an own reader of frame headers, as an oracle."""
import collections, glob, json, struct
kinds = collections.Counter()
for path in glob.glob("photos/*/*.JPEG"):
    data = open(path, "rb").read()
    assert data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9", path
    at = 2
    while True:
        marker, length = struct.unpack(">xBH", data[at:at + 4])
        if 0xC0 <= marker <= 0xC2:
            break
        at += 2 + length
    components = data[at + 9]
    first = data[at + 11]
    kind = {1: "grey", 4: "cmyk"}.get(components, "%d%d" % (first >> 4, first & 15))
    kinds[kind] += 1
    kinds["progressive"] += marker == 0xC2
print(json.dumps(kinds))
PY
python3 kinds.py > out || fail "the photos are not JPEG"
json '."11" > 120 and ."22" > 25 and .grey >= 3 and .cmyk == 1 and .progressive == 2'
