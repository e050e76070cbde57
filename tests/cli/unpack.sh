# SPDX-License-Identifier: Apache-2.0
# Tests `sluice unpack`: round trips of folders and tars; full disks, interruptions, existing
# folders.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
export SLUICE_CACHE_DIR="$scratch/cache"

# sums FOLDER: prints checksums of its visible files.
sums() { (cd "$1" && find . -type f ! -name '.*' -print0 | sort -z | xargs -0 sha256sum); }

run 0 synth photos --count 40 --classes 4 --size-scale 0.3
run 0 pack photos packed --keep-bytes
run 0 unpack packed back
says out "40 samples as 40 files"
[ "$(sums photos)" = "$(sums back)" ] || fail "the files are not those that were packed"
run 0 unpack packed tars --tar --shard-samples 15 --json
json '.form == "tar" and .samples == 40 and .files == 80 and .archives == 3 and .renamed == 0'
[ "$(find tars -name '*.tar' | wc -l)" -eq 3 ] || fail "not three archives"
tar tf tars/shard-000000.tar > list || fail "tar cannot read it"
[ "$(grep -c 'JPEG\|jpg' list)" -eq 15 ] && [ "$(wc -l < list)" -eq 30 ] || fail "members"
run 0 pack tars again --keep-bytes --keep-order
run 0 unpack again tars2 --tar --shard-samples 15
[ "$(sums tars)" = "$(sums tars2)" ] || fail "tars -> shards -> tars"
run 0 info tars2 --json
json '.format == "tar" and .samples == 40'
run 0 verify tars2 --decode

# Compressed archives, packed directly: shards are shuffled unless set otherwise, and displayed in
# their order.
mkdir gz && for tar in tars/*.tar; do gzip -c "$tar" > "gz/$(basename "$tar").gz"; done
run 0 info gz
says out "shuffle \"shards\""
run 0 bench gz --size 64 --batch 10 --epochs 2 --workers 2 --json
json '.images == 80 and .epochs == 2 and .io_backend == "unpack" and .stages.unpack.bytes > 0 and .stages.unpack.busy_s > 0'
run 0 bench gz --size 64 --batch 10 --epochs 2 --shuffle none
says out "come out"
refuses 3 "front to back" bench gz --shuffle full
run 0 view gz --samples 3 --draws 1 --size 32 --seed 1 -o first.png
[ -s first.png ] || fail "no sheet"
rm -r gz

# The same regardless of the number of workers; an unpack's output can be replaced, other folders
# cannot.
run 0 unpack packed one --tar --workers 1
run 0 unpack packed seven --tar --workers 7
[ "$(sums one)" = "$(sums seven)" ] || fail "the tars depend on the workers"
refuses 1 "--overwrite" unpack packed one
run 0 unpack packed one --overwrite
[ "$(sums photos)" = "$(sums one)" ] || fail "the folder was not replaced"
mkdir mine && echo mine > mine/file
refuses 1 "was not made by unpack" unpack packed mine --overwrite
[ "$(ls -A mine)" = file ] || fail "somebody's folder was touched"
refuses 2 "contains the images to be unpacked" unpack photos photos --overwrite
refuses 2 "is inside the one to be unpacked" unpack photos photos/new
refuses 2 "need --tar" unpack packed x --shard-samples 5
run 2 unpack packed
refuses 1 "parent folder" unpack packed no/where
[ ! -e x ] && [ ! -e photos/new ] || fail "a refused unpack made a folder"

# A full disk: the file is named, and nothing is left behind.
for how in "--tar" ""; do
    # shellcheck disable=SC2086
    (trap '' XFSZ && ulimit -f 4 && run 1 unpack packed full $how) || exit 1
    grep -q "full.part/.*: cannot write\|full.part/.*cannot" err || fail "the file is not named"
    [ ! -e full ] && [ ! -e full.part ] || fail "an unfinished folder was left"
done

# A bad sample.
printf x | dd of=packed/shard-000000.sluice bs=1 seek=5000 conv=notrunc 2> /dev/null
run 3 unpack packed bad
says err "--on-bad skip"
run 0 unpack packed bad --on-bad skip
says out "1 bad samples were left out"
[ "$(wc -l < bad/rejected.tsv)" -eq 2 ] || fail "rejected.tsv"

# Killed or interrupted: no folder of that name exists, and the next unpack starts over.
mkdir -p many/class
photo=$(find photos -name '*.JPEG' | head -1)
for i in $(seq 200); do ln "$photo" "many/class/$i.jpg"; done
for i in $(seq 30); do ln -s class many/$i; done
for signal in INT KILL; do
    "$sluice" unpack many all --workers 1 > out 2> err &
    process=$!
    wait_for '[ -e all.part/.sluice-unpack ] || [ -e all ]'
    sleep 0.1
    kill -$signal $process
    wait $process
    code=$?
    if [ -e all ]; then # complete: otherwise it would not have its name
        [ "$(find all -name '*.jpg' | wc -l)" -eq 6200 ] || fail "SIG$signal: the folder is not whole"
        echo "the machine was faster than SIG$signal"
        rm -r all
        continue
    fi
    [ -d all.part ] || fail "SIG$signal: no unfinished folder"
    if [ $signal = INT ]; then
        [ $code -eq 130 ] || fail "exit code $code"
        says err "all.part, if it exists, is incomplete"
    fi
done
run 0 unpack many all
[ "$(find all -name '*.jpg' | wc -l)" -eq 6200 ] && [ ! -e all.part ] || fail "the next unpack"
