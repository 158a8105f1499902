"""Public figures of memory that was measured on real GPUs, and how check_figures.py measures the same without one."""
# SPDX-License-Identifier: Apache-2.0
import dataclasses
from typing import NamedTuple

import framework_list

UNITS = {"GiB": 2**30, "GB": 10**9, "MiB": 2**20}


def packages(folder, gigabytes, *names):
    return framework_list.Framework("public figures", folder, list(names), gigabytes, "torch", "", [])


# PyTorch 2.1 is what the figures of 2023 were measured with: later ones keep less for the backward pass of attention.
NEW = packages("figures", 2.6, "torch==2.11.0", "transformers==5.24.0", "numpy", "setuptools")
OLD = packages("figures-2.1", 2.3, "torch==2.1.0", "torchvision==0.16.0", "numpy<2")


class Source(NamedTuple):
    """Where a figure stands, and with what it was measured."""

    title: str
    address: str
    gpu: str
    software: str
    packages: framework_list.Framework = NEW  # with which the same is measured here


@dataclasses.dataclass
class Figure:
    name: str  # as the script prints it, before its bytes
    what: str
    measured: float
    unit: str
    source: Source
    script: str  # in public_figures/
    arguments: list
    device: str  # of `run --sim-device`
    why: str = ""  # the figure is outside the tolerance, for this reason, which the page explains
    within: float = 2.0  # percent


STEPS = Source("PyTorch Performance Tips for Faster LLM Training (rasbt/LLMs-from-scratch)",
               "https://github.com/rasbt/LLMs-from-scratch/tree/main/ch05/10_llm-training-speed", "A100", "PyTorch 2.6.0")  # fmt: skip
VISION = Source("Optimizing PyTorch Memory Usage (rasbt/pytorch-memory-optim, logs.md)",
                "https://github.com/rasbt/pytorch-memory-optim", "not named", "PyTorch 2.1 of 2023-06-23", OLD)  # fmt: skip
VOCABULARY = Source("Cut Your Losses in Large-Vocabulary Language Models (apple/ml-cross-entropy)",
                    "https://github.com/apple/ml-cross-entropy", "A100 SXM4 80 GB", "PyTorch 2.4.1")  # fmt: skip
CODE = Source("Optimizing LLMs for Speed and Memory (transformers' documentation)",
              "https://huggingface.co/docs/transformers/llm_tutorial_optimization", "A100", "not named")  # fmt: skip
BERT = Source("Efficient Training on a Single GPU (transformers' documentation)",
              "https://huggingface.co/docs/transformers/v4.21.0/perf_train_gpu_one", "V100 SXM2 16 GB", "PyTorch before 1.11, transformers 4")  # fmt: skip


def step(number, what, measured, **more):
    return Figure("reserved", f"GPT of 124 million parameters, training, {what}: reserved", measured, "GiB", STEPS,
                  "gpt_training", [str(number)], "a100", **more)  # fmt: skip


def vision(batch, kind, measured, **more):
    return Figure("max_reserved", f"ViT-L/16, training, batches of {batch}, {kind}: most reserved", measured, "GB", VISION,
                  "vision_training", [str(batch), kind], "a100", **more)  # fmt: skip


def vocabulary(name, what, measured):
    return Figure(name, f"cross entropy over Gemma 2's vocabulary, 8,192 tokens, {what}: most allocated", measured, "MiB",
                  VOCABULARY, "large_vocabulary", [], "a100")  # fmt: skip


def bert(what, used, arguments, **more):
    """The source says how much was used before the model came: 1,343 MiB."""
    return Figure("above_context", f"BERT-large, training, {what}: used, without the context", used - 1343, "MiB", BERT,
                  "bert_training", arguments, "a100", **more)  # fmt: skip


FIGURES = [
    step(0, "as in a book, batches of 8", 26.2617),
    step(1, "causal mask made as needed", 26.2422),
    step(5, "bfloat16", 13.7871),
    step(6, "PyTorch's LayerNorm and GELU", 11.5645),
    step(7, "FlashAttention", 5.9004),
    step(8, "torch.compile", 6.1875, why="padding", within=6),
    step(9, "a vocabulary of 50,304", 5.8906),
    step(10, "batches of 32", 22.5078),
    vision(64, "float32", 26.79),
    vision(64, "float16, automatic", 18.21),
    vision(64, "bfloat16", 13.82),
    vision(16, "bfloat16", 5.69),
    vocabulary("forward", "forward", 24000.0),
    vocabulary("backward", "backward", 16000.0),
    vocabulary("both", "both", 28000.0),
    Figure("max_allocated", "OctoCoder (15.5 billion parameters), bfloat16, 60 tokens: most allocated", 29.0260648727417, "GiB",
           CODE, "code_generation", [], "a100"),
    bert("batches of 4, float32", 14949, ["4", "1"]),
    bert("batches of 1, 4 accumulated", 8681, ["1", "4"]),
    bert("the same with checkpoints", 6775, ["1", "4", "--checkpoints"]),
    bert("batches of 4, float16, automatic", 13939, ["4", "1", "--half"], why="not found", within=4),
    bert("batches of 1, 4 accumulated, checkpoints, float16", 7275, ["1", "4", "--checkpoints", "--half"]),
]  # fmt: skip
