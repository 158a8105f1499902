"""A GPT of 124 million parameters, trained as each step of a public list of improvements has it: the number of the step."""
# SPDX-License-Identifier: Apache-2.0
import argparse

import measured
import torch
from torch import nn

LENGTH, WIDTH, HEADS, LAYERS, DROPOUT = 1024, 768, 12, 12, 0.1


class PlainNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean, variance = x.mean(dim=-1, keepdim=True), x.var(dim=-1, keepdim=True, unbiased=False)
        scaled = (x - mean) / torch.sqrt(variance + 1e-5)
        return self.scale * scaled + self.shift


class PlainGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(torch.sqrt(torch.tensor(2 / torch.pi)) * (x + 0.044715 * torch.pow(x, 3))))


class PlainAttention(nn.Module):
    def __init__(self, keeps_mask):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.out, self.dropout = nn.Linear(WIDTH, WIDTH), nn.Dropout(DROPOUT)
        self.keeps_mask = keeps_mask
        if keeps_mask:
            self.register_buffer("mask", torch.triu(torch.ones(LENGTH, LENGTH), diagonal=1))

    def forward(self, x):
        batch, length, _ = x.shape
        key, query, value = self.key(x), self.query(x), self.value(x)
        key, value, query = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in (key, value, query))
        scores = query @ key.transpose(2, 3)
        if self.keeps_mask:
            hidden = self.mask.bool()[:length, :length]
        else:
            hidden = torch.triu(torch.ones(length, length, dtype=torch.bool, device=x.device), diagonal=1)
        scores.masked_fill_(hidden, -torch.inf)
        weights = self.dropout(torch.softmax(scores / key.shape[-1] ** 0.5, dim=-1))
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))


class FlashAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        dropout = DROPOUT if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return self.out(mixed.transpose(1, 2).contiguous().view(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self, step):
        super().__init__()
        norm = nn.LayerNorm if step >= 6 else PlainNorm
        gelu = nn.GELU(approximate="tanh") if step >= 6 else PlainGelu()
        self.attention = FlashAttention() if step >= 7 else PlainAttention(step == 0)
        self.ff = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), gelu, nn.Linear(4 * WIDTH, WIDTH))
        self.norm1, self.norm2, self.dropout = norm(WIDTH), norm(WIDTH), nn.Dropout(DROPOUT)

    def forward(self, x):
        before = x
        x = self.norm1(x)
        x = self.attention(x)
        x = self.dropout(x)
        x = x + before
        before = x
        x = self.norm2(x)
        x = self.ff(x)
        x = self.dropout(x)
        return x + before


class Model(nn.Module):
    def __init__(self, step):
        super().__init__()
        words = 50304 if step >= 9 else 50257
        self.words, self.places, self.dropout = nn.Embedding(words, WIDTH), nn.Embedding(LENGTH, WIDTH), nn.Dropout(DROPOUT)
        self.blocks = nn.Sequential(*[Block(step) for _ in range(LAYERS)])
        self.norm = (nn.LayerNorm if step >= 6 else PlainNorm)(WIDTH)
        self.head = nn.Linear(WIDTH, words, bias=False)

    def forward(self, numbers):
        words = self.words(numbers)
        places = self.places(torch.arange(numbers.shape[1], device=numbers.device))
        x = words + places
        x = self.dropout(x)
        x = self.blocks(x)
        x = self.norm(x)
        return self.head(x)


def loss_of(model, batch):
    numbers, targets = batch.to("cuda"), batch.to("cuda")
    logits = model(numbers)
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        for batch in batches:
            loss_of(model, batch).item()
    model.train()


def generate(model, words):
    model.eval()
    numbers = torch.zeros(1, 4, dtype=torch.long, device="cuda")
    with torch.no_grad():
        for _ in range(words):
            logits = model(numbers)[:, -1, :]
            numbers = torch.cat((numbers, torch.argmax(logits, dim=-1, keepdim=True)), dim=1)
    model.train()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("step", type=int)
    step = parser.parse_args().step
    if step >= 2:
        torch.set_float32_matmul_precision("high")
    size = 32 if step >= 10 else 8
    model = Model(step)
    if step >= 8:
        model = torch.compile(model)
    model.to("cuda")
    if step >= 5:
        model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.1, fused=step >= 3)
    batch = torch.zeros(size, LENGTH, dtype=torch.long)
    for number in range(3):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        if number % 2 == 0:
            evaluate(model, [batch, batch])
    generate(model, 5)
    measured.say_most()


if __name__ == "__main__":
    main()
