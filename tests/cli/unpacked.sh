# SPDX-License-Identifier: Apache-2.0
# A compressed archive: packed directly, and loaded from a folder that keeps it unpacked
# (--unpacked-dir).
. "$(dirname "$0")/lib.sh"
need jq tar gzip

run 0 synth photos --count 12 --classes 1 --size-scale 0.2
number=0
mkdir files
for picture in photos/*/*; do
    cp "$picture" "files/$number.jpg"
    echo $((number % 3)) > "files/$number.cls"
    number=$((number + 1))
done
(cd files && tar -czf ../a.tar.gz -- $(ls | sort))

for shuffle in full block; do
    run 3 bench a.tar.gz --epochs 1 --shuffle $shuffle
    says err "front to back"
    says err "unpacked-dir"
done
run 0 info a.tar.gz --json
json '.front_to_back == true'
run 0 pack a.tar.gz straight --json
json '.samples == 12'
[ ! -e kept ] || fail "something was unpacked"

for round in 1 2; do
    run 0 info a.tar.gz --unpacked-dir kept --json
    json '.front_to_back == false and .samples == 12'
    [ "$(find kept -name '*.unpacked' | wc -l)" = 1 ] || fail "not one unpacked file in round $round"
done
gunzip -c a.tar.gz | cmp - kept/*/*.unpacked || fail "it is not what gunzip makes of it"
run 0 verify a.tar.gz --unpacked-dir kept --decode --json
json '.samples == 12 and .bad == 0'
run 0 view a.tar.gz --unpacked-dir kept -o sheet.png
run 0 bench a.tar.gz --unpacked-dir kept --epochs 1 --batch 4 --size 32 --json
json '.interrupted == false'
run 0 pack a.tar.gz shuffled --unpacked-dir kept --seed 5 --json
json '.samples == 12'
run 1 info a.tar.gz --unpacked-dir a.tar.gz
says err "a.tar.gz"
truncate -s -9 a.tar.gz
run 3 info a.tar.gz --unpacked-dir kept
says err "truncated"
run 2 info a.tar.gz --unpacked-dir ''
