"""Writes corpus/config, corpus/overrides and corpus/checkpoint: what is right (right_*) and what is wrong (broken_*).

Run by hand after a change.
"""

import json
import struct
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"
MASK = (1 << 64) - 1
PRIME = 0x100000001B3

CONFIG = {
    "right_empty": "",
    "right_tables": "[data]\nsrc = 'a.en'\ntgt = ['a.de', \"b.de\"]\n[train]\nmax_steps = 1_000\nlearning_rate = 3e-4\n",
    "right_dotted": "train.seed = 7\nmodel.dropout = 0\nsave.out = 'model'\ntext.joint = false\n",
    "right_short": "max_epochs = 3\nbeam = 4\nmetric = 'chrf'\n",
    "right_inline": "data = {src = 'a', tgt = 'b'}\nsave = {out = 'm', keep = 5}\n",
    "right_text": "save.out = \"\"\"a\n\\u00e9 \\\\ \\\" '''\"\"\"\ndata.src = ['한국어', \"\\t\\u0001\", '']\n",
    "right_limits": "train.clip = 1e9\ntrain.eps = 1e-30\ntrain.seed = 9000000000000000\nmodel.dropout = -1\n",
    "right_lm": "task = 'lm'\n[data]\ntext = ['a', 'b']\n[model]\nbias = false\ncontext = 64\n[save]\nout = 'm'\n",
    "right_pixels": "task = 'pixels'\n[data]\nimages = 'a'\nlabels = ['l']\nclasses = ['coat', '가방']\nlevels = 8\nsize = 14\n",
    "broken_levels": "task = 'pixels'\ndata.levels = 257\n",
    "broken_task": "task = 'ml'\n",
    "broken_task_table": "[task]\nlm = 1\n",
    "broken_other_task": "task = 'lm'\nmodel.encoder_layers = 3\n",
    "broken_unknown": "[train]\nmax_step = 3\n",
    "broken_type": "[train]\nmax_steps = 'many'\n",
    "broken_range": "train.smoothing = 2\n",
    "broken_large": "train.clip = 9223372036854775807\n",
    "broken_choice": "train.optimizer = 'adamm'\n",
    "broken_nan": "train.clip = nan\ntrain.eps = -inf\n",
    "broken_toml": "[train\nmax_steps 3\n",
    "broken_twice": "seed = 1\nseed = 2\n",
    "broken_date": "save.out = 1979-05-27T07:32:00Z\n",
    "broken_nesting": "data.src = " + "[" * 60 + "]" * 60 + "\n",
    "broken_table": "[train.max_steps]\nx = 1\n[[data]]\nsrc = 1\n",
    "broken_utf8": b"save.out = '\xff\xc3'\n",
    "broken_key_lines": "\"a\\nb\\u0000\" = 1\n",
}

OVERRIDES = {
    "right_number": "train.max_steps=100",
    "right_short": "learning_rate=3e-4",
    "right_text": "save.out=my model",
    "right_quoted": "out='quoted'",
    "right_equals": "out=a=b",
    "right_list": "src=['a', \"b\"]",
    "right_name": "data.tgt=a.de",
    "right_flag": "text.joint=false",
    "right_comment": "seed=3 # three",
    "right_lines": "seed=3\nvalue2 = 4",
    "broken_no_value": "max_steps",
    "broken_no_key": "=3",
    "broken_empty": "max_steps=",
    "broken_type": "max_steps=ten",
    "broken_key": "trian.seed=1",
    "broken_table": "seed={a = 1}",
    "broken_lines": "seed=\n[x]\n",
    "broken_utf8": b"out=\xff\xfe",
    "broken_large": "clip=9223372036854775807",
}


def fingerprint(data, start):
    value = start
    for at in range(0, len(data) - len(data) % 8, 8):
        value = (value ^ int.from_bytes(data[at:at + 8], "little")) * PRIME & MASK
        value ^= value >> 29
    for byte in data[len(data) - len(data) % 8:]:
        value = (value ^ byte) * PRIME & MASK
    return value


STATE = {"batch": 5, "best": -0.25, "best_step": 6, "epoch": 2, "metrics_bytes": 9, "seconds": 1.5, "skipped": 1, "bad_steps": 0,
         "step": 7, "tokens": 100, "validated_step": 6, "validations_since_best": 0, "best_loss": 0.25, "best_due": -0.25,
         "lowest_loss": 0.25}


def checkpoint(names=("weights", "moment1", "moment2"), identity="corpus", size=3, wrong_print=False, text=None, **changes):
    state = {**STATE, **changes}
    state = {key: value for key, value in state.items() if value is not ...}
    text = json.dumps(state, separators=(",", ":")) if text is None else text
    arrays = [struct.pack(f"<{size}f", *(i + 1 for i in range(size))) for _ in names]
    value = fingerprint(text.encode(), 0xCBF29CE484222325)
    for array in arrays:
        value = fingerprint(array, value)
    header = {"__metadata__": {"heed.state": text, "heed.identity": identity, "heed.fingerprint": f"{value ^ wrong_print:016x}"}}
    for i, name in enumerate(names):
        header[name] = {"dtype": "F32", "shape": [size], "data_offsets": [i * 4 * size, (i + 1) * 4 * size]}
    header = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(header)) + header + b"".join(arrays)


CHECKPOINT = {
    "right_plain": checkpoint(),
    "right_average": checkpoint(("weights", "moment1", "moment2", "average")),
    "broken_print": checkpoint(wrong_print=True),
    "broken_identity": checkpoint(identity="other"),
    "broken_size": checkpoint(size=4),
    "broken_moment": checkpoint(("weights", "moment1")),
    "broken_no_json": checkpoint(text="{"),
    "broken_list": checkpoint(text="[1,2]"),
    "broken_missing": checkpoint(batch=...),
    "broken_text": checkpoint(step="7"),
    "broken_null": checkpoint(best=None),
    "broken_negative": checkpoint(batch=-1),
    "broken_skipped": checkpoint(skipped=8),
    "broken_bad_steps": checkpoint(bad_steps=2),
    "broken_large": checkpoint(step=(1 << 64) - 1),
    "broken_cut": checkpoint()[:-1],
    "broken_no_state": struct.pack("<Q", 2) + b"{}",
}

for name, files in {"config": CONFIG, "overrides": OVERRIDES, "checkpoint": CHECKPOINT}.items():
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for file, content in files.items():
        (folder / file).write_bytes(content.encode() if isinstance(content, str) else content)
