#!/usr/bin/env python3
"""Trains a GPT of 124 million parameters in bf16 with PyTorch; prints its losses and PyTorch's statistics.

With "times": only JSON lines with the times of steps and operations, for gpu-check.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import sys
import time

try:
    import torch
    import torch.nn.functional as functional
    from torch import nn
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("missing: a device that PyTorch can use")
    sys.exit(77)

WIDTH, LAYERS, HEADS, LENGTH, WORDS = 768, 12, 12, 512, 50304
KEYS = ("allocation.all.allocated", "allocated_bytes.all.peak", "reserved_bytes.all.peak", "num_ooms", "segment.all.peak")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.all, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        count, length, _ = x.shape
        parts = self.all(self.before(x)).view(count, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(count, length, WIDTH))
        return x + self.down(functional.gelu(self.up(self.between(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(steps):
    """(loss, seconds) of each step."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        words = torch.randint(0, 50000, (8, 257 + 64 * (step % 3)), generator=generator)
        words = words.pin_memory().cuda(non_blocking=True)
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            out = model(words[:, :-1])
            loss = functional.cross_entropy(out.flatten(0, 1).float(), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        yield loss.item(), time.perf_counter() - start


def say(what, unit, value):
    print(json.dumps({"what": what, "unit": unit, "value": value}))


def operations():
    square = torch.rand(512, 512, device="cuda")
    host = torch.rand(512, 512).pin_memory()
    layer = nn.Linear(512, 512).cuda()
    yield "add", lambda: square + square
    yield "matmul", lambda: square @ square
    yield "empty", lambda: torch.empty(1 << 20, device="cuda")
    yield "copy to the device", lambda: square.copy_(host, non_blocking=True)
    yield "event", lambda: torch.cuda.Event().record()
    yield "item", lambda: square[0, 0].item()
    yield "layer", lambda: layer(square)


def tell_times():
    steps = sorted(seconds for _, seconds in train(30))
    say("PyTorch: gpt, a step", "ms", steps[len(steps) // 2] * 1e3)
    for name, operation in operations():
        for _ in range(50):
            operation()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(1000):
            operation()
        torch.cuda.synchronize()
        say(f"PyTorch: {name}", "us", (time.perf_counter() - start) * 1e3)


def main():
    if sys.argv[1:] == ["times"]:
        return tell_times()
    for step, (loss, _) in enumerate(train(12)):
        print(f"step {step} loss {loss:.6f}", flush=True)
    statistics = torch.cuda.memory_stats()
    for key in KEYS:
        print(f"trained {key} {statistics.get(key, 0)}")


main()
