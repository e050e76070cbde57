# SPDX-License-Identifier: Apache-2.0
# Tests synth: the same seed gives the same bytes regardless of the number of workers, and the
# photos match its description.
. "$(dirname "$0")/lib.sh"
need jq

hashes() { (cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum); }

run 0 synth one --count 40 --classes 7 --workers 1 --size-scale 0.4 --json
json '.samples == 40 and .classes == 7 and .bytes > 0'
run 0 synth three --count 40 --classes 7 --workers 3 --size-scale 0.4
run 0 synth other --count 40 --classes 7 --seed 1 --size-scale 0.4
[ "$(hashes one)" = "$(hashes three)" ] || fail "the bytes depend on the number of workers"
[ "$(hashes one | cut -c 67-)" = "$(hashes other | cut -c 67-)" ] || fail "the names depend on the seed"
[ "$(hashes one | cut -c -64 | sort | uniq -d | wc -l)" -eq 0 ] || fail "two photos are equal"
hashes one | cut -c -64 | sort > a
hashes other | cut -c -64 | sort > b
[ "$(comm -12 a b | wc -l)" -eq 0 ] || fail "the seed changes nothing"
[ "$(find one -type f -name '*.JPEG' | wc -l)" -eq 40 ] || fail "the number of files"
[ "$(find one -type f ! -name '*.JPEG' | wc -l)" -eq 0 ] || fail "stray files"
[ "$(find one -mindepth 1 -maxdepth 1 -type d -name 'n[0-9]*' | wc -l)" -eq 7 ] || fail "classes"

# A folder that is not empty is not touched without --force.
refuses 1 "--force" synth one --count 3
hashes one > after
[ "$(cat after)" = "$(hashes three)" ] || fail "a refused synth changed the folder"
run 0 synth one --count 40 --classes 7 --seed 1 --size-scale 0.4 --force
[ "$(hashes one)" = "$(hashes other)" ] || fail "--force does not replace"

# A smaller set is part of a larger one with as many classes.
run 0 synth few --count 10 --classes 7 --size-scale 0.4
(cd few && find . -type f) | while read -r file; do
    cmp "few/$file" "three/$file" || exit 1
done || fail "photos depend on how many there are"

# Parent folders are created, too; a file in their place is not replaced.
run 0 synth new/folders/photos --count 3 --size-scale 0.2
[ "$(find new/folders/photos -type f | wc -l)" -eq 3 ] || fail "folders above the photos"
echo text > file
refuses 1 "Not a directory" synth file/in/none
refuses 1 "cannot make" synth /proc/in/none
