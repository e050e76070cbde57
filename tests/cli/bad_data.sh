# SPDX-License-Identifier: Apache-2.0
# Bad samples and damaged shards: exit code 3 and the place, or the behaviour of the policy.
. "$(dirname "$0")/lib.sh"
need jq

run 0 synth photos --count 20 --classes 2 --size-scale 0.3
cp -r photos broken
victim=$(find broken -name '*_3.JPEG' | sort | head -1)
echo "not a picture" > "$victim"

run 3 verify broken
says out "$(basename "$victim")"
says out "1 bad"
run 3 verify broken --json
json '.bad == 1 and (.findings | length == 1)'
json '.findings[0] | (.file | test("_3.JPEG")) and (.text | length > 0) and has("offset")'

run 3 pack broken refused
says err "$(basename "$victim")"
says err "--on-bad skip"
run 2 info refused
says err "unfinished pack (it has a pack.journal"
run 3 pack broken refused --json
json '.exit_code == 3 and .interrupted == false'
json '.error | .status == "corrupt" or .status == "unsupported"'
json '.error | (.file | test("_3.JPEG")) and .sample >= 0 and (.text | length > 0)'
run 0 pack broken packed --on-bad skip --json
json '.samples == 19 and .rejected == 1'
grep -q "_3.JPEG" packed/rejected.tsv || fail "rejected.tsv does not name the sample"
run 0 verify packed

# A photo truncated in the middle has a good header: re-tiling reads it to the end, --keep-bytes
# does not.
cp -r photos cut
victim=$(find cut -name '*_5.JPEG' | sort | head -1)
truncate -s "$(($(stat -c %s "$victim") / 2))" "$victim"
run 3 pack cut refused --overwrite
says err "$(basename "$victim")"
run 0 pack cut refused --overwrite --on-bad skip --json
json '.samples == 19 and .rejected == 1 and .jpegs.retiled == 19'
run 0 pack cut refused --overwrite --keep-bytes

run 3 bench broken --batch 4 --size 32 --epochs 1
says err "--on-bad replace"
run 3 bench broken --batch 4 --size 32 --epochs 1 --json
json '.exit_code == 3 and (.error.file | test("_3.JPEG"))'
run 0 bench broken --batch 4 --size 32 --epochs 2 --on-bad mask --json
json '.bad_samples > 0 and .images == 40'
run 0 bench broken --batch 4 --size 32 --epochs 2 --on-bad replace --json
json '.replaced_samples > 0'
cp -r broken worse
for victim in $(find worse -name '*.JPEG' | sort | head -8); do echo none > "$victim"; done
for policy in mask replace; do
    run 0 bench worse --batch 4 --size 32 --epochs 3 --on-bad $policy --quarantine $policy.tsv --json
    lines=$(wc -l < $policy.tsv)
    json ".bad_samples == $lines and .replaced_samples <= .bad_samples"
    cut -f 2 $policy.tsv | sort -u > $policy.met
    [ "$(awk -F '\t' 'NF == 6 && $5 ~ /^-?[0-9]+$/' $policy.tsv | wc -l)" -eq "$lines" ] || fail "lines"
done
json '.replaced_samples > 0 and .replaced_samples < .bad_samples'
run 3 verify worse --decode --json
json ".bad == $(wc -l < mask.met) and .bad == 8"
run 0 bench worse --batch 4 --size 32 --epochs 1 --on-bad replace
says out "rows replaced"
run 0 bench worse --batch 4 --size 32 --on-bad replace --step-ms 2 --steps 10 --repeats 1 --json \
    --quarantine steps.tsv
json ".bad_samples > 0 and .bad_samples <= $(wc -l < steps.tsv) and .replaced_samples > 0"
refuses 1 "cannot be written" bench worse --quarantine nowhere/list
run 0 view broken --samples 20 --draws 1 --size 32 -o sheet.png --json
json '.samples | map(select(.bad)) | length == 1'

# An unreadable file may be good: it is not skipped with the bad ones. sysfs has files that not even
# root can read.
locked=$(find /sys/bus /sys/module /sys/kernel -maxdepth 4 -perm 0200 -type f 2> /dev/null | head -1)
if [ -n "$locked" ] && ! cat "$locked" > /dev/null 2>&1; then
    cp -r broken locked
    ln -s "$locked" locked/"$(basename "$(dirname "$victim")")"/zz_locked.JPEG
    run 4 pack locked partly --on-bad skip
    says err "zz_locked.JPEG"
    says err "--on-bad skip-all"
    run 4 unpack locked files --on-bad skip --json
    json '.exit_code == 4 and .error.status == "io" and (.error.file | test("zz_locked"))'
    run 0 pack locked partly --on-bad skip-all --json
    json '.samples == 19 and .rejected == 2'
    run 3 verify locked --json
    json '.bad == 2 and .unreadable == 1'
    rm "$(find locked -name '*_3.JPEG' | sort | head -1)"
    run 4 verify locked
    says out "0 bad, 1 unreadable"
fi

# One flipped byte in the middle of a shard's samples.
shard=$(find packed -name '*.sluice' ! -name 'manifest*' | sort | head -1)
middle=$(($(stat -c %s "$shard") / 2))
byte=$(od -An -tu1 -j "$middle" -N 1 "$shard" | tr -d ' ')
printf "%b" "\\x$(printf %02x $((byte ^ 255)))" | dd of="$shard" bs=1 seek="$middle" conv=notrunc 2> /dev/null
run 3 verify packed
says out "$(basename "$shard")"

# Unreadable samples make a dataset fail.
rm "$shard"
run 3 verify packed
says out "samples could not be checked"
run 3 verify packed --json
json '.samples == 0 and .bad == 2'
run 4 info packed --sample 0
says err "cannot open the file"
! grep -q "how many" err || fail "the error blames the number of samples"
run 2 info packed --sample 19
says err "the dataset has 19"

# Class folders that a copy to another file system would merge.
mkdir -p twins/Cat twins/cat
photo=$(find "$PWD/broken" -name '*.JPEG' -size +0 | sort | head -1)
cp "$photo" twins/Cat/a.jpg
cp "$photo" twins/cat/b.jpg
run 2 info twins
says err "--allow-case-duplicates"
run 0 info twins --allow-case-duplicates --json
json '.classes == 2 and .samples == 2'

# Without images, a folder would shift the labels of the folders after it.
mkdir -p holes/a holes/c holes/.trash holes/_trash holes/b/deep
cp "$photo" holes/a/a.jpg
cp "$photo" holes/c/c.jpg
for command in info verify "pack --overwrite" bench view; do
    # shellcheck disable=SC2086
    [ "$command" = "pack --overwrite" ] && set -- $command holes x || set -- $command holes
    refuses 2 '"_trash" and 1 more' "$@"
    says err "--allow-empty-classes"
done
run 0 info holes --allow-empty-classes --json
json '.classes == 4 and .samples == 2'

# For a path that is not a dataset, the error lists its contents and suggests what to open instead.
mkdir -p none/ckpt splits/train/a splits/val/a around/photos
touch none/a.log none/b.yaml none/model.pt
cp "$photo" splits/train/a/1.jpg
cp "$photo" splits/val/a/1.jpg
cp -r holes/a holes/c around/photos
refuses 2 "3 files (a.log, b.yaml, model.pt), 1 folder (ckpt)" info none
refuses 2 "splits, not classes (train, val): open one of them (splits/train)" pack splits x --overwrite
refuses 2 "open around/photos" info around
refuses 2 "it is text" info "$0"
run 0 info around/photos --json
json '.classes == 2'
mkdir flat
cp "$photo" flat/1.jpg
run 0 info flat
says out "without labels"
printf 'a caption' > flat/1.txt
run 0 info flat --json
json '(.fields | map(.name)) == ["image", "txt", "key"] and .bytes == null'
printf '\033[31m' > "$(printf 'none/\033[31mred')"
run 2 info none
says err '\x1b[31mred'
