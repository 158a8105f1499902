"""Cross entropy over a vocabulary of 256,000 words, as Gemma 2 has it: matrix, soft cap, float32, loss."""
# SPDX-License-Identifier: Apache-2.0
import measured
import torch
from torch import nn

TOKENS, WIDTH, WORDS, CAP = 8192, 2304, 256_000, 30


def most_of(call):
    """Bytes that the call had in use above what was there before."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = call()
    torch.cuda.synchronize()
    return result, torch.cuda.max_memory_allocated() - before


def main():
    states = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    words = torch.randn(WORDS, WIDTH, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    targets = torch.zeros(TOKENS, device="cuda", dtype=torch.long)
    torch.matmul(states[:16], states[:16].T)  # cuBLAS takes its workspace

    def forward():
        logits = states @ words.T
        logits = torch.tanh(logits / CAP) * CAP
        return nn.functional.cross_entropy(logits.float(), targets)

    loss, bytes_ = most_of(forward)
    measured.say("forward", bytes_)
    measured.say("backward", most_of(loss.backward)[1])
    del loss
    states.grad = words.grad = None
    measured.say("both", most_of(lambda: forward().backward())[1])


if __name__ == "__main__":
    main()
