#!/usr/bin/env python3
"""Runs jitted steps with JAX, without the pool that it otherwise takes at once."""
# SPDX-License-Identifier: Apache-2.0
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")
try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(77)
try:
    device = jax.devices("gpu")[0]
except RuntimeError as error:
    print(f"missing: {str(error).splitlines()[0]}")
    sys.exit(77)


@jax.jit
def step(weights, batch):
    def loss(w):
        return jnp.mean((jnp.tanh(batch @ w) - batch) ** 2)

    value, slope = jax.value_and_grad(loss)(weights)
    return value, weights - 0.1 * slope


def main():
    print("jax", jax.__version__)
    weights = jax.device_put(jnp.eye(1024) * 0.5, device)
    for number in range(10):
        batch = jax.random.normal(jax.random.PRNGKey(number), (256 + 64 * (number % 3), 1024))
        value, weights = step(weights, batch)
        print(f"step {number} loss {float(value):.4f}")
    try:
        jnp.zeros((1 << 44,), dtype=jnp.uint8).block_until_ready()
    except Exception as error:  # noqa: BLE001 - its type differs between versions
        print("refused:", "RESOURCE_EXHAUSTED" in str(error) or "memory" in str(error).lower())


main()
