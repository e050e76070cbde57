# SPDX-License-Identifier: Apache-2.0
"""Answers a test's questions with torchvision.

torchvision_oracle.py --check    exits 0 if torchvision is installed
torchvision_oracle.py FOLDER     answers the batch (canvas_make.h) of FOLDER/input0 and FOLDER/input1, whose
                                 lines are WIDTH HEIGHT and

  KX KY SX SY    gaussian_blur of the tensor: kernel sizes, sigmas
"""
import sys

try:
    import torch
    from torchvision.transforms import functional
except ImportError:
    sys.exit(1)


def blur(pixels, width, height, kernel, sigma):
    image = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(height, width, 3)
    image = image.permute(2, 0, 1).contiguous()
    blurred = functional.gaussian_blur(image, kernel, sigma)
    return blurred.permute(1, 2, 0).contiguous().numpy().tobytes()


def main():
    if sys.argv[1] == "--check":
        return
    torch.set_num_threads(1)
    folder = sys.argv[1]
    with open(f"{folder}/input1", encoding="ascii") as lines, open(
        f"{folder}/input0", "rb"
    ) as pixels, open(f"{folder}/answer0", "wb") as answer:
        for line in lines:
            words = line.split()
            width, height, *kernel = [int(word) for word in words[:4]]
            sigma = [float(word) for word in words[4:]]
            answer.write(blur(pixels.read(width * height * 3), width, height, kernel, sigma))


main()
