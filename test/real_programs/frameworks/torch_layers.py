"""Layers of each kind in PyTorch, trained with mixed precision, AdamW and checkpoints of activations."""
# SPDX-License-Identifier: Apache-2.0
import torch
import torch_figures
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.1))
        self.up = nn.ConvTranspose2d(8, 4, 3)
        self.embedding = nn.Embedding(100, 32)
        self.attention = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.norm = nn.LayerNorm(32)
        self.linear = nn.Linear(4 * 17 * 17 + 32, 10)

    def forward(self, image, words):
        shape = self.up(checkpoint(self.conv, image, use_reentrant=False)).flatten(1)
        text = self.norm(self.attention(self.embedding(words))).mean(1)
        return self.linear(torch.cat([shape, text], 1))


def main():
    torch_figures.begin()
    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for step in range(3):
        image = torch.randn(16, 3, 32, 32, device="cuda")
        words = torch.randint(0, 100, (16, 20), device="cuda")
        target = torch.zeros(16, dtype=torch.long, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16 if step else torch.float16):
            loss = nn.functional.cross_entropy(net(image, words), target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(step, loss.item(), torch.cuda.memory_allocated())
    query = torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.float16, requires_grad=True)
    nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True).sum().backward()
    print(query.grad.shape, torch.cuda.max_memory_allocated())
    torch_figures.end()


if __name__ == "__main__":
    main()
