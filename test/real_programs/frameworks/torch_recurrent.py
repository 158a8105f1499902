"""LSTM, GRU and a plain recurrent network, whose weights cuDNN lays out."""
# SPDX-License-Identifier: Apache-2.0
import torch
import torch_figures
from torch import nn


def main():
    torch_figures.begin()
    sequence = torch.randn(12, 4, 16, device="cuda", requires_grad=True)
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for settings in ({}, {"bidirectional": True, "num_layers": 2, "dropout": 0.2}):
            net = kind(16, 24, **settings).cuda()
            output, _ = net(sequence)
            output.sum().backward()
            print(kind.__name__, tuple(output.shape), sum(p.numel() for p in net.parameters()))
    packed = nn.utils.rnn.pack_padded_sequence(sequence, [12, 9, 5, 1])
    output, _ = nn.LSTM(16, 24).cuda()(packed)
    print(tuple(output.data.shape), torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
    torch_figures.end()


if __name__ == "__main__":
    main()
