# SPDX-License-Identifier: Apache-2.0
# Every command explains itself: --help fits a screen, --help-all has each option in one line,
# docs/cli.md has more.
. "$(dirname "$0")/lib.sh"
manual=$(dirname "$0")/../../docs/cli.md

# fits FILE LINES COLUMNS
fits() {
    [ "$(wc -l < "$1")" -le "$2" ] || fail "$1 has $(wc -l < "$1") lines: $2 at most"
    ! LC_ALL=C.UTF-8 grep -E -e ".{$(($3 + 1))}" "$1" > err || fail "$1 has lines of more than $3 columns"
}

# The tool's help fits 80 x 24 with a prompt below: three examples first, then every command with
# its purpose.
run 0 --help
cp out tool
fits tool 23 80
mapfile -t commands < <(sed -nE 's/^  ([a-z]+)  +[a-z].*/\1/p' tool)
[ "${commands[*]}" = "synth pack unpack info view verify bench idle devices cache" ] || fail "the commands are ${commands[*]}"
[ "$(grep -c '^  sluice [a-z]' tool)" -eq 3 ] || fail "three examples"
[ "$(grep -n '^  sluice ' tool | head -n 1 | cut -d : -f 1)" -lt "$(grep -n '^  synth ' tool | cut -d : -f 1)" ] ||
    fail "the examples come first"
run 0 help
cmp -s out tool || fail "'help' and '--help' differ"

# options FILE: prints "-b --batch" or "--size" for each line that explains an option.
options() { sed '/^Examples:/,$d' "$1" | sed -nE 's/^  (-[a-zA-Z]), (--[a-z-]+) .*/\1 \2/p; s/^      (--[a-z-]+) .*/\1/p'; }

# documented HEADING: prints the options in the tables of docs/cli.md below that heading.
documented() {
    awk -v heading="## $1" '/^## / { inside = $0 == heading } /^\| option / { table = 1 } /^$/ { table = 0 } inside && table' "$manual" |
        cut -d '|' -f 2 | grep -oE -e '--[a-z][a-z-]*' || true
}

for command in "${commands[@]}"; do
    run 0 "$command" --help
    cp out help
    fits help 40 80
    [ "$(sed -n 1p help | cut -c 1-$((14 + ${#command})))" = "Usage: sluice $command" ] || fail "$command: no usage"
    examples=$(sed '1,/^Examples:/d' help | grep -c "^  sluice $command")
    case $examples in 2 | 3) ;; *) fail "$command --help has $examples examples" ;; esac
    run 0 help "$command"
    cmp -s out help || fail "'help $command' and '$command --help' differ"
    run 0 "$command" -h
    cmp -s out help || fail "'$command -h' and '$command --help' differ"

    run 0 "$command" --help-all
    cp out all
    fits all 200 100
    options help > common
    options all > every
    [ "$(wc -l < common)" -le 15 ] || fail "$command --help has $(wc -l < common) options"
    [ -z "$(sort every | uniq -d)" ] || fail "$command --help-all explains twice: $(sort every | uniq -d)"
    [ -z "$(sort common | comm -23 - <(sort every))" ] || fail "$command --help-all lacks an option of --help"
    # One line per option, and nothing else between the headings.
    sed '/^Examples:/,$d' all | grep -E '^ +-' > lines
    [ "$(wc -l < lines)" -eq "$(wc -l < every)" ] || fail "$command: a line without an option"
    ! grep -vE '^  (-[a-zA-Z],|   ) --[a-z-]+( [^ ]+)?  +[^ ].*' lines > err || fail "$command: an option without a text"
    ! grep -E '[.;,]$|picture|  [A-Z][a-z]' lines > err || fail "$command: a text that is not a phrase"

    # Each option is in docs/cli.md once, and nothing else is.
    grep -oE -e '--[a-z-]+' every | grep -vxE -e '--help(-all)?' | sort > expected
    {
        documented "$command"
        ! grep -qx -e --split expected || documented "Options of every dataset"
    } | sort > found
    comm -3 expected found > err
    [ ! -s err ] || fail "$command: its options and docs/cli.md differ"

    # An option with a value is listed with one.
    line=$(grep -m 1 -E '^  .{4}--[a-z-]+ [^ ]' lines)
    if [ -n "$line" ]; then
        read -r option value _ <<< "${line:6}"
        refuses 2 "$option needs a value: $option $value" "$command" "$option"
    fi
    refuses 2 "--json takes no value" "$command" --json=1

    # The machine-readable table has the same options; numbers and words in brackets are an option's
    # default.
    run 0 "$command" --help-table
    cut -f 2 out | sed 's/^/--/' > found
    sed 's/^-. //' every | cmp -s - found || fail "$command: --help-table and --help-all differ"
    awk -F '\t' '$6 == "common" { print "--" $2 }' out | cmp -s - <(sed 's/^-. //' common | grep -vxE -e '--help(-all)?') ||
        fail "$command: --help and the common options of --help-table differ"
    awk -F '\t' '
        $7 ~ /^(-|0|-1|18446744073709551615)$/ || $2 == "workers" || !match($9, /\[[^][]+\]$/) { next }
        {
            stated = substr($9, RSTART + 1, RLENGTH - 2)
            seconds = stated ~ /^[0-9]+ms$/ ? stated / 1000 : stated ~ /^[0-9]+s$/ ? stated + 0 : stated
            if (stated != $7 && seconds != $7) print "--" $2 ": [" stated "] is " $7
            checked++
        }
        END { print checked + 0 > "checked" }' out > err
    [ ! -s err ] || fail "$command: defaults"
    defaults=$((${defaults:-0} + $(cat checked)))
done
[ "$defaults" -ge 15 ] || fail "only $defaults defaults were looked at"

run 0 pack --help
says out "  or:  sluice pack [OPTION ...] --tensor TYPE FILE ... OUT"
run 0 --version
grep -Eq '^sluice [0-9]+\.[0-9]+\.[0-9]+$' out || fail "--version"
refuses 2 "unknown command" help nonsense
refuses 2 "unknown command" nonsense
run 2
says err "Usage: sluice COMMAND"
says err "sluice: COMMAND is missing: "

# The formats themselves describe the readable files, and docs/formats.md has each of them.
run 0 info --formats
says out "tar          tar archives"
says out "parquet      Parquet files; --field selects fields"
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
