"""OctoCoder by its public configuration, without its weights: a prompt of 23 tokens, and 60 more.

The loop is written out: transformers' generate() asks a kernel whether it is done.
"""
# SPDX-License-Identifier: Apache-2.0
import measured
import torch
from transformers import AutoModelForCausalLM, GPTBigCodeConfig


def main():
    config = GPTBigCodeConfig(vocab_size=49152, n_positions=8192, n_embd=6144, n_layer=40, n_head=48, n_inner=24576,
                              multi_query=True, activation_function="gelu", attention_softmax_in_fp32=True,
                              scale_attention_softmax_in_fp32=True, pad_token_id=0, bos_token_id=0, eos_token_id=0)  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config).eval()
    torch.cuda.reset_peak_memory_stats()  # the source's weights came from files
    words, cache = torch.zeros(1, 23, dtype=torch.long, device="cuda"), None
    with torch.no_grad():
        for _ in range(60):
            said = model(words, past_key_values=cache, use_cache=True)
            words, cache = torch.zeros(1, 1, dtype=torch.long, device="cuda"), said.past_key_values
    measured.say_most()


if __name__ == "__main__":
    main()
