#!/usr/bin/env python3
"""A training loop that calls the driver by ctypes, as a framework's Python code would cause it to."""
# SPDX-License-Identifier: Apache-2.0
import ctypes

MIB = 1 << 20
STEPS = 4


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} failed with {code}")


class Tensor:
    """Device memory that lives as long as the object."""

    def __init__(self, driver, size):
        self.driver, self.pointer = driver, ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(size))

    def __del__(self):
        self.driver.call("cuMemFree_v2", self.pointer)


class Layer:
    def __init__(self, driver, size):
        self.driver, self.size = driver, size
        self.weights = Tensor(driver, size)
        self.gradient = None

    def forward(self, batch):
        return Tensor(self.driver, batch * MIB)

    def backward(self):
        self.gradient = Tensor(self.driver, self.size)


class Adam:
    def __init__(self, layers):
        self.moments = [[Tensor(layer.driver, layer.size) for _ in range(2)] for layer in layers]

    def step(self, layers):
        scratch = Tensor(layers[0].driver, MIB)
        for layer in layers:
            layer.gradient = None
        return scratch


def load_batches(driver, batch):
    for _ in range(STEPS):
        yield Tensor(driver, batch * MIB)


def log_loss(driver, history):
    history.append(Tensor(driver, 6 * 1024))  # kept for ever


def train_step(driver, layers, optimizer, images, history):
    activations = [layer.forward(4) for layer in layers]
    for layer in reversed(layers):
        layer.backward()
        activations.pop()
    optimizer.step(layers)
    log_loss(driver, history)


def main():
    driver = Driver()
    layers = [Layer(driver, size * MIB) for size in (16, 32, 8)]
    optimizer = Adam(layers)
    history = []
    for images in load_batches(driver, batch=3):
        train_step(driver, layers, optimizer, images, history)
    print("trained", STEPS, "steps")
    return history


HISTORY = main()
