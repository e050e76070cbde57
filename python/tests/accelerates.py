# SPDX-License-Identifier: Apache-2.0
"""The part of accelerate's protocol that a prepared loader meets: GradientState, accumulate, gather_for_metrics, checkpoints.
accelerate itself is not needed.

Ranks are Accelerators of one process; `gather_for_metrics` collects the values of all of them."""
import contextlib
import weakref

import torch


class GradientState:
    """accelerate has one per process; here each rank has its own."""

    def __init__(self, num_steps):
        self.num_steps, self.sync_gradients, self._references = num_steps, True, [None]

    @property
    def dataloader_references(self):
        return [reference and reference() for reference in self._references]

    @property
    def active_dataloader(self):
        return self.dataloader_references[-1]

    @property
    def end_of_dataloader(self):
        return self.active_dataloader is not None and self.active_dataloader.end_of_dataloader

    @property
    def remainder(self):
        return -1 if self.active_dataloader is None else self.active_dataloader.remainder

    def _add_dataloader(self, loader):
        self._references.append(weakref.ref(loader))

    def _remove_dataloader(self, loader):
        known = self.dataloader_references
        del self._references[known.index(loader)]  # ValueError if the loader is not in the list


class Accelerator:
    """split_batches, even_batches, dispatch_batches and device_placement are accelerate's options. rank and world_size are this accelerator's."""

    def __init__(self, gradient_accumulation_steps=1, rank=0, world_size=1, device="cpu", **options):
        self.gradient_state, self.step, self._custom_objects = GradientState(gradient_accumulation_steps), 0, []
        self.process_index, self.num_processes, self.device = rank, world_size, torch.device(device)
        self.split_batches, self.even_batches, self.dispatch_batches = False, True, None
        self.device_placement, self.non_blocking = True, False
        self.__dict__ |= options

    @property
    def sync_gradients(self):
        return self.gradient_state.sync_gradients

    @property
    def is_main_process(self):
        return self.process_index == 0

    @contextlib.contextmanager
    def accumulate(self, *models):
        if self.gradient_state.end_of_dataloader:
            self.step, self.gradient_state.sync_gradients = 0, True
        else:
            self.step += 1
            self.gradient_state.sync_gradients = self.step % self.gradient_state.num_steps == 0
        yield

    def backward(self, loss):
        (loss / self.gradient_state.num_steps).backward()

    def prepare(self, *objects):
        for thing in objects:
            assert not isinstance(thing, torch.utils.data.DataLoader)
            if isinstance(thing, torch.optim.Optimizer):
                self._wrap(thing)
        return objects if len(objects) != 1 else objects[0]

    def _wrap(self, optimizer):
        """Steps only when gradients are synchronized."""
        for name in ("step", "zero_grad"):
            function = getattr(optimizer, name)
            setattr(optimizer, name, lambda *given, function=function: function(*given) if self.sync_gradients else None)

    def gather_for_metrics(self, tensor, *others):
        joined = torch.cat([tensor, *others])
        state = self.gradient_state
        return joined[: state.remainder] if state.end_of_dataloader and state.remainder > 0 else joined

    def register_for_checkpointing(self, *objects):
        self._custom_objects.extend(objects)

    def save_state(self, path):
        torch.save([self.step, *(thing.state_dict() for thing in self._custom_objects)], path)

    def load_state(self, path):
        self.step, *states = torch.load(path)
        for thing, state in zip(self._custom_objects, states):
            thing.load_state_dict(state)

    def print(self, *what):
        print(*what)
