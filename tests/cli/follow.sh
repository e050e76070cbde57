# SPDX-License-Identifier: Apache-2.0
# Masks, boxes and points that follow an image: requested with --column, drawn by view, counted by
# bench.
. "$(dirname "$0")/lib.sh"
need jq
need python3

python3 "$(dirname "$0")/make_scenes.py"
run 0 pack scenes.tfrecord scenes --keep-order --field image=image:image --field seg=seg:image --field 'boxes=boxes:f32[0,4]' \
    --field 'points=points:f32[0,3]' --field 'labels=labels:i64[0]'
image=(--column image:image,size=64,crop=center)
boxes=(--column boxes:boxes,length=9,format=xywh --column labels:ragged,length=9,follows=boxes)

# The contents of a batch: resized to 73, the middle 64.
run 0 view scenes --samples 4 --draws 1 "${image[@]}" "${boxes[@]}" --column seg:mask,fill=9 --column points:points,length=9 \
    --column 'r=boxes:boxes,length=9,format=xywh,padded=1,out-format=cxcywh,out-relative=1' --column where:geometry,follows=image \
    -o a.png --json
json '.pictures == ["image"] and (.samples[0].values | keys) == ["boxes", "labels", "points", "r", "where"]'
json 'def near(want): [., want] | transpose | all((.[0] - .[1]) | fabs < 1e-3);
    .samples | all(.values | (.where | split(" ") | map(tonumber) | near([73 / 96, 0, -4, 0, 73 / 96, -4, 0, 0, 1]))
    and (.boxes | split(" ") | map(tonumber) | near([14.25, 14.25, 50.75, 41.625, 41.625, 41.625, 64, 64])) and .labels == "7 3"
    and (.r | split(" ") | map(tonumber) | .[:4] | near([32.5 / 64, 27.9375 / 64, 36.5 / 64, 27.375 / 64])) and (.points | test("^19.19[0-9]* ")))'
cp a.png plain.png
cp out plain.json
run 0 view scenes --samples 4 --draws 1 "${image[@]}" --column seg:mask -o filled.png
# Without columns that follow, nothing is drawn over the image.
run 0 view scenes --samples 4 --draws 1 "${image[@]}" -o bare.png --json
cp out bare.json
! cmp -s plain.png bare.png || fail "nothing is drawn"
# The page lists the boxes of each draw, in their colours.
run 0 view scenes --samples 2 --draws 2 "${image[@]}" "${boxes[@]}" --column seg:mask -o page.html
mark='<li><span class="mark" style="background:'
[ "$(grep -c "^$mark#e6194b\"></span>7</li>" page.html)" -eq 4 ] || fail "label 7 of each draw"
[ "$(grep -c "^$mark#3cb44b\"></span>3</li>" page.html)" -eq 4 ] || fail "label 3 of each draw"
for class in 1 2 255; do
    [ "$(grep -c "</span>class $class</li>" page.html)" -eq 4 ] || fail "class $class of each mask"
done
[ "$(grep -c '>epoch 1<' page.html)" -eq 2 ] || fail "a tile for each draw of a row"
! grep -q '<dt>' page.html || fail "a drawn column is also listed as text"
run 0 view scenes --samples 2 --draws 1 "${image[@]}" --column boxes:boxes,length=9,format=xywh -o page.html
says page.html "$mark#3cb44b\"></span>1</li>"
# Two crops, each with the columns that follow it; and after each step.
run 0 view scenes --samples 2 --draws 1 "${image[@]}" --column large=image:image,size=96,crop=random,padding=0,augment=random_flip:0 \
    --column b=boxes:boxes,length=9,format=xywh,follows=large --column p=points:points,length=9,follows=large \
    --column m=seg:mask,follows=large -o two.png --json
json '.pictures == ["image", "large"]
    and (.samples | all(.tiles | map([.draw, .picture, .width, .height]) == [[0, "image", 64, 64], [0, "large", 96, 96]]))'
cp out two.json
run 0 view scenes --samples 1 --each-step --column image:image,size=96,crop=random,padding=0,augment=random_flip:1 \
    --column boxes:boxes,length=9,format=xywh,at-least-one=1 --column seg:mask -o steps.png --json
json '.steps == ["random_crop:96:96:0", "random_flip:1"] and (.samples[0].tiles | map([.draw, .width, .height]) == [[0, 96, 96], [1, 96, 96], [2, 96, 96]])'
cp out steps.json
refuses 2 'labels, crowds, background, ignore and overlap need shapes' view scenes "${image[@]}" --column seg:mask,labels=labels -o a.png
refuses 2 'the dataset has no field "no"' view scenes "${image[@]}" --column seg:mask,labels=labels,crowds=no -o a.png
refuses 2 'shapes must be a text' view scenes "${image[@]}" --column boxes:boxes,length=9,shapes=labels -o a.png
refuses 2 "shows the steps of one image" view scenes --each-step "${image[@]}" --column large=image:image
refuses 2 "shows the steps of one image" view scenes --each-step --column labels:ragged,length=9
# Twice as large: boxes are named, masks have edges, and points are discs.
run 0 view scenes --samples 1 --draws 1 --column image:image,size=192,crop=none,augment=resize:192:192 "${boxes[@]}" --column seg:mask \
    --column points:points,length=9 -o double.png --json
cp out double.json
# Whole images with the part that each draw shows: the middle, and one rotated by 45 degrees.
run 0 view scenes --samples 2 --draws 1 --source --column image:image,size=192,crop=none,augment=center_crop:48:48 -o middle.png --json
cp out middle.json
run 0 view scenes --samples 1 --draws 1 --source --column image:image,size=192,crop=none,augment=resize:192:192+random_rotation:45:45 -o turned.png --json
cp out turned.json
# An image of another size than its tile.
run 0 view scenes --samples 1 --draws 1 --size 64 --column image:image --augment center_crop:8:8 -o small.png --json
cp out small.json
run 0 view scenes --samples 1 --draws 1 --size 64 --column image:image --augment center_crop:90:80 -o large.png --json
cp out large.json

# Boxes rebuilt from shapes, and a class map made from shapes: of a triangle that fills half of a
# smaller box.
run 0 synth annotated --count 1 --size-scale 0.1
find annotated -type f -name '*.JPEG' -exec cp {} a.jpg \;
cat > instances.json << 'JSON'
{"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 3, "name": "c"}],
 "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 70, 60], "segmentation": [[30, 20, 60, 20, 30, 50]]}]}
JSON
chosen=(--field image=image --field boxes=boxes --field labels=labels --field segmentation=segmentation)
shapes=(--column boxes:boxes,length=9,format=xywh,shapes=segmentation --column g:geometry)
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 "${image[@]}" "${shapes[@]}" -o shapes.png --json
json '.samples[0].values | [(.g | split(" ") | map(tonumber)), (.boxes | split(" ") | map(tonumber))] | . as [$g, $box]
    | [$g[0] * 30 + $g[2], $g[4] * 20 + $g[5], $g[0] * 60 + $g[2], $g[4] * 50 + $g[5]] | map([0, ., 64] | sort | .[1])
    | [., $box] | transpose | all((.[0] - .[1]) | fabs < 1e-3)'
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 "${image[@]}" --column map=segmentation:mask,labels=labels -o map.png
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 "${image[@]}" -o unmapped.png
! cmp -s map.png unmapped.png || fail "a map of classes is drawn"
# Instances are drawn but not written as text, for images of several sizes as for one size.
instances=(--column m=segmentation:instances,length=9)
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 "${image[@]}" "${instances[@]}" -o drawn.png --json
json '.samples[0].values == {}'
! cmp -s drawn.png unmapped.png || fail "instances are not drawn"
for sizes in one padded ragged; do
    [ $sizes = one ] && as= || as=sizes=$sizes,max-width=64,max-height=64,
    run 0 view instances.json "${chosen[@]}" --samples 1 --draws 2 --column "image:image,${as}size=64,crop=random" \
        --column boxes:boxes,length=9,format=xywh "${instances[@]}" --column map=segmentation:mask,labels=labels -o $sizes.png
done
! cmp -s one.png drawn.png || fail "two draws are as one"
cmp one.png padded.png || fail "padded pictures are drawn otherwise"
cmp one.png ragged.png || fail "ragged pictures are drawn otherwise"
# Objects pasted from one image over another, using the shapes of its boxes.
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 --column image:image,size=64,augment=resize:64:64+copy_paste:1:1 \
    --column boxes:boxes,length=9,format=xywh,shapes=segmentation --column labels:ragged,length=9,follows=boxes -o pasted.png --json
json '.samples[0].values.labels == "3 3"' # over itself, at another position
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 2 --size 64 -o lsj.png --json \
    --column image:image,crop=none,augment=scale_jitter:64:64+fixed_size_crop:64:64:fill_r=105+random_flip+copy_paste \
    --column boxes:boxes,length=9,format=xywh,shapes=segmentation
json '.samples[0].tiles | map([.width, .height]) == [[64, 64], [64, 64]]'
refuses 2 "has no fixed output size" view instances.json "${chosen[@]}" --pipeline none
refuses 2 "the pipeline has no step" view instances.json "${chosen[@]}" --pipeline none --each-step
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 --size 200 -o whole.png \
    --column image:image,crop=none,sizes=padded,max-width=900,max-height=900
# Space for images of any size: by a step's limit, or as requested.
run 0 view instances.json "${chosen[@]}" --samples 1 --draws 1 -o limited.png --column image:image,crop=none,sizes=padded,augment=resize_shorter:32:64
refuses 2 'needs --column NAME:image,max_height=H,max_width=W, the largest image of a batch: the dataset does not say' \
    view instances.json "${chosen[@]}" --column image:image,crop=none,sizes=padded
refuses 2 'copy_paste uses the shapes of objects' view instances.json "${chosen[@]}" --column image:image,size=64,augment=resize:64:64+copy_paste
run 0 bench instances.json "${chosen[@]}" --epochs 1 --batch 1 "${image[@]}" "${shapes[@]}" --column map=segmentation:mask,labels=labels

python=/usr/bin/python3
if "$python" -c 'import PIL' 2> /dev/null; then
    "$python" - << 'PY' || fail "wrong pixels in a sheet"
import json
from PIL import Image
palette = [(230, 25, 75), (60, 180, 75), (255, 225, 25)]
grey, tints = (100, 100, 100), {n: tuple((100 + c) // 2 for c in palette[(n - 1) % 12]) for n in (1, 2, 3)}
def tile(name, number=0, row=0):
    box = json.load(open(name + ".json"))["samples"][row]["tiles"][number]
    right, bottom = box["left"] + box["width"], box["top"] + box["height"]
    sheet = Image.open(name + ".png").convert("RGB")
    assert right <= sheet.width and bottom <= sheet.height
    return sheet.crop((box["left"], box["top"], right, bottom))
def color_of(boxes, points, classes, x, y):
    """The expected color of a pixel, from the stored values moved by hand; None: not checked."""
    for number, (px, py) in enumerate(points):
        if (abs(x - px) <= 2 and y == py) or (abs(y - py) <= 2 and x == px):
            return palette[number]
    for number, (l, t, r, b) in reversed(list(enumerate(boxes))):
        if l <= x < r and t <= y < b and not (l < x < r - 1 and t < y < b - 1):
            return palette[number]
    return classes(x, y)
def check(picture, boxes, points, classes):
    wrong = [(x, y, picture.getpixel((x, y))) for x in range(picture.width) for y in range(picture.height)
             if color_of(boxes, points, classes, x, y) not in (None, picture.getpixel((x, y)))]
    assert not wrong, wrong[:9]
def quarters(middle, mirrored=False, unclear=()):
    def classes(x, y):
        left = (x < middle) != mirrored
        if x in unclear or y in unclear:
            return None
        return (tints[1] if left else grey) if y < middle else (tints[2] if left else tints[3])
    return classes
# By hand: x is 73 / 96 x - 4 there, and 48 in the middle of pixel 32; 255 has the colour of 3, as
# there are 12 colours.
for row in range(4):
    check(tile("plain", 0, row), [(14, 14, 51, 42), (42, 42, 64, 64)], [(19, 19), (57, 7)], quarters(32, unclear=(32,)))
stored, points = [(24, 24, 72, 60), (60, 60, 90, 90)], [(30, 30), (80, 14)]
check(tile("two", 1), stored, points, quarters(48))
for step in range(2):
    check(tile("steps", step), stored, [], quarters(48))
flipped = [(96 - r, t, 96 - l, b) for l, t, r, b in stored]
check(tile("steps", 2), flipped, [], quarters(48, mirrored=True))
def source(name, row=0):
    box = json.load(open(name + ".json"))["samples"][row]["source"]
    return Image.open(name + ".png").convert("RGB").crop((box["left"], box["top"], box["left"] + box["width"], box["top"] + box["height"]))
for row in range(2):
    middle, tag = source("middle", row), (range(48, 70), range(30, 49))
    assert middle.size == (192, 192)
    for x in range(192):
        for y in range(192):
            line = 48 <= x < 144 and 48 <= y < 144 and not (50 <= x < 142 and 50 <= y < 142)
            if not (x in tag[0] and y in tag[1]):
                assert middle.getpixel((x, y)) == (palette[0] if line else grey), (x, y)
turned = source("turned")
# |x - 96| + |y - 96| = 192 / sqrt(2): four edges, each cut off by the image.
line = [(x, y) for x in range(192) for y in range(192) if y > 20 and turned.getpixel((x, y)) == palette[0]]
assert all(abs(abs(x + 0.5 - 96) + abs(y + 0.5 - 96) - 135.76) < 3 for x, y in line)
for corner in ((0, 192), (192, 192), (192, 20)):
    assert sum(abs(x - corner[0]) + abs(y - corner[1]) < 62 for x, y in line) > 15, corner
double = tile("double")
red, green, yellow, black = *palette, (0, 0, 0)
for (x, y), color in {
    (40, 20): tints[1], (95, 20): red, (96, 20): grey, (40, 95): red, (40, 96): green, (20, 97): tints[2], (20, 188): tints[2], (95, 150): green, (96, 150): yellow,
    (48, 80): red, (49, 80): red, (50, 80): tints[1], (142, 80): red, (144, 80): grey, (120, 120): green, (100, 119): red, (179, 150): green, (180, 150): tints[3],
    (48, 33): red, (61, 33): red, (48, 32): tints[1], (62, 33): tints[1], (120, 105): green, (133, 105): green, (120, 104): tints[3],
    (61, 61): red, (61, 58): red, (61, 57): black, (65, 61): black, (66, 61): tints[1], (161, 29): green, (161, 33): black, (161, 34): grey,
}.items():
    assert double.getpixel((x, y)) == color, (x, y, double.getpixel((x, y)), color)
assert (255, 255, 255) in {double.getpixel((x, y)) for x in range(48, 62) for y in range(33, 48)}, "no number on the tag"
assert set(tile("bare").getdata()) == {grey}
small = tile("small")
assert small.size == (8, 8) and set(small.getdata()) == {grey}
large = tile("large")
assert large.size == (64, 64) and all(large.getpixel((x, y)) == (grey if x >= 13 and y >= 8 else (0, 0, 0)) for x in range(64) for y in range(64))
PY
fi

# bench counts what remains.
run 0 bench scenes --batch 3 --epochs 3 --json "${image[@]}" "${boxes[@]}" --column 'b=boxes:boxes,length=9,format=xywh,padded=1,min-size=23'
json '.samples == 12 and (.boxes | map([.column, .boxes, .boxes_per_sample]) == [["boxes", 24, 2], ["b", 12, 1]])'
json '.seconds as $s | .boxes | all((.boxes_per_s * $s / .boxes - 1 | fabs) < 1e-4)'
json '.columns[1] == {"name": "boxes", "field": "boxes", "kind": "boxes"}'
run 0 bench scenes --batch 3 --epochs 3 "${image[@]}" "${boxes[@]}" --column where:geometry
says out '(24 kept in "boxes")'
run 0 bench scenes --epochs 2 --json --column image:image --column where:geometry
json '.boxes == [] and .columns[1] == {"name": "where", "field": null, "kind": "geometry"}'
# info shows how to request the boxes of annotations, and its suggestion works.
run 0 synth photos --count 3 --classes 1 --size-scale 0.3
python3 - << 'END'
import glob, json, os
names = [os.path.basename(path) for path in sorted(glob.glob("photos/*/*"))]
os.rename(os.path.dirname(glob.glob("photos/*/*")[0]), "pictures")
json.dump({"images": [{"id": i, "file_name": name} for i, name in enumerate(names)],
           "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [4, 5, 60, 50]}],
           "categories": [{"id": 3, "name": "<cat>"}]}, open("pictures/instances_a.json", "w"))
END
run 0 info pictures/instances_a.json
read -ra asked < <(sed -n 's/^boxes  *follow the image: //p; s/^  *\(--column labels.*\) (of .*/\1/p' out | paste -sd' ')
[ "${#asked[@]}" -eq 6 ] || fail "info says nothing of boxes"
run 0 view pictures/instances_a.json "${asked[@]}" --pipeline eval --draws 1 --size 64 -o coco.html --json
json '.samples | map(.values.labels) == ["", "3", ""]'
says coco.html '</span>3 &lt;cat&gt;</li>'
[ "$(grep -c 'class="mark"' coco.html)" -eq 1 ] || fail "boxes where there are none"
run 0 info scenes
! grep -q '^boxes' out || fail "boxes where there are none"

# Errors are named.
for command in bench view; do
    refuses 2 'it follows "photo", but no column of that name' "$command" scenes "${image[@]}" --column seg:mask,follows=photo
    refuses 2 "no image column is before it" "$command" scenes --column seg:mask "${image[@]}"
    refuses 2 "choose the one it follows" "$command" scenes "${image[@]}" --column b=image:image --column seg:mask
    refuses 2 "boxes need a tensor [any, 4]" "$command" scenes "${image[@]}" --column points:boxes,length=9
    refuses 2 "fill 300 does not fit u8" "$command" scenes "${image[@]}" --column seg:mask,fill=300
    refuses 2 "bilinear interpolation needs dtype f32" "$command" scenes "${image[@]}" --column seg:mask,interpolation=bilinear
    refuses 2 "a geometry has no field: expected g:geometry" "$command" scenes "${image[@]}" --column g=image:geometry
    refuses 2 "expected one of auto, xyxy, xywh, cxcywh" "$command" scenes "${image[@]}" --column boxes:boxes,length=9,format=coco
    refuses 2 "relative=2: expected one of auto, relative, pixels, indices" "$command" scenes "${image[@]}" --column boxes:boxes,length=9,relative=2
    refuses 2 "needs a length" "$command" scenes "${image[@]}" --column boxes:boxes,padded=1
    refuses 2 "a permutation" "$command" scenes "${image[@]}" --column points:points,length=9,mirror=0:0
done
# info reports masks in a folder beside the images, and YOLO's boxes.
mkdir -p pairs/images pairs/masks yolo/images yolo/labels
run 0 synth photo --count 1 --size-scale 0.1
find photo -type f -name '*.JPEG' -exec cp {} pairs/images/a.jpg \; -exec cp {} yolo/images/a.jpg \;
printf '\x89PNG\r\n\x1a\n' > pairs/masks/a.png
echo '0 0.5 0.5 0.2 0.2' > yolo/labels/a.txt
run 0 info pairs
says out 'classes=mask:mask,fill=255'
run 0 info pairs --json
json '.columns | map(.name) == ["image"]'
refuses 2 '"mask" would be cropped independently of "image"' bench pairs --batch 1
refuses 2 'one of kind mask of "mask"' view pairs --augment random_invert:1 -o a.png
run 0 info yolo
says out 'boxes:boxes'
