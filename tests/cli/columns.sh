# SPDX-License-Identifier: Apache-2.0
# --column: a batch has the requested columns, in bench and view, or a message says why not.
. "$(dirname "$0")/lib.sh"
need jq

run 0 synth photos --count 24 --classes 4 --size-scale 0.3
run 0 pack photos packed

# info: the stored fields and a loader's default columns.
for dataset in photos packed; do
    run 0 info "$dataset" --json
    json '.fields | map([.name, .type, .dtype, .shape]) | index([["image", "image", "u8", [null, null, 3]]]) != null'
    json '.fields | map([.name, .type, .dtype, .shape]) | index([["label", "int", "i64", []]]) != null'
    json '.columns == [{"name": "image", "kind": "image", "dtype": "u8", "shape": [null, null, 3]},
                       {"name": "label", "kind": "number", "dtype": "i64", "shape": []}]'
done
run 0 info photos
says out "label        int"
says out "image        image   u8 size x size x 3"

bench() { run 0 bench packed --batch 8 --epochs 2 --workers 2 --json "$@"; }
bench --column 'image:image,size=32,crop=random,padding=4,dtype=f16,layout=nchw' \
    --column 'label:number,dtype=i32' --column 'target=label:one_hot,length=4,dtype=f32' \
    --column 'key:padded,length=64'
json '.columns | map(.name) == ["image", "label", "target", "key"]'
json '.columns[2] | .field == "label" and .kind == "one_hot"'
# A row: the image, i32, 4 x f32, 64 letters and their length; index, mask, status.
json '.delivered_bytes == 48 * (3 * 32 * 32 * 2 + 4 + 16 + 64 + 8 + 10)'
json '.images == 48 and .samples == 48 and .images_per_s == .samples_per_s and .images_per_s > 0'
json '.delivered_bytes_per_s > .images_per_s and .full_decode_cpu_ms_per_image > 0'

# Options that only the library's table names.
bench --io-depth 3 --stall-fail 5s --memory 1GiB --read-buffer 2MiB --exif apply --resident 1 --column label:number
json '.samples == 48'
run 1 bench packed --epochs 1 --memory 1MiB
says err "memory"

# The recipe of the general options, unless the column overrides it.
bench --size 40 --dtype f32 --pipeline eval --column a=image:image --column b=image:image,size=16,dtype=u8
json '.delivered_bytes == 48 * (40 * 40 * 3 * 4 + 16 * 16 * 3 + 10)'
bench --size 24 --pipeline crop --padding 2
json '.columns | map(.kind) == ["image", "number"]'
json '.delivered_bytes == 48 * (24 * 24 * 3 + 8 + 10)'

# Without images, no statistic counts images.
bench --column label:number
json '.samples == 48 and .samples_per_s > 0 and .cpu_ms_per_sample > 0 and .delivered_bytes == 48 * 18'
json '[.images, .images_per_s, .cpu_ms_per_image, .full_decode_cpu_ms_per_image, .decode_ratio] | all(. == null)'
run 0 bench packed --batch 8 --epochs 1 --column label:number --column key:ragged,length=64
says out "samples/s"
if grep -q image out; then fail "images are counted where there are none"; fi
refuses 2 "--yardstick decodes images" bench packed --yardstick photos --column label:number
run 0 bench packed --batch 8 --step-ms 2 --steps 4 --repeats 1 --supply --column label:number --json
json '.accelerator.demand_samples_per_s == 4000 and .accelerator.demand_images_per_s == null'
json '.arms.sluice | .samples_per_s.median > 0 and .images_per_s.median == null'
json '.comparison | .supply_samples_per_s.median > 0 and .supply_images_per_s.median == null'
run 0 bench packed --batch 8 --epochs 1 --column label:number --report page.html
says page.html "samples/s"

# view: all images of a row side by side, its other columns below.
run 0 view packed --samples 3 --draws 2 --column 'a=image:image,size=96' \
    --column 'b=image:image,size=48,crop=center,dtype=f16,layout=nchw' --column key:ragged,length=99 \
    --column 't=label:one_hot,length=4,dtype=f32' --column path=key:padded,length=30 -o a.png --json
json '.pictures == ["a", "b"]'
json '.samples | all(.tiles | map([.draw, .picture, .width]) == [[0, "a", 96], [0, "b", 48], [1, "a", 96], [1, "b", 48]])'
json '.samples | all(.values.t | test("^[01] [01] [01] [01]$"))'
json '.samples | all(.values.key | test("^n[0-9]{8}/.*JPEG$")) and all(.values.path == .values.key)'
json '.samples | all((.values.t | split(" ") | index("1")) == .label)'
run 0 view packed --samples 3 --draws 2 --size 64 -o natural.png
run 0 view packed --samples 3 --draws 2 --size 64 --column image:image -o asked.png
cmp -s natural.png asked.png || fail "the column that is natural is not the one that is asked for"
run 0 view packed --samples 3 --draws 2 --size 64 --pipeline crop --padding 8 -o crop.png
run 0 view packed --samples 3 --draws 2 --size 64 --column image:image,crop=random,padding=8 -o crop2.png
cmp -s crop.png crop2.png || fail "--pipeline crop and crop=random differ"
if cmp -s crop.png natural.png; then fail "--pipeline crop changes nothing"; fi
# A flip with probability 1 mirrors every image, for a column as for the command. An operation works
# on pixels.
run 0 view packed --samples 3 --draws 2 --size 64 --augment random_flip:0 -o unflipped.png
run 0 view packed --samples 3 --draws 2 --size 64 --augment random_flip:1 -o flipped.png
run 0 view packed --samples 3 --draws 2 --size 64 --column image:image,augment=random_flip:1 -o flipped2.png
cmp -s flipped.png flipped2.png || fail "--augment and augment= differ"
if cmp -s flipped.png unflipped.png; then fail "--augment changes nothing"; fi
run 0 view packed --samples 3 --draws 2 --size 64 --augment random_vertical_flip:1 -o vertical.png
if cmp -s vertical.png natural.png; then fail "random_vertical_flip changes nothing"; fi
run 0 view packed --samples 3 --draws 2 --size 64 --augment random_flip+color_jitter:0.9 -o jitter.png
if cmp -s jitter.png natural.png; then fail "color_jitter changes nothing"; fi
refuses 2 "nothing to draw" view packed --column label:number

# Errors are named, and nothing is done.
for command in bench view; do
    refuses 2 "NAME:KIND" "$command" packed --column label
    refuses 2 '"numbr" is not a kind' "$command" packed --column label:numbr
    refuses 2 'takes no "sise"' "$command" packed --column image:image,sise=3
    refuses 2 "size=0" "$command" packed --column image:image,size=0
    refuses 2 "given twice" "$command" packed --column image:image,size=4,size=5
    refuses 2 "crop=random" "$command" packed --column image:image,padding=3
    refuses 2 "smoothing=2: expected a number from 0 to 1" "$command" packed --column image:image --column l=label:one_hot,length=4,smoothing=2
    refuses 2 'mixes is "age", which does not exist' "$command" packed --column image:image --column l=label:one_hot,length=4,dtype=f32,mixes=age
    refuses 2 "above" "$command" packed --column image:image,area-min=0.5,area-max=0.1
    refuses 2 "needs a length" "$command" packed --column image:image --column label:one_hot
    refuses 2 "its fields are image, label" "$command" packed --column image:image --column age:number
    refuses 2 "two columns" "$command" packed --column image:image --column image:image
    refuses 2 "not a dtype" "$command" packed --column image:image --column label:number,dtype=f16
    refuses 2 "not empty" "$command" packed --column ''
    refuses 2 'unknown step "random_flop"; did you mean random_flip' "$command" packed --augment random_flop
    refuses 2 "native steps call a function of a program" "$command" packed --augment native
    refuses 2 'unknown step "x"' "$command" packed --column image:image,augment=random_vertical_flip+x:1
    refuses 2 '"a lot" for probability of random_flip: expected a number' "$command" packed --augment 'random_flip:a lot'
    refuses 2 "probability must be from 0 to 1" "$command" packed --augment random_flip:50
    refuses 2 "mean_r must be given" "$command" packed --augment normalize
    refuses 2 "too many arguments" "$command" packed --augment random_flip:1:1
    refuses 2 'expected STEP' "$command" packed --augment random_flip++color_jitter
    refuses 2 'an argument of pad is empty' "$command" packed --augment pad:8::8
    refuses 2 '"nan" for probability of random_flip: expected a number' "$command" packed --augment random_flip:nan
    refuses 2 'probability of random_flip is given twice' "$command" packed --augment random_flip:0.5:probability=0.6
    refuses 2 'expected nearest, bilinear, bicubic' "$command" packed --augment random_rotation:0:9:lanczos
    refuses 2 'augment: timm:rand-q9: ' "$command" packed --augment timm:rand-q9
    refuses 2 'more weights than steps' "$command" packed --augment 'random_choice:1:2:3(random_flip+random_invert)'
    refuses 2 'write the list weights=VALUE:VALUE' "$command" packed --augment 'random_choice:weight_1=2(random_flip+random_invert)'
    refuses 2 'has no argument "minsizes"; did you mean min_sizes? (its arguments: max_size, interpolation, min_sizes)' \
        "$command" packed --augment random_shortest_size:0:minsizes=96
    refuses 2 'random_shortest_size has no argument "min_size_14": write the list min_sizes=' "$command" packed --augment random_shortest_size:0:min_size_14=96
    refuses 2 'options of random_iou_crop is given twice' "$command" packed --augment random_iou_crop:options=0.1:trials=3:0.5
    refuses 2 'min_sizes of random_shortest_size takes at most 14 numbers' "$command" packed --augment "random_shortest_size:0:min_sizes=$(seq 40 54 | paste -sd:)"
    refuses 2 'each of min_sizes must be a whole number from 1' "$command" packed --augment random_shortest_size:0:min_sizes=96:0
    refuses 2 'an argument of random_flip is empty' "$command" packed --augment random_flip:
    refuses 2 'an argument of pad is empty' "$command" packed --augment 'random_choice(pad::8+random_flip)'
done
# A group may have any length; the whole text has a limit, which the error states.
long=$(seq 9 23 | sed "s|.*|random_affine:-&:&:translate_x=0.1:translate_y=0.1|" | paste -sd+)
[ ${#long} -gt 750 ] || fail "a short group"
run 0 view packed --samples 1 --draws 1 --size 32 --augment "random_choice($long)" -o long.png
run 0 view packed --samples 1 --draws 1 --size 32 --augment "random_apply(random_choice($long))" -o long.png
refuses 2 "16383 characters" view packed --augment "random_choice($(yes "$long" | head -30 | paste -sd+))"
refuses 2 '...": expected STEP' view packed --augment "random_choice($long"
# Labels with the shares of the images, as docs/transforms.md describes.
bench --column image:image,size=32,augment=mixup:0.2 --column l=label:one_hot,length=4,dtype=f32,mixes=image,smoothing=0.1
json '.delivered_bytes == 48 * (3 * 32 * 32 + 8 + 4 + 16 + 10)'
# A second geometry step determines the size.
run 0 bench packed --batch 8 --epochs 1 --json --augment center_crop:8:8
json '.samples > 0 and .delivered_bytes > 8 * 8 * 3 * .samples and .delivered_bytes < 400 * .samples'

# Datasets without images: unconverted tensors, tokens in windows.
need python3
python3 - << 'END'
import array
open("cubes.bin", "wb").write(bytes(i % 251 for i in range(40 * 48)))
array.array("H", (i % 50 for i in range(3000))).tofile(open("tokens.bin", "wb"))
END
run 0 pack --tensor cube=u8:3x4x4 cubes.bin cubes
run 0 info cubes
says out "columns      cube         tensor  u8 3 x 4 x 4"
run 0 bench cubes --batch 8 --epochs 2 --json
json '.images_per_s == null and .samples == 80 and .delivered_bytes == 80 * (48 + 10)'
run 0 bench cubes --batch 8 --epochs 1 --column 'part=cube:tensor,shape=3x2x2,part=random,dtype=f32'
says out "samples/s"
run 0 bench cubes --batch 8 --step-ms 2 --steps 4 --repeats 1
says out "samples/s"
refuses 2 "the dataset has no images" view cubes
refuses 2 "--yardstick decodes images" bench cubes --yardstick photos
run 0 pack --tensor ids=u16:1000 tokens.bin tokens --zstd off
run 0 bench tokens --batch 4 --epochs 1 --json --column ids:window,length=101,stride=100,dtype=i32
json '.samples == 27 and .delivered_bytes == 27 * (101 * 4 + 10)'

# Rows of several samples: a mosaic is the first step, wherever it is listed; a partner's columns
# appear beside the row's own.
run 0 bench packed --batch 8 --column 'image:image,augment=mosaic:32+center_crop:32:32' --column label:number --epochs 1
run 0 bench packed --batch 8 --column label:number --column 'other=label:number,partner=1' --epochs 1
run 0 bench packed --batch 8 --column label:number --column 'other=label:number,partner=1' --partners same_class --epochs 1
refuses 2 partner bench packed --batch 8 --column 'label:number,partner=32'
