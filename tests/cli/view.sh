# SPDX-License-Identifier: Apache-2.0
# Tests view: the contact sheet is a PNG of the right size, or a page with the same images and text;
# it is deterministic and follows its options.
. "$(dirname "$0")/lib.sh"
need jq

# view_as NAME DATASET ARGUMENT ...: shows the dataset under another name, which appears above the
# images.
view_as() {
    mkdir -p links
    ln -sfn "../$2" "links/$1"
    cd links || exit 1
    run 0 view "$1" "${@:3}"
    cd .. || exit 1
}

run 0 synth photos --count 30 --classes 5 --size-scale 0.4
run 0 view photos --samples 4 --draws 3 --size 64 -o a.png --json
json '.draws == 3 and (.samples | all(.tiles | map([.draw, .picture, .width, .height]) == [range(3) | [., "image", 64, 64]]))'
json '(.samples | length == 4) and (.samples | map(.sample) | . == (sort | unique))'
json '.samples | all(.label >= 0 and .bad == false and (.class | test("^n")))'
json '.samples | map(.label) | unique | length > 2'
[ "$(head -c 8 a.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "not a PNG"
run 0 view photos --samples 4 --draws 3 --size 64 -o b.png
cmp -s a.png b.png || fail "the same seed gives another picture"
run 0 view photos --samples 4 --draws 3 --size 64 --seed 1 -o c.png
! cmp -s a.png c.png || fail "the seed changes nothing"
run 0 view photos --samples 4 --draws 3 --size 32 -o scaled.png
run 0 view photos --samples 4 --draws 3 --size 32 --exact -o exact.png
! cmp -s scaled.png exact.png || fail "--exact changes nothing"
run 0 view photos --samples 99 --draws 1 --size 32 --pipeline eval -o e.png --json
json '.samples | length == 30'
refuses 1 "none/x.png" view photos --samples 2 --draws 1 --size 32 -o none/x.png

# An existing file that is not regular is written to and not replaced; a link is followed.
sheet=(view photos --samples 2 --draws 1 --size 32)
run 0 "${sheet[@]}" -o plain.png
mkfifo pipe
timeout 300 cat pipe > drained &
run 0 "${sheet[@]}" -o pipe
wait
[ -p pipe ] || fail "the FIFO was replaced"
cmp -s plain.png drained || fail "the FIFO got something else"
mkdir far
echo old > far/target
ln -s far/target link
ln -s far/new dangling
for link in link dangling; do
    run 0 "${sheet[@]}" -o $link
    [ -L $link ] || fail "the link was replaced"
    cmp -s plain.png $link || fail "the link's target got something else"
done
[ "$(find far -type f | wc -l)" -eq 2 ] || fail "something was left beside the target"
if mknod device c 1 3 2> /dev/null && (: > device) 2> /dev/null; then # the null device's number
    run 0 "${sheet[@]}" -o device
    [ -c device ] || fail "the device was replaced"
fi
refuses 1 "far: Is a directory" "${sheet[@]}" -o far

# A step that takes two images of a batch is skipped, with one note; its arguments must still be
# valid.
run 0 "${sheet[@]}" -o alone.png
[ ! -s err ] || fail "a note about nothing"
for mixing in mixup cutmix:0.5 timm_mix:0.8:1; do
    run 0 "${sheet[@]}" --augment $mixing -o mixed.png
    cmp -s alone.png mixed.png || fail "$mixing is shown"
    says err "is left out"
    [ "$(wc -l < err)" -eq 1 ] || fail "one note"
done
run 0 "${sheet[@]}" --column image:image --column l=label:one_hot,length=5,dtype=f32 -o alone.png
run 0 "${sheet[@]}" --column image:image,augment=mixup -o mixed.png \
    --column l=label:one_hot,length=5,dtype=f32,mixes=image --json
cmp -s alone.png mixed.png || fail "mixup of a column is shown"
says err "is left out"
json '.samples | all(.values.l | test("^[01]( [01]){4}$"))'
run 0 view photos --samples 1 --size 32 --each-step --augment color_jitter:0.4+mixup -o steps.png --json
json '.steps | map(split(":")[0]) == ["random_resized_crop", "random_flip", "color_jitter"]'
says err "is left out"
refuses 2 "leave out --draws" view photos --samples 1 --size 32 --each-step --draws 6
refuses 2 "alpha must be" "${sheet[@]}" --augment mixup:-1
refuses 2 "expected STEP" "${sheet[@]}" --column l=label:one_hot,length=5,dtype=f32,mixes=image \
    --column image:image,augment=random_flip++mixup
[ "$(grep -c "expected STEP" err)" -eq 1 ] || fail "said twice"
refuses 2 "mixes nothing" "${sheet[@]}" --column image:image \
    --column l=label:one_hot,length=5,dtype=f32,mixes=image

# Packed shards hold the same images, so in the same order they draw the same sheet.
run 0 pack photos packed --keep-order
view_as photos packed --samples 4 --draws 3 --size 64 -o ../packed.png
cmp -s a.png packed.png || fail "folder and shards differ"

# A sheet is a PNG, so a folder of sheets is a dataset: viewed, packed as files and as pixels,
# verified.
mkdir -p sheets/class
cp a.png sheets/class/1.png
cp c.png sheets/class/2.png
run 0 view sheets --samples 2 --draws 2 --size 48 -o of_files.png
run 0 pack sheets sheets_packed --keep-order
run 0 pack sheets sheets_pixels --keep-order --raw
for packed in sheets_packed sheets_pixels; do
    run 0 verify $packed --decode
    view_as sheets $packed --samples 2 --draws 2 --size 48 -o ../of_$packed.png
    cmp -s of_files.png of_$packed.png || fail "$packed holds other pictures"
done

# Bad rows show the reason.
cp -r photos spoiled
victim=$(find spoiled -name '*.JPEG' | sort | head -1)
newline=${victim%.JPEG}$(printf '\nx').JPEG
rm "$victim"
echo none > "$newline"
run 0 view spoiled --samples 30 --draws 2 --size 32 -o bad.png
says out '\x0ax.JPEG: not an image'
[ "$(grep -c '^bad: sample [0-9]*, ' out)" -eq 1 ] || fail "one bad row, one line"
run 0 view spoiled --samples 30 --draws 2 --size 32 -o bad.png --json
json '[.samples[] | select(.bad)] | length == 1 and (.[0].error | .status == "corrupt" and .offset == 0)'
json '[.samples[] | select(.bad)][0].error.file | endswith("\nx.JPEG")'
json '[.samples[] | select(.bad | not)] | all(.error == null)'

# More samples than ranks allow, 2^20 for each row: a thousand classes that are one folder.
mkdir -p many shared
photo=$(find photos -name '*.JPEG' | sort | head -1)
for i in $(seq 1100); do ln "$photo" shared/$i.jpg; done
for i in $(seq 1100); do ln -s ../shared many/$((10000 + i)); done
run 0 view many --samples 1 --draws 1 --size 32 -o many.png --json
json '.samples[0] | .sample == 0 and (.bad | not)'

# The text: on stdout beside a PNG, and on a page, where a name is data and not markup.
run 0 view photos --samples 4 --draws 3 --size 64 -o a.png --json
cp out a.json
run 0 view photos --samples 4 --draws 3 --size 64 --source -o source.png --json
json '.samples | all(.source.width == 64 or .source.height == 64)'
cp out source.json
run 0 view photos --samples 4 --draws 3 --size 64 --source -o source.html
run 0 view spoiled --samples 30 --draws 2 --size 32 --source -o bad.png --json
json '[.samples[] | select(.bad)][0].source | .width == 0'
run 0 view photos --samples 2 --draws 64 --size 100 -o wide.png --json
json '.width <= 1608'
cp out wide.json
run 0 view photos --samples 2 --draws 2 -o views.png --column image:image,size=300 --column small=image:image,size=40 --json
cp out views.json
run 0 view photos --samples 4 --draws 3 --size 64 -o a.png
[ "$(grep -c '^#[0-9]*  [0-9]* n[0-9]*  .*JPEG$' out)" -eq 4 ] || fail "a line for each row"
run 0 view photos --samples 4 --draws 3 --size 64 -o page.html --json
json '.width == null and .height == null and (.samples | all(has("tiles") | not))'
cp out page.json
run 0 view photos --samples 4 --draws 3 --size 64 -o page.html
[ "$(grep -c '^#' out)" -eq 0 ] || fail "the page has the text"
mkdir -p named/'<script>"&amp;' named/Zoë
for class in '<script>"&amp;' Zoë; do cp "$photo" "named/$class/1.jpg"; done
run 0 view named --samples 2 --draws 1 --size 32 --column image:image --column label:number -o named.html
refuses 1 "none/x.html" view photos --samples 2 --draws 1 --size 32 -o none/x.html

python=/usr/bin/python3
if "$python" -c 'import PIL' 2> /dev/null; then
    "$python" - <<'PY' || fail "the sheet is not as requested"
import base64, html.parser, io, itertools, json, os
from PIL import Image, ImageDraw, ImageFont
def load(name):
    """The sheet, and the places of each sample's tiles."""
    sheet, facts = Image.open(name + ".png"), json.load(open(name + ".json"))
    assert sheet.size == (facts["width"], facts["height"]) and sheet.mode == "RGB"
    return sheet, [[(t["left"], t["top"], t["left"] + t["width"], t["top"] + t["height"]) for t in s["tiles"]] for s in facts["samples"]]
sheet, places = load("a")
rows = [[sheet.crop(box) for box in row] for row in places]
assert all(len({tile.tobytes() for tile in row}) == 3 for row in rows), "the draws of a sample are equal"
with_source, others = load("source")
assert [[with_source.crop(box).tobytes() for box in row] for row in others] == [[tile.tobytes() for tile in row] for row in rows], "--source changes draws"

# Tiles are separate and inside the sheet, with text above each row: pixels that are not background.
for name in ("a", "wide", "views", "source"):
    whole, all_places = load(name)
    boxes = sorted(itertools.chain(*all_places))
    assert len(boxes) == len(set(boxes))
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1], (a, b)
    assert all(0 < l and 0 < t and r < whole.width and b < whole.height for l, t, r, b in boxes)
    for row in all_places:
        left, top = 20, row[0][1]
        assert max(whole.crop((left, top - 24, left + 60, top - 1)).convert("L").getdata()) > 200
# The title has the letters of DejaVu Sans as Pillow draws them.
font = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"
if os.path.exists(font):
    font, x, wanted = ImageFont.truetype(font, 14), 20, Image.new("RGB", sheet.size, (32, 32, 32))
    for letter in "photos":
        ImageDraw.Draw(wanted).text((x, 20), letter, fill=(236, 236, 236), font=font)
        x += round(font.getlength(letter))
    area = (10, 10, x + 40, 38)
    apart = [abs(a - b) for a, b in zip(sheet.crop(area).convert("L").getdata(), wanted.crop(area).convert("L").getdata())]
    assert max(apart) < 16, max(apart)

# The page's images are the tiles; its text is that of the rows, as data.
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.pictures, self.text, self.elements, self.tag = [], {}, set(), None
    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        self.tag = tag
        if tag == "img":
            kind, data = dict(attributes)["src"].split(",", 1)
            assert kind == "data:image/png;base64"
            picture = Image.open(io.BytesIO(base64.b64decode(data, validate=True))).convert("RGB")
            assert picture.size == tuple(int(dict(attributes)[side]) for side in ("width", "height"))
            self.pictures.append(picture)
    def handle_data(self, data):
        if data.strip():
            self.text.setdefault(self.tag, []).append(data.strip())
page = Page()
page.feed(open("page.html", encoding="utf-8").read())
assert [picture.tobytes() for picture in page.pictures] == [tile.tobytes() for row in rows for tile in row]
whole = Page()
whole.feed(open("source.html", encoding="utf-8").read())
assert len(whole.pictures) == 4 * 4 and whole.text["figcaption"][:2] == ["picture", "epoch 0"]
captions = page.text["h2"]
samples = json.load(open("page.json"))["samples"]
for caption, sample in zip(captions, samples, strict=True):
    assert caption == "#%d  %d %s" % (sample["sample"], sample["label"], sample["class"]), caption
assert len(page.text["small"]) == 4 and all(key.endswith(".JPEG") for key in page.text["small"])
assert page.text["figcaption"][:3] == ["epoch 0", "epoch 1", "epoch 2"], page.text["figcaption"]
named = Page()
named.feed(open("named.html", encoding="utf-8").read())
assert not named.elements & {"script", "b", "i"}, "a name became markup"
assert any('<script>"&amp;' in text for text in named.text["h2"]), named.text["h2"]
assert any("Zoë" in text for text in named.text["h2"])
assert "label" in named.text["dt"]
PY
fi
