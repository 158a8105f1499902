"""Torchvision's ViT-L/16 with ten classes, trained with Adam: three steps, then two batches without gradients.

Without cuDNN: PyTorch 2.1 wants its version 8, of which there is no stand-in. It has one convolution.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse

import measured
import torch
from torch import nn
from torchvision.models import vit_l_16


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("batch", type=int)
    parser.add_argument("kind", choices=["float32", "float16, automatic", "bfloat16"])
    arguments = parser.parse_args()
    torch.backends.cudnn.enabled = False
    kind = torch.bfloat16 if arguments.kind == "bfloat16" else torch.float32
    with torch.device("cuda"):
        model = vit_l_16()
        model.heads.head = nn.Linear(1024, 10)
    model.to(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()  # the source's model comes from the host

    def predict():
        images = torch.zeros(arguments.batch, 3, 224, 224).to("cuda", kind)
        with torch.autocast("cuda", torch.float16, enabled="automatic" in arguments.kind):
            return model(images)

    for _ in range(3):
        model.train()
        logits = predict()
        targets = torch.zeros(arguments.batch, dtype=torch.long).to("cuda")
        loss = nn.functional.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            logits = predict()
    measured.say_most()


if __name__ == "__main__":
    main()
