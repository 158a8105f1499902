# Writes a small model that llama.cpp loads: one layer, 259 tokens, weights without a meaning.
# SPDX-License-Identifier: Apache-2.0
"""tiny_model.py FILE"""
import random
import struct
import sys

EMBEDDING, FEED_FORWARD, HEADS, CONTEXT = 256, 512, 4, 256
ALIGNMENT = 32
U32, F32, STRING, ARRAY = 4, 6, 8, 9  # kinds of values, as the format (GGUF 3) numbers them
I32 = 5

TOKENS = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
KINDS = [2, 3, 3] + [6] * 256  # unknown, control, bytes

METADATA = [
    ("general.architecture", STRING, "llama"),
    ("llama.context_length", U32, CONTEXT),
    ("llama.embedding_length", U32, EMBEDDING),
    ("llama.block_count", U32, 1),
    ("llama.feed_forward_length", U32, FEED_FORWARD),
    ("llama.attention.head_count", U32, HEADS),
    ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
    ("llama.rope.dimension_count", U32, EMBEDDING // HEADS),
    ("tokenizer.ggml.model", STRING, "llama"),
    ("tokenizer.ggml.tokens", (ARRAY, STRING), TOKENS),
    ("tokenizer.ggml.scores", (ARRAY, F32), [0.0] * len(TOKENS)),
    ("tokenizer.ggml.token_type", (ARRAY, I32), KINDS),
    ("tokenizer.ggml.bos_token_id", U32, 1),
    ("tokenizer.ggml.eos_token_id", U32, 2),
]

TENSORS = {  # name: how many columns and rows
    "token_embd.weight": (EMBEDDING, len(TOKENS)),
    "output_norm.weight": (EMBEDDING,),
    "output.weight": (EMBEDDING, len(TOKENS)),
    "blk.0.attn_norm.weight": (EMBEDDING,),
    "blk.0.attn_q.weight": (EMBEDDING, EMBEDDING),
    "blk.0.attn_k.weight": (EMBEDDING, EMBEDDING),
    "blk.0.attn_v.weight": (EMBEDDING, EMBEDDING),
    "blk.0.attn_output.weight": (EMBEDDING, EMBEDDING),
    "blk.0.ffn_norm.weight": (EMBEDDING,),
    "blk.0.ffn_gate.weight": (EMBEDDING, FEED_FORWARD),
    "blk.0.ffn_up.weight": (EMBEDDING, FEED_FORWARD),
    "blk.0.ffn_down.weight": (FEED_FORWARD, EMBEDDING),
}


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def scalar(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f"}[kind], value)


def entry(name, kind, value):
    if isinstance(kind, int):
        return text(name) + struct.pack("<I", kind) + scalar(kind, value)
    items = b"".join(scalar(kind[1], item) for item in value)
    return text(name) + struct.pack("<IIQ", *kind, len(value)) + items


def size(shape):
    count = 4
    for length in shape:
        count *= length
    return count


def padding(length):
    return b"\0" * (-length % ALIGNMENT)


def main():
    random.seed(18)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), len(METADATA))
    head += b"".join(entry(*row) for row in METADATA)
    offset = 0
    for name, shape in TENSORS.items():
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
        offset += size(shape)
    with open(sys.argv[1], "wb") as file:
        file.write(head + padding(len(head)))
        for shape in TENSORS.values():
            values = [random.uniform(-0.05, 0.05) for _ in range(size(shape) // 4)]
            file.write(struct.pack(f"<{len(values)}f", *values))


main()
