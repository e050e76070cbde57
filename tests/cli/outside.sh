# SPDX-License-Identifier: Apache-2.0
# Lists that name files outside their folder: every command fails without --allow-outside.
. "$(dirname "$0")/lib.sh"
need jq

run 0 synth photos --count 6 --classes 1 --size-scale 0.2
mkdir set
mapfile -t pictures < <(find photos -name '*.JPEG' | sort)
cp "${pictures[@]:0:5}" set
cp "${pictures[5]}" secret.jpg
{ echo file; (cd set && ls -- *.JPEG); } > set/inside.csv
run 0 info set/inside.csv --json
json '.samples == 5'

for name in ../secret.jpg "$PWD/secret.jpg" "$PWD/set/../secret.jpg"; do
    { cat set/inside.csv; echo "$name"; } > set/out.csv
    for command in "info set/out.csv" "verify set/out.csv" "pack set/out.csv packed" "bench set/out.csv" \
                   "info photos --with set/out.csv"; do
        read -ra words <<< "$command"
        run 2 "${words[@]}"
        says err "line 7"
        says err "\"$name\" is outside \"$PWD/set\""
        says err "--allow-outside allows that; do that only if you trust the author of the list"
    done
    run 0 info set/out.csv --allow-outside --json
    json '.samples == 6'
done
[ ! -e packed ] || fail "something was packed"
run 0 pack set/out.csv packed --allow-outside --json
json '.samples == 6'

# A link is noticed when it is read.
{ cat set/inside.csv; echo link.jpg; } > set/link.csv
ln -s ../secret.jpg set/link.jpg
run 0 info set/link.csv
run 3 verify set/link.csv --json
json '.bad == 1'
json '.findings[0] | (.file | test("link.jpg")) and (.text | test("--allow-outside"))'
run 3 pack set/link.csv linked
says err "allow-outside"
run 0 pack set/link.csv left --on-bad skip --json
json '.samples == 5 and .rejected == 1'
run 0 verify set/link.csv --allow-outside
