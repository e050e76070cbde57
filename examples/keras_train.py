#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training and validation with Keras 3, on the backend of KERAS_BACKEND.

    keras_train.py TRAIN VALIDATION [--epochs N]

TRAIN, VALIDATION: class folders of images, or shards. Prints the loss and the accuracy of each epoch.
"""
import argparse

try:
    import keras
except ModuleNotFoundError:
    raise SystemExit("keras_train.py needs Keras 3 and a backend: pip install keras torch") from None

import sluice
import sluice.keras
from sluice import transforms as T


def open_loader(folder, steps, **options):
    return sluice.Loader(folder, batch_size=8, num_workers=2, transform=[*steps, T.ToTensor()], **options)


def make_model(classes):
    model = keras.Sequential([
        keras.Input((32, 32, 3)), keras.layers.Conv2D(16, 3, strides=2, activation="relu", data_format="channels_last"),
        keras.layers.GlobalAveragePooling2D(data_format="channels_last"), keras.layers.Dense(classes),
    ])  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("validation")
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    train = open_loader(arguments.train, [T.RandomResizedCrop(32), T.RandomHorizontalFlip()], shuffle=True, drop_last=True, seed=7)
    validation = open_loader(arguments.validation, [T.Resize(36), T.CenterCrop(32)])
    history = make_model(len(train.dataset.classes)).fit(
        sluice.keras.feed(train, 1), validation_data=sluice.keras.feed(validation, 1), epochs=arguments.epochs,
        shuffle=False, verbose=0,
    ).history  # fmt: skip
    for epoch, (loss, accuracy) in enumerate(zip(history["loss"], history["val_accuracy"])):
        print(f"epoch {epoch}: loss {loss:.3f}, {100 * accuracy:.0f}% right")


if __name__ == "__main__":
    main()
