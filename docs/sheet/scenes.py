# SPDX-License-Identifier: Apache-2.0
"""Draws the four pictures of the transforms sheet, and the outlines of the objects in them.

Each picture is a landscape above a test chart. The shapes are drawn four times as large and then reduced, which smooths their edges.
Needs Pillow and DejaVu Sans (Debian: python3-pil, fonts-dejavu-extra).
"""
import math

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, CHART = 200, 150, 22
SCALE = 4
SANS = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"


class Canvas:
    """Takes coordinates in pixels of the finished picture."""

    def __init__(self, top, bottom):
        self.image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE))
        self.draw = ImageDraw.Draw(self.image)
        self.objects = []
        self.gradient(0, HEIGHT - CHART, top, bottom)

    def gradient(self, first, last, top, bottom):
        for y in range(int(first * SCALE), int(last * SCALE)):
            share = (y / SCALE - first) / (last - first)
            color = tuple(round(a + (b - a) * share) for a, b in zip(top, bottom))
            self.draw.line([(0, y), (WIDTH * SCALE, y)], fill=color)

    def polygon(self, points, color):
        self.draw.polygon([(x * SCALE, y * SCALE) for x, y in points], fill=color)

    def box(self, left, top, right, bottom, color):
        self.draw.rectangle([left * SCALE, top * SCALE, right * SCALE - 1, bottom * SCALE - 1], fill=color)

    def disc(self, x, y, radius, color):
        self.draw.ellipse([(x - radius) * SCALE, (y - radius) * SCALE, (x + radius) * SCALE, (y + radius) * SCALE], fill=color)

    def line(self, points, color, width):
        self.draw.line([(x * SCALE, y * SCALE) for x, y in points], fill=color, width=round(width * SCALE), joint="curve")

    def text(self, x, y, text, size, color):
        self.draw.text((x * SCALE, y * SCALE), text, fill=color, font=ImageFont.truetype(SANS, round(size * SCALE)), anchor="mm")

    def curve(self, height, bottom, color):
        """The area between y = height(x) and y = bottom."""
        points = [(x, height(x)) for x in range(-1, WIDTH + 2, 1)]
        self.polygon([*points, (WIDTH + 1, bottom), (-1, bottom)], color)

    def add_object(self, name, outline):
        self.objects.append((name, [(round(x, 1), round(y, 1)) for x, y in outline]))

    def finish(self):
        draw_chart(self)
        return self.image.resize((WIDTH, HEIGHT), Image.BOX), self.objects


def draw_chart(canvas):
    """Colour bars, grey steps above a grey ramp, and lines that get finer."""
    top = HEIGHT - CHART
    bars = [(255, 255, 255), (240, 225, 20), (20, 200, 220), (30, 180, 60), (215, 40, 190), (220, 40, 40), (40, 60, 210), (10, 10, 10)]
    for i, color in enumerate(bars):
        canvas.box(i * 9, top, i * 9 + 9, HEIGHT, color)
    for i in range(8):
        canvas.box(72 + i * 8, top, 80 + i * 8, top + 11, (round(i * 255 / 7),) * 3)
    for x in range(64 * SCALE):
        value = round(x * 255 / (64 * SCALE - 1))
        canvas.draw.line([(72 * SCALE + x, (top + 11) * SCALE), (72 * SCALE + x, HEIGHT * SCALE)], fill=(value,) * 3)
    canvas.box(136, top, WIDTH, HEIGHT, (255, 255, 255))
    x = 138.0
    for width, lines in [(4, 2), (3, 2), (2, 4), (1, 8)]:
        for _ in range(lines):
            canvas.box(x, top + 2, x + width, HEIGHT - 2, (0, 0, 0))
            x += 2 * width


def ellipse(x, y, wide, high, count=24):
    return [(x + wide * math.cos(a * math.tau / count), y + high * math.sin(a * math.tau / count)) for a in range(count)]


def draw_balloon(canvas, x, y, radius):
    stripes = [(214, 40, 57), (250, 190, 40), (30, 130, 200), (250, 250, 245), (214, 40, 57)]
    for i, color in enumerate(stripes):
        canvas.polygon(ellipse(x, y, radius * (1 - i * 0.42 / 2 if i < 4 else 0.16), radius * 1.12, 48), color)
    canvas.polygon([(x - radius * 0.72, y + radius * 0.86), (x + radius * 0.72, y + radius * 0.86), (x + 4, y + radius * 1.5), (x - 4, y + radius * 1.5)], stripes[0])
    canvas.line([(x - 3, y + radius * 1.5), (x - 3, y + radius * 1.75)], (70, 50, 40), 0.7)
    canvas.line([(x + 3, y + radius * 1.5), (x + 3, y + radius * 1.75)], (70, 50, 40), 0.7)
    canvas.box(x - 4, y + radius * 1.75, x + 4, y + radius * 2.1, (120, 80, 45))
    outline = [*ellipse(x, y, radius, radius * 1.12)[12:], *ellipse(x, y, radius, radius * 1.12)[:3]]
    canvas.add_object("balloon", [*outline, (x + 4, y + radius * 1.5), (x + 4, y + radius * 2.1), (x - 4, y + radius * 2.1), (x - 4, y + radius * 1.5)])


def draw_house(canvas, x, y, wall, roof):
    canvas.box(x, y - 26, x + 40, y, wall)
    canvas.polygon([(x - 5, y - 25), (x + 20, y - 46), (x + 45, y - 25)], roof)
    canvas.box(x + 30, y - 45, x + 35, y - 30, roof)
    canvas.box(x + 16, y - 16, x + 25, y, (90, 55, 30))
    for left in (4, 28):
        canvas.box(x + left, y - 19, x + left + 9, y - 10, (255, 250, 225))
        canvas.line([(x + left + 4.5, y - 19), (x + left + 4.5, y - 10)], roof, 0.8)
        canvas.line([(x + left, y - 14.5), (x + left + 9, y - 14.5)], roof, 0.8)
    canvas.add_object("house", [(x, y), (x, y - 25), (x - 5, y - 25), (x + 20, y - 46), (x + 45, y - 25), (x + 40, y - 25), (x + 40, y)])


def draw_tree(canvas, x, y, size, color):
    canvas.box(x - size * 0.1, y - size * 0.5, x + size * 0.1, y, (95, 62, 35))
    dark = tuple(c * 3 // 4 for c in color)
    for dx, dy, radius, shade in [(0.22, -0.62, 0.3, dark), (-0.22, -0.6, 0.3, dark), (0, -0.85, 0.36, color), (-0.1, -0.62, 0.26, color)]:
        canvas.disc(x + dx * size, y + dy * size, radius * size, shade)


def draw_sign(canvas, x, y, text):
    canvas.box(x - 1.5, y - 14, x + 1.5, y, (95, 62, 35))
    canvas.box(x - 28, y - 31, x + 28, y - 13, (95, 62, 35))
    canvas.box(x - 26.5, y - 29.5, x + 26.5, y - 14.5, (250, 246, 232))
    canvas.text(x, y - 22.3, text, 13, (25, 35, 60))
    canvas.add_object("sign", [(x - 28, y - 31), (x + 28, y - 31), (x + 28, y - 13), (x - 28, y - 13)])


def draw_hills():
    canvas = Canvas((52, 120, 205), (253, 222, 178))
    for radius, color in [(17, (250, 226, 170)), (12, (255, 238, 150)), (9, (255, 214, 60))]:
        canvas.disc(30, 28, radius, color)
    for x, y, size in [(74, 22, 6), (118, 44, 5)]:
        for dx, dy, scale in [(-1.3, 0.3, 0.8), (0, 0, 1.1), (1.4, 0.25, 0.85), (2.4, 0.5, 0.5)]:
            canvas.disc(x + dx * size, y + dy * size, scale * size, (250, 250, 252))
    canvas.polygon([(-10, 100), (28, 52), (50, 78), (82, 42), (128, 100)], (108, 104, 156))
    canvas.polygon([(82, 42), (71.5, 54), (77, 58), (83, 53), (89, 59), (94.5, 55)], (245, 247, 252))
    canvas.polygon([(28, 52), (19, 63), (25, 66), (30, 62), (35, 66), (38, 64)], (245, 247, 252))
    canvas.curve(lambda x: 88 - 7 * math.sin((x - 20) / 30), 130, (96, 160, 78))
    canvas.curve(lambda x: 104 + 5 * math.sin(x / 24), 130, (52, 128, 62))
    canvas.polygon([(96, 105), (101, 105), (86, 130), (58, 130)], (232, 208, 150))
    draw_balloon(canvas, 158, 30, 18)
    draw_house(canvas, 138, 118, (206, 62, 48), (92, 38, 44))
    draw_tree(canvas, 118, 114, 28, (38, 112, 58))
    draw_sign(canvas, 36, 125, "sluice")
    return canvas.finish()


def draw_sea():
    canvas = Canvas((255, 150, 90), (255, 224, 150))
    canvas.disc(140, 62, 20, (255, 240, 190))
    canvas.disc(140, 62, 15, (255, 90, 70))
    canvas.gradient(66, HEIGHT - CHART, (40, 140, 170), (10, 50, 110))
    for i, y in enumerate(range(72, 126, 7)):
        for x in range(-20 + i * 9 % 26, WIDTH, 34):
            canvas.line([(x, y), (x + 4 + i, y - 1.2), (x + 9 + 2 * i, y)], (150, 215, 225), 0.8)
    hull = [(52, 92), (120, 92), (106, 110), (64, 110)]
    canvas.polygon(hull, (150, 40, 45))
    canvas.polygon([(52, 92), (120, 92), (118, 95), (54.5, 95)], (250, 250, 245))
    canvas.box(83, 22, 85.4, 92, (80, 50, 35))
    canvas.polygon([(82, 26), (82, 88), (52, 88)], (250, 250, 240))
    canvas.polygon([(87, 34), (87, 88), (114, 88)], (255, 205, 60))
    canvas.add_object("boat", [(83, 22), (114, 88), (120, 92), (106, 110), (64, 110), (52, 92), (52, 88), (82, 26)])
    return canvas.finish()


def draw_city():
    canvas = Canvas((12, 14, 48), (80, 60, 130))
    for i in range(40):
        canvas.disc(i * 71 % WIDTH, i * 37 % 70, 0.5 + i % 3 * 0.25, (240, 240, 255))
    canvas.disc(165, 26, 13, (245, 240, 205))
    canvas.disc(159, 23, 11.5, (26, 24, 62))
    for i, (left, width, height) in enumerate([(2, 26, 62), (30, 22, 84), (55, 30, 48), (88, 24, 96), (115, 32, 58), (150, 20, 76), (172, 27, 52)]):
        top = HEIGHT - CHART - height
        canvas.box(left, top, left + width, HEIGHT - CHART, [(46, 52, 92), (70, 48, 96), (36, 66, 96)][i % 3])
        for y in range(round(top) + 5, HEIGHT - CHART - 6, 8):
            for x in range(left + 4, left + width - 5, 7):
                if (x * 7 + y * 3 + i) % 5:
                    canvas.box(x, y, x + 4, y + 5, [(255, 215, 110), (120, 220, 240), (255, 160, 90)][(x + y) % 3])
        if i == 3:
            canvas.add_object("tower", [(left, top), (left + width, top), (left + width, HEIGHT - CHART), (left, HEIGHT - CHART)])
    return canvas.finish()


def draw_desert():
    canvas = Canvas((70, 190, 205), (240, 240, 200))
    canvas.disc(52, 30, 13, (255, 245, 150))
    canvas.polygon([(110, 92), (160, 30), (215, 92)], (205, 140, 80))
    canvas.polygon([(160, 30), (215, 92), (172, 92)], (160, 100, 62))
    canvas.curve(lambda x: 86 + 6 * math.sin(x / 28), 130, (236, 186, 104))
    canvas.curve(lambda x: 108 + 6 * math.cos(x / 22), 130, (214, 150, 72))
    green = (40, 130, 80)
    for points, width in [([(80, 122), (80, 56)], 11), ([(80, 98), (62, 98), (62, 76)], 8), ([(80, 88), (98, 88), (98, 66)], 8)]:
        canvas.line(points, green, width)
        for x, y in points:
            canvas.disc(x, y, width / 2, green)
    canvas.disc(80, 51, 4, (230, 60, 120))
    canvas.add_object("cactus", [(74.5, 56), (80, 47), (85.5, 56), (85.5, 84), (94, 84), (94, 63), (102, 63), (102, 92), (85.5, 92), (85.5, 122),
                                 (74.5, 122), (74.5, 102), (58, 102), (58, 73), (66, 73), (66, 94), (74.5, 94)])  # fmt: skip
    return canvas.finish()


def draw_scenes():
    """The pictures, as (image, [(name, outline), ...]) of each."""
    return [draw_hills(), draw_sea(), draw_city(), draw_desert()]
