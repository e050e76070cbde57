# SPDX-License-Identifier: Apache-2.0
# Tests `sluice pack` with input and output other than unchanged photos: pixels, flat files, frames.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

run 0 synth photos --count 12 --seed 3
run 0 pack photos packed --keep-order

# Pixels: the same images, larger, with no decoding left.
run 0 pack photos pixels --keep-order --raw --zstd off
says out "12 images stored as pixels"
says out "times as much"
run 0 verify pixels --decode
run 0 info pixels --json
json '.fields[0] | .name == "image" and .type == "image" and .stored == "plain"'
json '[.fields[].name] == ["image", "label", "key"] and .samples == 12'
run 0 view packed --samples 4 --draws 2 --size 32 --exact -o packed.png
mv packed packed.jpegs && mv pixels packed # a sheet's title is the name of its dataset
run 0 view packed --samples 4 --draws 2 --size 32 --exact -o pixels.png
mv packed pixels && mv packed.jpegs packed
cmp -s packed.png pixels.png || fail "pixels are not what the JPEGs decode to"
plain=$(stat -c %s pixels/shard-000000.sluice)
run 0 pack photos pixels --raw --zstd 3 --overwrite --json
json '.decoded == 12 and .decoded_bytes_after > .decoded_bytes_before and .jpegs.retiled == 0'
[ "$(stat -c %s pixels/shard-000000.sluice)" -lt "$plain" ] || fail "--zstd 3 made nothing smaller"
run 0 info pixels --json
json '.fields[0].stored == "zstd"'
refuses 2 "leave out --keep-bytes" pack photos x --raw --keep-bytes
refuses 2 "leave out --keep-bytes" pack photos x --raw --tile-mcus 4
for wrong in 0 20 -1 3x fast ''; do
    run 2 pack photos x --zstd "$wrong"
done
refuses 2 "too many arguments" pack photos packed x

# Smaller images, and pixels for a fraction of them: pack and info report what was done.
run 0 pack photos small --max-side 64 --quality 80 --raw-share 0.25
says out "images downscaled, to at most 64 pixels"
says out "their pixels are not those of the source"
says out "3 images stored as pixels"
told="images at most 64 pixels (JPEG quality 80), 25 % as pixels"
run 0 info small
says out "$told"
run 0 verify small --decode
cp small/pack.options options
for wrong in '' 's/=64/=32/' 's/-pack/-unpack/' 's/^/x/'; do
    sed "$wrong" options > small/pack.options
    [ -z "$wrong" ] || ! cmp -s options small/pack.options || fail "the text is not changed by $wrong"
    run 0 info small
    [ -z "$wrong" ] || ! grep -q "images at most" out || fail "a note that nothing vouches for"
done
head -c 100000 /dev/zero > small/pack.options
run 0 info small
rm small/pack.options
run 0 info small
! grep -q "images at most" out || fail "a note of nothing"
run 0 pack photos small --max-side 64 --overwrite --json
json '.resized > 6 and .resized_bytes_after < .resized_bytes_before and .decoded == 0'
json '.jpegs.retiled + .jpegs.kept + .resized == 12'
run 1 pack photos small --max-side 65
says err "with other options"
run 0 pack photos small --overwrite
[ ! -e small/pack.options ] || fail "the options of another pack are left"
run 0 pack photos whole --max-side 65500
says out "JPEGs re-tiled without loss"
! grep -q "made smaller" out || fail "nothing is larger than that"
refuses 2 "--quality needs --max-side" pack photos x --quality 80
refuses 2 "leave out --raw-share" pack photos x --raw --raw-share 0.5
for wrong in "--max-side 0" "--max-side 65501" "--quality 0" "--quality 101" "--raw-share 1.5" "--raw-share -1" "--raw-share x"; do
    # shellcheck disable=SC2086
    run 2 pack photos x $wrong
done

# Into its own source: the output would become another class, or shards. Regardless of the path's
# spelling.
listing=$(find photos | sort)
ln -s photos linked
ln -s "$PWD/photos/$(ls photos | head -1)" class
for out in photos/packed photos/./packed/ linked/packed photos/../linked/packed "$PWD/photos/packed" \
    class/packed; do
    refuses 2 "is inside the one to be packed" pack photos "$out"
    refuses 2 "is inside the one to be packed" pack linked/. "$out" --overwrite
done
(cd photos && refuses 2 "is inside the one" pack . packed && refuses 2 "is inside the one" pack ../linked packed) || exit 1
for out in photos photos/. linked "$PWD/photos/../linked/" class; do
    for option in --json --overwrite; do
        run 2 pack photos "$out" $option
        says err "contains the images to be packed"
        grep -q -e '--overwrite' err && fail "advice to overwrite the source"
    done
done
rm -f photos/out photos/err
[ "$(find photos | sort)" = "$listing" ] || fail "the source has changed"
run 0 pack photos photos.packed
for made in "" "--subset 0:2" "--with photos" "--mix packed=1"; do
    # shellcheck disable=SC2086
    refuses 2 "contains the dataset to be packed" pack packed ./packed/. --overwrite $made
done
run 0 verify packed
# A class that is a link to another folder is part of it as well.
mkdir -p joined elsewhere && cp -r "photos/$(ls photos | head -1)" elsewhere/cats
ln -s ../elsewhere/cats joined/cats
refuses 2 "is in" pack joined elsewhere/cats/packed
run 0 pack joined elsewhere/packed

# The error promises resuming only if there is something to resume.
run 1 pack photos nowhere/packed
! grep -q "resumes" err || fail "there is nothing to go on from"
(trap '' XFSZ && ulimit -f 256 && run 1 pack photos cut-off) || exit 1
says err "the same command resumes the pack"
run 0 pack photos cut-off
run 0 verify cut-off

# Flat files: records of one shape, and tokens; the last record of a token file may be shorter.
python3 - << 'END'
import array, random
random.seed(5)
open("pixels.bin", "wb").write(bytes(random.randrange(256) for _ in range(20 * 48)))
for name, count in ("part0.bin", 2500), ("part1.bin", 1000):
    array.array("H", (i % 50 for i in range(count))).tofile(open(name, "wb"))
END
run 0 pack --tensor pixels=u8:3x4x4 pixels.bin flat --keep-order
run 0 info flat --json
json '.samples == 20 and .bytes == 20 * (16 + 8 + 48)'
json '.fields == [{"name": "pixels", "type": "tensor", "dtype": "u8", "shape": [3, 4, 4], "stored": "plain"}]'
json '.columns == [{"name": "pixels", "kind": "tensor", "dtype": "u8", "shape": [3, 4, 4]}]'
run 0 verify flat
run 0 pack --tensor u16:1000 part0.bin part1.bin tokens --keep-order
run 0 info tokens --json
json '.samples == 4 and .fields[0].name == "tensor" and .fields[0].shape == [null]'
json '.fields[0].stored == "zstd"'
run 0 info tokens
says out "tensor u16:?, zstd"
run 0 pack --tensor u16:500 part0.bin part1.bin even
run 0 info even --json
json '.samples == 7 and .fields[0].shape == [500]'
refuses 2 "960 bytes, not a multiple of records of 84 bytes" \
    pack --tensor u8:3x4x7 pixels.bin x
says err "pixels.bin"
head -c 33 part1.bin > odd.bin
refuses 2 "33 bytes, not a multiple of elements of 2 bytes" \
    pack --tensor u16:10 part0.bin odd.bin x
: > empty.bin
refuses 2 "the file is empty" pack --tensor u16:10 empty.bin x
run 1 pack --tensor u16:10 none.bin x
for wrong in u16 u16: u16:0 u16:3x q8:3 u16:3x-1 u16:1x1x1x1x1x1x1x1x1 u16:99999999999999999999 :3; do
    refuses 2 "must be [NAME=]DTYPE:SHAPE" pack --tensor "$wrong" part0.bin x
done
refuses 2 "2^31 - 1" pack --tensor u16:4000000000 part0.bin x
refuses 2 "name" pack --tensor "bad name=u16:10" part0.bin x
[ ! -e x ] || fail "a refused pack made a folder"
