#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains ResNets on a GPU, fed by sluice, by torch's DataLoader, and by one batch that stays on the GPU.

    gpu_training.py FOLDER [--model NAME]... [--loader NAME]... [--cpus N] [--seconds N]

FOLDER: class folders of photos. Each pair of a model and a loader is an arm of --seconds; its first quarter does not
count. All arms have the same model, optimizer and batch size, in bfloat16 and channels_last, and draw samples with replacement,
so that no epoch ends.

resident    one batch, reused: the speed of the GPU with nothing to wait for
sluice      sluice.torch.DataLoader(device="cuda"): random resized crop, flip and normalization, a thread per CPU, in bfloat16
torch       torch's DataLoader with the same transforms of torchvision, a worker process per CPU, pinned memory and
            non_blocking copies
torch_uint8 the same without normalization in the workers: bytes are copied, and normalized on the GPU

Prints a line per arm, and `figure NAME VALUE UNIT` lines for scripts/gpu-check: images/s; CPU time per image of the process and
its workers, and what of it is beyond that of `resident`; the fraction of time in which NVML saw a kernel run. Under `sluice idle`
it marks when it waited for data. Exit status: 1 if an arm failed, 77 if torch, torchvision or a GPU is missing.
"""
import argparse
import os
import sys
import threading
import time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LOADERS = ["resident", "sluice", "torch", "torch_uint8"]
WARM_UP = 10, 0.25  # at least so many steps, and of an arm's time: queues that filled before the first step are used up then
ENDLESS = 1 << 30  # samples of an epoch


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--model", action="append", help="a model of torchvision; may be repeated [resnet50]")
    parser.add_argument("--loader", action="append", choices=LOADERS, help="may be repeated [resident, sluice, torch]")
    parser.add_argument("--cpus", type=int, default=len(os.sched_getaffinity(0)), help="CPUs to use, and workers [all]")
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of an arm [20]")
    parser.add_argument("--batch", type=int, default=256, help="images of a step [256]")
    parser.add_argument("--size", type=int, default=224, help="width and height of an image [224]")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: to try this program [cuda]")
    given = parser.parse_args(words)
    if not 1 <= given.cpus <= len(os.sched_getaffinity(0)):
        parser.error(f"--cpus {given.cpus}: this process may use {len(os.sched_getaffinity(0))} CPUs")
    given.model = given.model or ["resnet50"]
    given.loader = given.loader or ["resident", "sluice", "torch"]
    return given


# ---- loaders: iterators of (images, labels), without an end ----


def resident_batches(given, torch):
    images = torch.randn(given.batch, 3, given.size, given.size, device=given.device)
    images = images.to(torch.bfloat16, memory_format=torch.channels_last)
    labels = torch.randint(1000, (given.batch,), device=given.device)
    while True:
        yield images, labels


def sluice_batches(given, torch):
    import numpy

    import sluice.torch
    from sluice import transforms as T

    data = sluice.Dataset(given.folder)
    loader = sluice.torch.DataLoader(
        data, batch_size=given.batch, num_workers=given.cpus, device=given.device, dtype="bfloat16",
        memory_format=torch.channels_last, shuffle=True, weights=numpy.ones(len(data)), num_samples=ENDLESS, drop_last=True,
        transform=[T.RandomResizedCrop(given.size), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)],
    )  # fmt: skip
    with loader:
        for images, labels in loader:
            yield images, labels


def prefetch_factor(given, bytes_per_value):
    """Returns how many batches each worker may have ready in shared memory, whose size containers and VMs often limit."""
    free = os.statvfs("/dev/shm")
    batch = given.batch * 3 * given.size**2 * bytes_per_value
    return max(1, min(4, int(free.f_bavail * free.f_frsize * 0.8 / (batch * given.cpus))))


def torch_batches(given, torch, normalized=True):
    from torchvision import datasets, transforms

    steps = [transforms.RandomResizedCrop(given.size), transforms.RandomHorizontalFlip()]
    steps += [transforms.ToTensor(), transforms.Normalize(MEAN, STD)] if normalized else [transforms.PILToTensor()]
    data = datasets.ImageFolder(given.folder, transforms.Compose(steps))
    order = torch.utils.data.RandomSampler(data, replacement=True, num_samples=ENDLESS)
    loader = torch.utils.data.DataLoader(
        data, given.batch, sampler=order, num_workers=given.cpus, pin_memory=given.device == "cuda", drop_last=True,
        persistent_workers=True, prefetch_factor=prefetch_factor(given, 4 if normalized else 1),
    )  # fmt: skip
    mean = torch.tensor(MEAN, device=given.device).view(1, 3, 1, 1) * 255
    scale = 1 / (torch.tensor(STD, device=given.device).view(1, 3, 1, 1) * 255)
    for images, labels in loader:
        images, labels = images.to(given.device, non_blocking=True), labels.to(given.device, non_blocking=True)
        yield (images if normalized else (images - mean) * scale), labels


def batches_of(name, given, torch):
    if name == "resident":
        return resident_batches(given, torch)
    if name == "sluice":
        return sluice_batches(given, torch)
    return torch_batches(given, torch, normalized=name == "torch")


# ---- measuring ----


def cpu_seconds():
    """Returns the CPU time of this process and its descendants, ended ones included."""
    parents, used = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        parents[int(name)], used[int(name)] = int(fields[1]), sum(map(int, fields[11:15]))
    ours, found = set(), {os.getpid()}
    while found:
        ours |= found
        found = {process for process, parent in parents.items() if parent in found and process not in ours}
    return sum(used[process] for process in ours) / os.sysconf("SC_CLK_TCK")


class Utilization(threading.Thread):
    """NVML's utilization of the GPU, as the mean of samples; None if it cannot be read."""

    def __init__(self, read):
        super().__init__(daemon=True)
        self.read, self.samples, self.ended = read, [], threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            try:
                self.samples.append(self.read())
            except Exception as error:  # no pynvml, or a driver that does not say
                print(f"note: NVML: {error}", flush=True)
                return

    def end(self):
        self.ended.set()
        self.join()
        return sum(self.samples) / len(self.samples) if self.samples else None


class Pace:
    """Keeps the host one step ahead of the GPU, asleep meanwhile: with more steps queued, it would spin in the driver, and that
    CPU time would count as the loader's."""

    def __init__(self, torch, on_gpu):
        self.events = [torch.cuda.Event(blocking=True) for _ in range(2)] if on_gpu else []
        self.count = 0

    def step(self):
        if self.events:
            self.events[self.count % 2].record()
            self.count += 1
            if self.count > 1:
                self.events[self.count % 2].synchronize()


def make_step(name, given, torch):
    import torchvision

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = getattr(torchvision.models, name)(num_classes=1000).to(given.device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(images, labels):
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast(given.device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    # Libraries choose their kernels before a loader opens, which would fill its queues meanwhile: they would last for seconds.
    for _, (images, labels) in zip(range(3), resident_batches(given, torch)):
        step(images, labels)
    return step


def run_arm(step, batches, given, torch, marks):
    """Returns images per second, CPU seconds per image, NVML's utilization in percent or None, and the last loss."""
    on_gpu = given.device == "cuda"
    pace = Pace(torch, on_gpu)
    utilization = None
    count, counted, cpu = 0, None, 0.0
    begin = time.monotonic()
    for images, labels in marks.batches(batches):
        loss = step(images, labels)
        pace.step()
        count += 1
        if count == 1:
            begin = time.monotonic()  # without the loader's start
        elif counted is None and count >= WARM_UP[0] and time.monotonic() >= begin + WARM_UP[1] * given.seconds:
            if on_gpu:
                torch.cuda.synchronize()
                utilization = Utilization(torch.cuda.utilization)
                utilization.start()
            begin, cpu, counted = time.monotonic(), cpu_seconds(), count
        elif counted is not None and time.monotonic() >= begin + (1 - WARM_UP[1]) * given.seconds:
            break
    if on_gpu:
        torch.cuda.synchronize()
    seconds, cpu = time.monotonic() - begin, cpu_seconds() - cpu
    images = (count - counted) * given.batch
    return images / seconds, cpu / images, utilization.end() if utilization else None, float(loss)


def report(model, name, given, outcome, resident):
    speed, cpu, busy, loss = outcome
    figures = {"images_per_s": (speed, "images/s"), "cpu_ms_per_image": (1e3 * cpu, "ms")}
    text = f"{model} {name}, {given.cpus} CPUs: {speed:.0f} images/s, {1e3 * cpu:.3f} ms of CPU per image"
    if resident and name != "resident":
        figures |= {"of_resident": (100 * speed / resident[0], "%"), "loader_cpu_ms_per_image": (1e3 * (cpu - resident[1]), "ms")}
        text += f" ({1e3 * (cpu - resident[1]):.3f} the loader's), {100 * speed / resident[0]:.1f} % of the GPU's speed"
    if busy is not None:
        figures["gpu_busy"] = (busy, "%")
        text += f", NVML {busy:.0f} %"
    print(f"{text}, loss {loss:.3f}")
    for figure, (value, unit) in figures.items():
        print(f"figure {model}_{given.cpus}_{name}_{figure} {value:.4g} {unit}", flush=True)


def main():
    given = arguments_of(sys.argv[1:])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cpus])  # before torch counts them
    try:
        import torch
        import torchvision
    except ImportError as error:
        skip(str(error))
    for model in given.model:
        if not hasattr(torchvision.models, model):
            sys.exit(f"--model {model}: torchvision {torchvision.__version__} has no such model; it has resnet18 and resnet50")
    if given.device == "cuda" and not torch.cuda.is_available():
        skip("torch sees no CUDA device")
    try:
        import sluice
    except ModuleNotFoundError as error:
        sys.exit(f"{error}: install the wheel, or name the folder python of a build in PYTHONPATH")

    failed = False
    with sluice.marks() as marks:
        for model in given.model:
            step, resident = make_step(model, given, torch), None
            for name in given.loader:
                batches = batches_of(name, given, torch)
                try:
                    outcome = run_arm(step, batches, given, torch, marks)
                except Exception as error:  # such as workers that /dev/shm is too small for; the other arms still count
                    print(f"FAIL: {model} {name}: {error}", flush=True)
                    failed = True
                    continue
                finally:
                    batches.close()  # its threads or processes end
                if name == "resident":
                    resident = outcome
                report(model, name, given, outcome, resident)
    return failed


if __name__ == "__main__":
    sys.exit(main())
