# SPDX-License-Identifier: Apache-2.0
# The main workflow: synth, info, pack, verify, bench, view; the JSON of every command.
. "$(dirname "$0")/lib.sh"
need jq

run 0 synth photos --count 60 --classes 6 --size-scale 0.5
run 0 info photos --json
json '.format == "folder" and .samples == 60 and .shards == 0 and .classes == 6'
json '(.fields | map(.name) | index("image") != null and index("label") != null)'
json '.fields[0] | has("type")'
json '.fingerprint | test("^[0-9a-f]{16}$")'
[ "$(jq .bytes out)" -eq "$(find photos -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')" ] || fail "bytes"
run 0 info photos
says out "samples      60"

run 0 pack photos packed --shard-size 1MiB --json
json '.samples == 60 and .rejected == 0 and .shards >= 1 and .verified'
json '.jpegs.retiled == 60 and .jpegs.kept == 0 and (.jpegs.kept_because | add) == 0'
json '.jpegs.bytes_after < .jpegs.bytes_before * 1.03 and .jpegs.bytes_after > .jpegs.bytes_before * 0.8'
run 0 pack photos packed --shard-size 1MiB --json
json '.samples == 60 and .was_complete and (.verified | not)'
run 0 pack photos packed --shard-size 1MiB
says out "already"
run 0 info packed --json
json '.format == "shards" and .samples == 60 and .shards >= 1 and .bytes > 0 and .classes == 6'
run 0 info packed --sample 59 --json
json '.sample == 59 and .bytes > 0 and .offset > 0 and .label >= 0 and .width > 0'
json '(.class | test("^n[0-9]{8}$")) and (.key | length > 0) and (.file | test("shard"))'
run 0 info photos --sample 0 --json
json '.offset == 0 and .bytes > 0 and .label == 0'
run 0 info photos --sample 0
says out "class"
refuses 2 "60" info packed --sample 60

# The same input gives the same bytes; a folder that is not empty is left untouched.
run 0 pack photos again --shard-size 1MiB --workers 1
says out "60 JPEGs re-tiled without loss"
for file in packed/*.sluice; do
    cmp -s "$file" "again/$(basename "$file")" || fail "$file depends on the run"
done
run 1 pack photos packed --shard-size 2MiB
says err "--overwrite"
run 1 pack photos packed --shard-size 1MiB --metadata drop
says err "--overwrite"
run 0 pack photos kept --shard-size 2MiB --keep-bytes --json
json '.jpegs.retiled == 0 and .jpegs.kept == 60 and .jpegs.bytes_before == .jpegs.bytes_after'
run 0 pack photos packed --shard-size 2MiB --overwrite --keep-order --no-verify --metadata drop --tile-mcus 6
run 0 info packed --sample 0 --json
json '.label == 0'

# Small images take the form that is decoded fastest, and keep it.
run 0 synth small --count 20 --classes 2 --size-scale 0.05
run 0 pack small small-packed --json
json '.jpegs.retiled + .jpegs.kept == 20 and .jpegs.retiled > 0'
run 0 pack small-packed small-again --json
json '.jpegs.retiled == 0 and .jpegs.kept == 20 and .jpegs.kept_because.fast == 20'
run 0 pack small-packed small-once-more
says out "20 JPEGs stored unchanged, since re-tiling would not speed up decoding"

run 0 verify kept --decode
run 0 verify photos
says out "all good (structure only: images other than PNG have no checksums); pixels of 60 images were not read: --decode does that"
run 0 verify photos --json
json '.unchecked == "images other than PNG have no checksums"'
run 0 verify packed
grep -q 's: all good; pixels of [0-9]* images were not read: --decode does that$' out || fail "nothing of shards is unchecked"
run 0 verify packed --decode
grep -q 's: all good$' out || fail "a note on unread pixels, although all were decoded"
run 0 verify packed --json
json '.unchecked == ""'
for dataset in photos packed; do
    run 0 verify "$dataset" --decode --json
    json '.samples == 60 and .bad == 0 and .findings == [] and .bytes > 0'
    run 0 verify "$dataset"
    says out "all good"
    run 0 bench "$dataset" --size 64 --batch 16 --epochs 2 --workers 2 --json
    json '.images == 120 and .epochs == 2 and .batches == 8 and .workers == 2'
    json '.images_per_s > 0 and .cpu_ms_per_image > 0 and .full_decode_cpu_ms_per_image > 0'
    json '.decode_ratio > 0 and .first_batch_ms > 0 and .peak_rss_mib > 1'
    json '(.cpu_ms_per_image / .full_decode_cpu_ms_per_image / .decode_ratio - 1 | fabs) < 0.01'
    json '.stages | [.read, .decode, .augment, .upload] | all(.busy_s >= 0)'
    json '.stages | [.read, .decode, .augment, .upload] | all(.queue_depth | length == 17)'
    json '.stages.decode.busy_s > 0 and .bad_samples == 0 and .interrupted == false'
    json '(.io_backend | IN("uring", "pread")) and (.verdict | length > 20)'
    json '.accelerator == null and (.host_waits | add) == .batches'
    run 0 bench "$dataset" --size 64 --batch 16 --seconds 300ms --pipeline eval --dtype f16 \
        --layout nchw --io pread --shuffle block
    says out "images/s"
    says out "bottleneck"
done

# The savings of packing are known for photos; they are not recommended for shards or small files.
(cd photos && find . -type f | sed "s/^..//" | sort | tar -cf ../photos.tar -T -)
for dataset in photos photos.tar packed small; do
    for seconds in 1s 5s 25s; do # a busy machine may make no batch in a second
        "$sluice" bench "$dataset" --size 224 --batch 16 --seconds $seconds --workers 1 --json > out 2> err && break
    done || fail "no batch of $dataset in 25 s"
    verdict=$(jq -r .verdict out)
    case $dataset/$verdict in
        photos*/decode-bound*'`sluice pack`) would help: 20 to 40 % less'*) ;;
        photos*/decode-bound*) fail "no advice to pack: $verdict" ;;
        */decode-bound*pack*) fail "advice to pack $dataset: $verdict" ;;
    esac
done

run 0 info --system --json
json '.cpus >= 1 and (.io_uring_text | length > 0) and (.cuda_text | length > 0)'
run 0 info --system
says out "io_uring"
