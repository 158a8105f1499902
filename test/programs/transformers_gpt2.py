#!/usr/bin/env python3
"""Generates with a small GPT-2 of transformers and trains it; its weights are random, so nothing is fetched."""
# SPDX-License-Identifier: Apache-2.0
import sys

try:
    import torch
    import transformers
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("missing: a device that PyTorch can use")
    sys.exit(77)


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    print("transformers", transformers.__version__)
    settings = transformers.GPT2Config(n_layer=4, n_head=8, n_embd=512, vocab_size=8192, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(settings).cuda()
    words = torch.arange(1, 33, device="cuda").reshape(2, 16)
    made = model.generate(words, max_new_tokens=32, do_sample=False, pad_token_id=0)
    print("generated", made.shape[0], made[0, -8:].tolist())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(8):
        loss = model(words, labels=words).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.5f}")


main()
