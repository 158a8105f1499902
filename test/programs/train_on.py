#!/usr/bin/env python3
"""A training loop that calls the driver by ctypes, for those who watch: the pictures of `vramscope live` show it.

Usage: train_on.py STEPS PAUSE
Each layer takes PAUSE seconds. Amid the step after the last it prints "ready", and waits for its input to end.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import sys
import time

MIB = 1 << 20
CUDA = ctypes.CDLL("libcuda.so.1")


class Tensor:
    """Device memory that lives as long as the object."""

    pointer = None

    def __del__(self):
        CUDA.cuMemFree_v2(self.pointer)


def zeros(mib):
    tensor = Tensor()
    tensor.pointer = ctypes.c_uint64()
    if CUDA.cuMemAlloc_v2(ctypes.byref(tensor.pointer), ctypes.c_size_t(mib * MIB)) != 0:
        raise MemoryError(mib)
    return tensor


def pinned(mib):
    pointer = ctypes.c_void_p()
    if CUDA.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(mib * MIB), 0) != 0:
        raise MemoryError(mib)
    return pointer


class Layer:
    def __init__(self, mib, pause):
        self.mib = mib
        self.pause = pause
        self.weights = zeros(mib)
        self.gradient = None

    def forward(self, batch):
        time.sleep(self.pause)
        return zeros(batch * self.mib // 4)

    def backward(self):
        time.sleep(self.pause)
        self.gradient = zeros(self.mib)


class Adam:
    def __init__(self, layers):
        self.averages, self.squares = [], []
        for layer in layers:
            self.averages.append(zeros(layer.mib))
            self.squares.append(zeros(layer.mib))

    def step(self, layers):
        for layer in layers:
            layer.gradient = None


class Validation:
    """Runs each eighth step, and keeps what it drew."""

    def __init__(self):
        self.kept = []

    def run(self, step):
        if step % 8 == 0:
            logits = zeros(768)
            self.kept.append(zeros(24))
            del logits


def load_batch(batch):
    return zeros(16 * batch)


def train_step(layers, optimizer, images, amid=None):
    activations = [images]
    for layer in layers:
        activations.append(layer.forward(8))
    if amid:
        amid()
    for layer in reversed(layers):
        layer.backward()
        activations.pop()
    optimizer.step(layers)


def wait():
    print("ready", flush=True)
    sys.stdin.read()


def main(steps, pause):
    context = ctypes.c_void_p()
    CUDA.cuInit(0)
    CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    CUDA.cuCtxSetCurrent(context)
    staging = pinned(64)
    layers = []
    for mib in (256, 128, 128, 512):
        layers.append(Layer(mib, pause))
    optimizer = Adam(layers)
    validation = Validation()
    for step in range(steps + 1):
        train_step(layers, optimizer, load_batch(8), wait if step == steps else None)
        validation.run(step)
    CUDA.cuMemFreeHost(staging)


main(int(sys.argv[1]), float(sys.argv[2]))
