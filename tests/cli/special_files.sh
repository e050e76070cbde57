# SPDX-License-Identifier: Apache-2.0
# Files that are not regular, named like a dataset or inside one, fail at once: nobody writes to
# these FIFOs, so a reader would wait forever.
. "$(dirname "$0")/lib.sh"

# at_once ARGUMENT ...: checks that sluice ends by itself, with a nonzero exit code of its own.
at_once() {
    local code=0
    timeout -k 5 300 "$sluice" "$@" > out 2> err || code=$?
    [ "$code" -lt 124 ] || fail "sluice $*: it does not end, or crashes (exit code $code)"
    [ "$code" -ne 0 ] || fail "sluice $*: exit code 0"
    [ -s err ] || fail "sluice $*: no word of why"
}

names="a.tar a.tar.gz a.tar.zst a.json index.json a.tfrecord a-00000-of-00001 a.rec a.idx a.parquet a.arrow
    a.feather state.json dataset_info.json dataset_dict.json a.beton data.mdb a.mdb a.csv a.tsv a.jsonl
    a.ndjson a.lst metadata.csv metadata.jsonl a.xml a.txt a.npz a.npy a.bin manifest.sluice
    shard-000000.sluice a.jpg a.jpeg a.png plain"
# Each name in three ways; with a sanitizer, in one of them, in rotation: none reaches a format that
# reads.
apart=$(amount 1 3)
turn=0
for name in $names; do
    mkdir alone
    mkfifo "alone/$name"
    ln -s /dev/zero "$name"
    ways=("alone/$name" alone "$name")
    for ((way = turn++ % apart; way < 3; way += apart)); do at_once info "${ways[way]}"; done
    rm -r alone "$name"
done

# Beside valid files.
run 0 synth photos --count 8 --classes 2 --size-scale 0.2
tar -cf good.tar -C photos .
mkfifo good.tar.sluice-index good.idx
SLUICE_CACHE_DIR='' run 0 info good.tar
mkfifo "$(find photos -type d | sort | tail -1)/fifo.jpg"
run 0 verify photos
run 0 pack photos packed
mkfifo packed/shard-000099.sluice packed/pack.options.fifo
run 0 verify packed

# Lists that are written to.
mkfifo list
at_once bench packed --batch 2 --size 32 --epochs 1 --quarantine list
at_once pack photos list
at_once unpack packed list
