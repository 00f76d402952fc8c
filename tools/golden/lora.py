"""Adapters (LoRA) of GPT-2 and LLaMA, both ways.

    lora.py                  makes tests/golden/lora/: adapters that PEFT wrote beside directories of decoders/, with what
                             they compute
    lora.py check [ADAPTER]  an adapter that heed wrote, opened by PEFT: logits, apart and merged. Without a name: one of
                             random numbers beside every golden directory

The check asks heed's own side for its numbers: `ninja -C build golden_decoders`.
"""

import copy
import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

from common import OUT, Values
from decoders import MODELS, check_logits, expected, heed

ADAPTERS = {
    "gpt2": ("gpt2", dict(r=3, lora_alpha=5, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)),
    "gpt2_attention": ("gpt2_untied", dict(r=2, lora_alpha=4, target_modules=["attn.c_proj", "c_attn"], fan_in_fan_out=True)),
    "llama": ("llama", dict(r=2, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"])),
    "llama_root": ("llama_biases", dict(r=4, lora_alpha=3, target_modules="all-linear", use_rslora=True)),
}


def base_model(folder, kind):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=kind, attn_implementation="eager")


def save(model, folder, base):
    """As PEFT writes it, but for a path that holds anywhere and an order that stays."""
    stored = copy.deepcopy(model).float()
    stored.peft_config["default"].base_model_name_or_path = f"../../decoders/{base}"
    stored.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink()
    config = json.loads((folder / "adapter_config.json").read_text())
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def make():
    shutil.rmtree(OUT / "lora", ignore_errors=True)
    for seed, (name, (base, settings)) in enumerate(ADAPTERS.items(), 401):
        folder, values = OUT / "lora" / name, Values(seed)
        config = LoraConfig(task_type="CAUSAL_LM", **settings)
        model = get_peft_model(base_model(OUT / "decoders" / base, torch.float64), config).double().train()
        adapted = {n: p for n, p in model.named_parameters() if p.requires_grad}
        with torch.no_grad():
            for parameter in adapted.values():
                parameter.copy_(values.normal(*parameter.shape, scale=0.3))
        save(model, folder, base)
        gradients = {n.replace(".default", ""): p for n, p in adapted.items()}
        expected(f"lora/{name}", model, values, gradients)


def check_adapter(folder):
    base = json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of keys that are missing or unexpected
        model = PeftModel.from_pretrained(base_model(base, torch.float32), folder).eval()
    wrong = check_logits(folder, model)
    return wrong + check_logits(folder, model.merge_and_unload())


def check(folder=None):
    if folder:
        return 1 if check_adapter(Path(folder)) else 0
    wrong = 0
    for name in MODELS:
        with tempfile.TemporaryDirectory() as there:
            adapter = Path(there) / name
            adapter.mkdir()
            heed("golden_decoders", OUT / "decoders" / name, adapter, "4")
            wrong += check_adapter(adapter)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(check(*sys.argv[2:]) if sys.argv[1:2] == ["check"] else make())
