"""transformers: a tiny model made on the spot, trained by its Trainer, and asked for words."""
# SPDX-License-Identifier: Apache-2.0
import tempfile

import torch
import torch_figures
from transformers import LlamaConfig, LlamaForCausalLM, PrinterCallback, Trainer, TrainingArguments


def main():
    torch_figures.begin()
    config = LlamaConfig(vocab_size=200, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                         num_attention_heads=4, max_position_embeddings=128)  # fmt: skip
    model = LlamaForCausalLM(config)
    words = [{"input_ids": torch.arange(32), "labels": torch.arange(32)} for _ in range(16)]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(folder, max_steps=3, per_device_train_batch_size=4, report_to=[], bf16=True,
                                     save_strategy="no", disable_tqdm=True, logging_strategy="no")  # fmt: skip
        trainer = Trainer(model=model, args=settings, train_dataset=words)
        trainer.remove_callback(PrinterCallback)  # it prints times
        print(trainer.train().global_step)
    model.eval()
    said = model.generate(torch.zeros(1, 4, dtype=torch.long, device="cuda"), max_new_tokens=8, do_sample=False,
                          pad_token_id=0, attention_mask=torch.ones(1, 4, dtype=torch.long, device="cuda"))  # fmt: skip
    print(said.shape[0], torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
    torch_figures.end()


if __name__ == "__main__":
    main()
