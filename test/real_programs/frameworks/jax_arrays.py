"""JAX: compiled functions, gradients and convolutions, with the share of the device that it takes at once or as
it needs memory."""
# SPDX-License-Identifier: Apache-2.0
import figures
import jax
import jax.numpy as jnp


def loss(weights, batch):
    hidden = jax.nn.relu(batch @ weights["first"])
    return (hidden @ weights["second"]).mean()


def main():
    device = jax.devices()[0]
    print(device.platform, device.device_kind)
    key = jax.random.key(0)
    weights = {"first": jax.random.normal(key, (64, 128)), "second": jax.random.normal(key, (128, 8))}
    step = jax.jit(lambda w, b: jax.tree.map(lambda x, g: x - 0.1 * g, w, jax.grad(loss)(w, b)))
    for _ in range(3):
        weights = step(weights, jnp.ones((32, 64)))
    print([leaf.shape for leaf in jax.tree.leaves(weights)])
    image = jnp.ones((2, 3, 16, 16))
    print(jax.lax.conv(image, jnp.ones((4, 3, 3, 3)), (1, 1), "SAME").shape)
    print(jnp.linalg.svd(jnp.eye(16))[1].shape, jnp.fft.fft(jnp.ones(64)).shape)
    jax.block_until_ready(weights)
    live = sorted(array.nbytes for array in jax.live_arrays())
    stats = device.memory_stats()
    at_once = stats["pool_bytes"] == stats["bytes_limit"]
    used = [[leaf.unsafe_buffer_pointer(), leaf.nbytes] for leaf in [*jax.tree.leaves(weights), image]]
    figures.leave({"live": live, "limit": stats["bytes_limit"], "at_once": at_once},
                  [[None, stats["pool_bytes"]]] if at_once else [], used)  # fmt: skip


if __name__ == "__main__":
    main()
