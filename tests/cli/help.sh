# SPDX-License-Identifier: Apache-2.0
# Every command explains itself.
. "$(dirname "$0")/lib.sh"

run 0 --help
for command in synth pack unpack info verify bench idle view devices; do
    run 0 --help
    says out "  $command"
    run 0 "$command" --help
    says out "Usage: sluice $command"
    says out "Examples:"
    says out "  sluice $command "
    cp out by_option
    run 0 help "$command"
    cmp -s out by_option || fail "'help $command' and '$command --help' differ"
    run 0 "$command" -h
done
run 0 pack --help
says out "  or:  sluice pack [OPTION ...] --tensor TYPE FILE ... OUT"
run 0 help
says out "Commands:"
run 0 --version
grep -Eq '^sluice [0-9]+\.[0-9]+\.[0-9]+$' out || fail "--version"
refuses 2 "no command" help nonsense
refuses 2 "no command" nonsense
run 2
says err "Commands:"

# What can be read is told by the formats themselves, and each is described.
run 0 info --formats
says out "tar          tar archives"
says out "parquet      Parquet files, of which --field chooses"
cut -d ' ' -f 1 out | sort -u > names
[ "$(wc -l < names)" -ge 17 ] || fail "few formats: $(cat out)"
while read -r name; do
    grep -qi "$name" "$(dirname "$0")/../../docs/formats.md" || fail "docs/formats.md has no $name"
done < names
run 0 info --formats --json
json '[.formats[].name] | index("shards") == 0 and .[-1] == "folder"'
json '[.formats[] | select(.name == "npy" or .name == "mds") | .takes_split] | all(. == false)'
json '.formats[] | select(.name == "coco") | .takes_fields and (.files | test("COCO"))'
refuses 2 "give a DATASET, --system or --formats" info --formats --system
