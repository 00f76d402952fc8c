"""Writes corpus/language_tokenizers, corpus/shard_index and the published parts of corpus/model_config.

What is right is right_*, what is wrong broken_*. Run by hand after a change.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def letters():
    """GPT-2's alphabet: a letter for every byte."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in shown]
    return {chr(b) if b in shown else chr(256 + others.index(b)): b for b in range(256)}


VOCABULARY = {**letters(), "th": 256, "the": 257, "\u0120the": 258, "<|endoftext|>": 259}
MERGES = ["t h", "th e", "\u0120 the"]
END = {"id": 259, "content": "<|endoftext|>", "special": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False}
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLIT = {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [259], "tokens": ["<|endoftext|>"]}},
}
CHARACTERS = {
    "model": {
        "type": "BPE",
        "byte_fallback": True,
        "vocab": {**{f"<0x{b:02X}>": b for b in range(256)}, "\u2581": 256, "a": 257, "\u2581a": 258, "<s>": 259},
        "merges": [["\u2581", "a"]],
    },
    "added_tokens": [{"id": 259, "content": "<s>", "special": True}],
}
LLAMA_NORMALIZER = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    ],
}


def byte_level(model=None, **parts):
    file = {
        "model": {"type": "BPE", "vocab": VOCABULARY, "merges": MERGES, **(model or {})},
        "pre_tokenizer": BYTE_LEVEL,
        "added_tokens": [END],
        **parts,
    }
    return "j" + json.dumps(file, ensure_ascii=False)


def steps(*list_of):
    return {"type": "Sequence", "pretokenizers": list(list_of)}


def gpt2(merges, vocabulary=VOCABULARY):
    return "m" + json.dumps(vocabulary, ensure_ascii=False) + "\0" + merges


def settings(config, added=None):
    return "t" + json.dumps(config) + ("" if added is None else "\0" + json.dumps(added))


def char(characters):
    head = {"type": "char", "version": 1, "eos": 0, "unk": 1, "first_character": 2}
    return "h" + json.dumps({**head, "characters": characters})


NO_REGEX = {**BYTE_LEVEL, "use_regex": False}
TOKENIZERS = {
    "right_byte_level": byte_level(),
    "right_whole_words": byte_level({"ignore_merges": True}, pre_tokenizer=steps(SPLIT, NO_REGEX)),
    "right_digits": byte_level(pre_tokenizer=steps({"type": "Digits", "individual_digits": True}, BYTE_LEVEL)),
    "right_nfc": byte_level(normalizer={"type": "NFC"}),
    "right_template": byte_level(post_processor={"type": "Sequence", "processors": [{"type": "ByteLevel"}, TEMPLATE]}),
    "right_characters": "j" + json.dumps({**CHARACTERS, "normalizer": LLAMA_NORMALIZER}),
    "right_metaspace": "j"
    + json.dumps({**CHARACTERS, "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first", "split": False}}),
    "broken_text": "jnonsense",
    "broken_list": "j[]",
    "broken_nested": 'j{"model":' + "[" * 3000,
    "broken_id_nested": 'j{"model":{"vocab":{"a":' + "[" * 3000 + "]" * 3000 + "}}}",
    "broken_wordpiece": byte_level({"type": "WordPiece"}),
    "broken_merge": byte_level({"merges": ["t"]}),
    "broken_merge_unknown": byte_level({"merges": ["q q"]}),
    "broken_letter": byte_level({"vocab": {"a": 0}, "merges": []}),
    "broken_hex": "j" + json.dumps({**CHARACTERS, "normalizer": LLAMA_NORMALIZER, "model": {**CHARACTERS["model"], "vocab": {"<0xZZ>": 0}}}),
    "broken_pattern": byte_level(pre_tokenizer=steps({**SPLIT, "pattern": {"Regex": "a+"}}, NO_REGEX)),
    "broken_pattern_number": byte_level(pre_tokenizer=steps({**SPLIT, "pattern": 3}, NO_REGEX)),
    "broken_steps": byte_level(pre_tokenizer=steps()),
    "broken_template_after": byte_level(post_processor={**TEMPLATE, "single": TEMPLATE["single"][::-1]}),
    "broken_template_id": byte_level(post_processor={**TEMPLATE, "special_tokens": {"<|endoftext|>": {"ids": [1 << 40]}}}),
    "broken_added": byte_level(added_tokens=[{"id": 1 << 27, "content": "<x>"}]),
    "broken_added_empty": byte_level(added_tokens=[{"id": 1, "content": ""}]),
    "broken_scheme": "j" + json.dumps({**CHARACTERS, "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": 3, "split": False}}),
    "right_merges": gpt2("#version: 0.2\nt h\r\nth e\n\n\u0120 the\n"),
    "broken_merges_line": gpt2("t h e\nth\n"),
    "broken_merges_vocabulary": "m[]\0t h\n",
    "right_settings": settings({"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True, "bos_token": "<s>"}),
    "right_added": settings({"added_tokens_decoder": {"5": {"content": "<pad>", "special": True}}}, {"<x>": 6}),
    "broken_class": settings({"tokenizer_class": "T5Tokenizer"}),
    "broken_flag": settings({"legacy": "no"}),
    "broken_eos": settings({"add_eos_token": True}),
    "broken_added_far": settings({}, {"<x>": 99999999}),
    "broken_added_name": settings({"added_tokens_decoder": {"x": {"content": "<pad>"}}}),
    "broken_spm": "l\x0a",
    "right_char": char(["\n", " ", "a", "\ud55c"]),
    "broken_char_twice": char(["a", "a"]),
    "broken_char_two": char(["ab"]),
    "broken_char_number": char([7]),
    "broken_char_version": "h" + json.dumps({"type": "char", "version": 2}),
    "broken_char_list": "h[" * 3000,
}

INDEX = {
    "right_two": {"metadata": {"total_size": 8}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}},
    "broken_empty": {"weight_map": {}},
    "broken_no_map": {"metadata": {}},
    "broken_list": {"weight_map": ["a"]},
    "broken_number": {"weight_map": {"a": 1}},
    "broken_parent": {"weight_map": {"a": "../model.safetensors"}},
    "broken_absolute": {"weight_map": {"a": "/etc/model.safetensors"}},
    "broken_hidden": {"weight_map": {"a": ".safetensors"}},
    "broken_zero": {"weight_map": {"a": "m\0.safetensors"}},
    "broken_kind": {"weight_map": {"a": "pytorch_model.bin"}},
    "broken_lines": {"weight_map": {"a\nb": "m\n.bin"}},
}

GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 24, "n_embd": 32, "n_layer": 2, "n_head": 4, "eos_token_id": 0}
LLAMA = {"model_type": "llama", "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 24, "eos_token_id": [1, 2]}  # fmt: skip
LLAMA3_ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 16}  # fmt: skip
CONFIGS = {
    "right_gpt2": GPT2,
    "right_llama": {**LLAMA, "rope_scaling": LLAMA3_ROPE, "head_dim": 12, "num_key_value_heads": 2, "attention_bias": True},
    "right_llama_5": {**LLAMA, "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 500000.0}},
    "right_qwen2": {**LLAMA, "model_type": "qwen2", "num_key_value_heads": 2, "sliding_window": 16},
    "right_mistral": {**LLAMA, "model_type": "mistral", "num_key_value_heads": 2, "sliding_window": None},
    "broken_llama_yarn": {**LLAMA, "rope_scaling": {"type": "yarn", "factor": 2.0}},
    "broken_llama_nested": {**LLAMA, "rope_parameters": {"full_attention": {"rope_type": "default"}}},
    "broken_llama_heads": {**LLAMA, "num_attention_heads": 9000000000000000, "head_dim": 9000000000000000},
    "broken_mistral_window": {**LLAMA, "model_type": "mistral", "max_position_embeddings": 8192, "num_key_value_heads": 2},
    "broken_gpt2_inner": {**GPT2, "n_inner": -1},
    "broken_gpt2_cross": {**GPT2, "add_cross_attention": True},
    "broken_quantized": {**GPT2, "quantization_config": {"bits": 4}},
}

for name, files in {"language_tokenizers": TOKENIZERS, "shard_index": INDEX, "model_config": CONFIGS}.items():
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (folder / file).write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
