# SPDX-License-Identifier: Apache-2.0
# Tests `sluice cache`: lists the contents of a cache of remote data, made of files that another
# program wrote.
. "$(dirname "$0")/lib.sh"
need jq
need python3
unset SLUICE_REMOTE_CACHE
umask 077
chunks=$(dirname "$0")/../../python/tests/chunk_files.py
keep() { python3 "$chunks" "$@" > names || skip "libxxhash is not installed for python3"; }

refuses 2 "unknown action \`nonsense\`: write list, verify, fill or empty" cache nonsense
refuses 2 "\`list\` takes no \`more\`" cache list more
refuses 2 "\`fill\` needs a DATASET" cache fill
refuses 2 "no cache folder is set" cache list
refuses 1 "cannot open the cache folder" cache list --remote-cache nowhere
refuses 1 "cannot open the cache folder" cache empty -c nowhere

# Without a cache, nothing is listed and nothing is created.
mkdir cache
for action in list verify empty; do
    run 0 cache "$action" -c cache
done
[ -z "$(ls cache)" ] || fail "an empty folder is left alone"
run 0 cache list -c cache --json
json '. == {objects: [], chunks: 0, bytes: 0}'

# A local dataset caches nothing.
run 0 synth photos --count 4 --classes 2
refuses 2 "no cache folder is set" cache fill photos
refuses 2 "no file of the dataset can be kept" cache fill photos -c cache

export SLUICE_REMOTE_CACHE=$PWD/cache
keep cache s3://b/two 9000000
keep cache s3://b/one.jpg 300
keep cache "https://h/$(printf 'a\tb')" 20000000 1
touch cache/README cache/chunks-1/README
run 0 cache list
says out "300 B of      300 B"
says out "  8 MiB of   19.1 MiB"
says out 's3://b/one.jpg'
says out 'https://h/a\x09b' # safe to print
says out "3 objects, 4 chunks, 16.6 MiB"
run 0 cache list --json
json '[.objects[].address] == ["https://h/a\tb", "s3://b/one.jpg", "s3://b/two"]'
json '[.objects[].object_bytes] == [20000000, 300, 9000000]'
json '[.objects[].kept_bytes] == [8388608, 300, 9000000]'
json '[.objects[].chunks] == [1, 1, 2]'
json 'all(.objects[]; .used_s > 1600000000)'
json '.chunks == 4 and .bytes == 17388908'

run 0 cache verify
says out "4 chunks, 16.6 MiB: all good"
# One wrong byte, and one file that is too short.
damaged=$(tail -n 1 names)
printf 'x' | dd of="$damaged" bs=1 seek=4711 conv=notrunc status=none
python3 "$chunks" cache s3://b/three 5000 > names
truncate -s 5000 "$(cat names)"
run 3 cache verify --json
json '. == {chunks: 3, bytes: 9000300, damaged: 2, damaged_bytes: .damaged_bytes} and .damaged_bytes > 8388608'
[ ! -e "$damaged" ] || fail "a damaged chunk is removed"
run 0 cache verify
says out "3 chunks, 8.6 MiB: all good"

run 0 cache empty s3://b/t
says out "removed 2 chunks"
run 0 cache list --json
json '[.objects[].address] == ["s3://b/one.jpg"]'
run 0 cache empty --json
json '.chunks == 1'
run 0 cache list
says out "0 objects, 0 chunks, 0 B"
[ -e cache/README ] && [ -e cache/chunks-1/README ] || fail "a file that is not the cache's was removed"

# Bytes that others may write are not trusted.
chmod 0777 cache/chunks-1
refuses 1 "other users may write to the folder of chunks" cache list
