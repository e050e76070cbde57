# SPDX-License-Identifier: Apache-2.0
"""Answers a test's questions with OpenCV.

opencv_oracle.py --check    exits 0 if OpenCV is installed and uses AVX2
opencv_oracle.py FOLDER     answers each line of FOLDER/questions into FOLDER/answer<line>:

  hsv INPUT W H  RH RS RV
      raw RGB of W x H, changed like ultralytics' RandomHSV (data/augment.py, since 8.3.79): its numpy tables for
      these amounts, applied to OpenCV's HSV

INPUT: the number n of FOLDER/input<n>.
"""
import sys

try:
    import cv2
    import numpy
except ImportError:
    sys.exit(1)


def tables(hue, saturation, value):
    """Yields the lookup tables of H, S and V."""
    x = numpy.arange(256, dtype=numpy.float64)
    yield (x + hue * 180) % 180
    yield numpy.clip(x * (saturation + 1), 0, 255)
    yield numpy.clip(x * (value + 1), 0, 255)


def hsv(folder, words):
    pixels = numpy.fromfile(f"{folder}/input{words[0]}", numpy.uint8).reshape(int(words[2]), int(words[1]), 3)
    planes = cv2.split(cv2.cvtColor(pixels, cv2.COLOR_RGB2HSV))
    parts = tables(*map(float.fromhex, words[3:]))
    changed = cv2.merge([cv2.LUT(plane, table.astype(numpy.uint8)) for plane, table in zip(planes, parts)])
    return cv2.cvtColor(changed, cv2.COLOR_HSV2RGB)


def main():
    if sys.argv[1] == "--check":
        sys.exit(not cv2.checkHardwareSupport(11))  # CV_CPU_AVX2
    cv2.setNumThreads(0)
    folder = sys.argv[1]
    with open(f"{folder}/questions", encoding="ascii") as questions:
        for number, line in enumerate(questions):
            kind, *words = line.split()
            {"hsv": hsv}[kind](folder, words).tofile(f"{folder}/answer{number}")


if __name__ == "__main__":
    main()
