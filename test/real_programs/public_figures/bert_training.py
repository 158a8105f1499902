"""BERT-large by its public configuration, as transformers' Trainer trained it at the beginning of 2022.

Attention without fused kernels, an optimizer that walks through the parameters one by one, and gradients that are
set to zero and kept, as was the default. PyTorch before 1.11 kept the input of each softmax until the backward pass
(its pull request 65242 ended that); KeepsInput does the same.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse

import measured
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

LENGTH = 512


class KeepsInput(torch.autograd.Function):
    @staticmethod
    def forward(context, scores):
        context.save_for_backward(scores)
        return scores.view_as(scores)

    @staticmethod
    def backward(context, gradient):
        return gradient


def keep_inputs_of_softmax():
    softmax = nn.functional.softmax

    def keeping(scores, dim=None, _stacklevel=3, dtype=None):
        scores = scores.float() if torch.is_autocast_enabled("cuda") else scores
        return softmax(KeepsInput.apply(scores), dim=dim, dtype=dtype)

    nn.functional.softmax = keeping


def train(model, batch, accumulated, is_half):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, foreach=False)
    scaler = torch.amp.GradScaler("cuda", enabled=is_half)
    model.train()
    for _ in range(2):
        for _ in range(accumulated):
            words = torch.zeros(batch, LENGTH, dtype=torch.long, device="cuda")
            labels = torch.zeros(batch, dtype=torch.long, device="cuda")
            with torch.autocast("cuda", torch.float16, enabled=is_half):
                loss = model(input_ids=words, labels=labels).loss / accumulated
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        scaler.step(optimizer)
        scaler.update()
        model.zero_grad(set_to_none=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("batch", type=int)
    parser.add_argument("accumulated", type=int)
    parser.add_argument("--checkpoints", action="store_true")
    parser.add_argument("--half", action="store_true")
    arguments = parser.parse_args()
    torch.ones((1, 1)).to("cuda")
    context = measured.used_of_device()
    config = BertConfig(vocab_size=30522, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    config._attn_implementation = "eager"
    keep_inputs_of_softmax()
    with torch.device("cuda"):
        model = BertForSequenceClassification(config)
    torch.cuda.empty_cache()
    if arguments.checkpoints:
        model.gradient_checkpointing_enable()
    train(model, arguments.batch, arguments.accumulated, arguments.half)
    measured.say("above_context", measured.used_of_device() - context)
    measured.say_most()


if __name__ == "__main__":
    main()
