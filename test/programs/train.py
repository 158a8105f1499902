#!/usr/bin/env python3
"""A training loop that calls the driver by ctypes, as a framework's Python code would cause it to."""
# SPDX-License-Identifier: Apache-2.0
import ctypes

MIB = 1 << 20
CUDA = ctypes.CDLL("libcuda.so.1")


class Tensor:
    """Device memory that lives as long as the object."""

    pointer = None

    def __del__(self):
        CUDA.cuMemFree_v2(self.pointer)


def zeros(size):
    tensor = Tensor()
    tensor.pointer = ctypes.c_uint64()
    if CUDA.cuMemAlloc_v2(ctypes.byref(tensor.pointer), ctypes.c_size_t(size)) != 0:
        raise MemoryError(size)
    return tensor


class Layer:
    def __init__(self, size):
        self.size = size
        self.weights = zeros(size)
        self.gradient = None

    def forward(self, batch):
        return zeros(batch * MIB)

    def backward(self):
        self.gradient = zeros(self.size)


class Adam:
    def __init__(self, layers):
        self.moments = [zeros(2 * layer.size) for layer in layers]

    def step(self, layers):
        scratch = zeros(MIB)
        for layer in layers:
            layer.gradient = None
        return scratch


def load_batches(steps, batch):
    for _ in range(steps):
        yield zeros(batch * MIB)


def log_loss(history):
    history.append(zeros(6 * 1024))  # kept for ever


def train_step(layers, optimizer, images, history):
    activations = [layer.forward(4) for layer in layers]
    for layer in reversed(layers):
        layer.backward()
        activations.pop()
    optimizer.step(layers)
    log_loss(history)


def start():
    context = ctypes.c_void_p()
    CUDA.cuInit(0)
    CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    CUDA.cuCtxSetCurrent(context)


def main():
    start()
    layers = [Layer(size * MIB) for size in (16, 32, 8)]
    optimizer = Adam(layers)
    history = []
    for images in load_batches(steps=4, batch=3):
        train_step(layers, optimizer, images, history)
    return history


HISTORY = main()
