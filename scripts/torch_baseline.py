#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_baseline.py FOLDER SECONDS: ResNet-50 training fed by PyTorch's own DataLoader.

The row that sluice is compared with: random resized crop, flip, normalise in worker processes,
pinned memory, asynchronous copies; then the same steps on a resident batch, which is the floor.
Prints `figure NAME VALUE UNIT` lines. Under `sluice idle` it says when it waited for data. Exit
code 77: no torch, no torchvision, or no GPU.
"""
import os
import sys
import time


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import torch
    import torchvision
    from torchvision import transforms
except ImportError as error:
    skip(str(error))

BATCH = 128


def open_marks():
    folder = os.environ.get("SLUICE_IDLE_DIR")
    return open(f"{folder}/marks.{os.getpid()}", "a", encoding="ascii") if folder else None


def make_batches(folder, workers):
    steps = transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    data = torchvision.datasets.ImageFolder(folder, steps)
    # One endless epoch: between epochs, the workers' queues would run empty, because of the few photos here and not because
    # of the DataLoader.
    order = torch.utils.data.RandomSampler(data, replacement=True, num_samples=1 << 30)
    loader = torch.utils.data.DataLoader(data, BATCH, sampler=order, num_workers=workers,
                                         pin_memory=True, drop_last=True, persistent_workers=True,
                                         prefetch_factor=4)
    for images, labels in loader:
        yield images.cuda(non_blocking=True), labels.cuda(non_blocking=True)


def make_step():
    model = torchvision.models.resnet50(num_classes=1000).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(images, labels):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(
                model(images.contiguous(memory_format=torch.channels_last)), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return step


def run(step, batches, seconds, marks):
    """Returns images per second, after ten warm-up steps."""
    begin = count = 0
    while count < 10 or time.monotonic() < begin + seconds:
        if count == 10:
            torch.cuda.synchronize()
            begin = time.monotonic()
        asked = time.monotonic_ns()
        images, labels = next(batches)
        given = time.monotonic_ns()
        step(images, labels)
        if marks:
            marks.write(f"wait {asked} {given}\nstep {time.monotonic_ns()}\n")
        count += 1
    torch.cuda.synchronize()
    return (count - 10) * BATCH / (time.monotonic() - begin)


def resident(batch):
    while True:
        yield batch


def main():
    if not torch.cuda.is_available():
        skip("torch sees no CUDA device")
    folder, seconds = sys.argv[1], float(sys.argv[2])
    workers = len(os.sched_getaffinity(0))
    marks = open_marks()
    step = make_step()
    batches = make_batches(folder, workers)
    fed = run(step, batches, seconds, marks)
    if marks:
        marks.close()
        return
    floor = run(step, resident(next(batches)), seconds, None)
    print(f"figure torch_workers {workers} processes")
    print(f"figure torch_images_per_s {fed:.1f} images/s")
    print(f"figure torch_resident_images_per_s {floor:.1f} images/s")


if __name__ == "__main__":
    main()
