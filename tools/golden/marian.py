"""Marian's model directories, both ways.

    marian.py                      makes tests/golden/marian/: directories that transformers wrote, and one that heed did, with
                                   what transformers computes of each
    marian.py check MODEL [TEXT]   a directory that heed wrote, opened by transformers: ids, logits and greedy translations

Both ask heed's own side: `ninja -C build heed golden_marian`. The check needs sentencepiece.
"""

import copy
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel, MarianTokenizer
from transformers.utils import logging

from common import OUT, Fixture, Values

logging.set_verbosity_error()
logging.disable_progress_bar()
BUILD = Path(__file__).resolve().parents[2] / "build"
EOS, UNK, PAD = 0, 1, 2
LENGTHS = [7, 3, 5, 1]
MOST, BEAM, STEPS = 24, 4, 450


def config(shared, activation, **more):
    return MarianConfig(
        vocab_size=47, decoder_vocab_size=47 if shared else 53, share_encoder_decoder_embeddings=shared,
        d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2,
        encoder_ffn_dim=24, decoder_ffn_dim=32, activation_function=activation, max_position_embeddings=32,
        scale_embedding=True, dropout=0.1, eos_token_id=EOS, pad_token_id=PAD, decoder_start_token_id=PAD,
        bos_token_id=None, forced_eos_token_id=None, attn_implementation="eager", **more,
    )  # fmt: skip


def model_of(values, *arguments):
    """Random numbers everywhere, then a few steps towards the source written backwards: translations vary, and end."""
    model = MarianMTModel(config(*arguments))
    tables = [side.embed_positions.weight.clone() for side in [model.model.encoder, model.model.decoder]]
    values.fill(model).float()
    with torch.no_grad():
        for side, table in zip([model.model.encoder, model.model.decoder], tables):
            side.embed_positions.weight.copy_(table)
        model.final_logits_bias.copy_(values.normal(*model.final_logits_bias.shape, scale=0.3))
    model.eval()  # no dropout: the same numbers every time
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(STEPS):
        n = int(values.ids(7, 1)) + 1
        words = values.ids(44, 16, n) + 3
        end, start = torch.full((16, 1), EOS), torch.full((16, 1), PAD)
        labels = torch.cat([words.flip(1), end], 1)
        logits = model(input_ids=torch.cat([words, end], 1), decoder_input_ids=torch.cat([start, labels[:, :-1]], 1)).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def save_all(model, folder):
    """As directories were written years ago: every tensor, also those that are tied or computed."""
    tensors = {name: tensor.clone().contiguous() for name, tensor in model.state_dict().items()}
    for side in ["encoder", "decoder"]:
        tensors[f"model.{side}.embed_positions.weight"] = getattr(model.model, side).embed_positions.weight.detach().clone()
    assert "lm_head.weight" in tensors and "model.encoder.embed_tokens.weight" in tensors
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def generated(model, sources, **how):
    """The ids of each source without start and end, and whether it ended."""
    rows = []
    for source in sources:
        out = model.generate(
            input_ids=source[None], max_new_tokens=MOST, bad_words_ids=[[UNK], [PAD]], do_sample=False, **how
        )[0, 1:].tolist()  # fmt: skip
        rows.append((out[: out.index(EOS)], True) if EOS in out else (out, False))
    return rows


def expected(folder, model, values):
    """What the directory computes, in double: logits of ragged pairs, greedy and beam translations in f32."""
    wide = copy.deepcopy(model).double()
    for side, narrow in [(wide.model.encoder, model.model.encoder), (wide.model.decoder, model.model.decoder)]:
        side.embed_positions.weight.data = narrow.embed_positions.weight.data.double()
    fixture = Fixture(f"marian/{folder.name}/expected")
    sources, logits, targets = [], [], []
    for n in LENGTHS:
        source = torch.cat([values.ids(44, n) + 3, torch.tensor([EOS])])
        target = torch.cat([torch.tensor([PAD]), values.ids(44, n) + 3])
        with torch.no_grad():
            logits.append(wide(input_ids=source[None], decoder_input_ids=target[None]).logits[0])
        sources.append(source)
        targets.append(target)
    fixture.put("input.lengths", [n + 1 for n in LENGTHS])
    fixture.put("input.source", torch.cat(sources))
    fixture.put("input.target", torch.cat(targets))
    fixture.put("logits", torch.cat(logits))
    for name, how in [("greedy", {"num_beams": 1}),
                      ("beam", {"num_beams": BEAM, "length_penalty": 1.0, "early_stopping": "never"})]:  # fmt: skip
        rows = generated(model, sources, **how)
        # Of beams that did not end heed prefers those that did, and transformers the better score.
        assert name == "greedy" or all(ended for _, ended in rows), rows
        fixture.put(f"{name}.ids", torch.tensor([i for ids, _ in rows for i in ids], dtype=torch.int32))
        fixture.put(f"{name}.lengths", [len(ids) for ids, _ in rows])
        fixture.put(f"{name}.ended", [int(ended) for _, ended in rows])
    fixture.save()


def make():
    shutil.rmtree(OUT / "marian", ignore_errors=True)
    kinds = [
        ("shared_relu", 91, (True, "relu"), torch.float32, MarianMTModel.save_pretrained),
        ("separate_swish", 92, (False, "swish"), torch.float32, MarianMTModel.save_pretrained),
        ("shared_half", 93, (True, "gelu"), torch.float16, MarianMTModel.save_pretrained),
        ("every_tensor", 94, (True, "relu"), torch.float32, save_all),
    ]
    for name, seed, arguments, kind, save in kinds:
        folder = OUT / "marian" / name
        folder.mkdir(parents=True)
        values = Values(seed)
        model = model_of(values, *arguments)
        if kind == torch.float16:
            model = model.half().float()
        stored = copy.deepcopy(model).to(kind)
        stored.config.save_pretrained(folder)
        save(stored, folder)
        opened = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        expected(folder, opened, values)
    written_by_heed(OUT / "marian" / "written_by_heed")


def written_by_heed(folder):
    """Trained by heed on lines of 44 words and the same backwards; transformers opens what it wrote."""
    values = Values(95)
    lines = [[f"w{i}" for i in values.ids(44, int(values.ids(7, 1)) + 1).tolist()] for _ in range(2000)]
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "src").write_text("".join(" ".join(line) + "\n" for line in lines))
        (work / "tgt").write_text("".join(" ".join(line[::-1]) + "\n" for line in lines))
        heed("heed", "train", "translate", "--src", work / "src", "--tgt", work / "tgt", "--tokenizer", "word", "--vocabulary", 47,
             "--encoder-layers", 1, "--decoder-layers", 2, "--d-model", 16, "--d-ff", 32, "--heads", 2, "--dropout", 0,
             "--preset", "tiny", "--max-length", 24, "--batch-tokens", 1024, "--learning-rate", 0.01, "--warmup", 50,
             "--max-steps", 500, "--precision", "f32", "--seed", 1, "--out", work / "model", "--quiet", text="")  # fmt: skip
        folder.mkdir(parents=True)
        for name in ["config.json", "generation_config.json", "model.safetensors"]:
            shutil.copy(work / "model" / name, folder)
    model, report = MarianMTModel.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    assert not any(report[kind] for kind in ["missing_keys", "unexpected_keys", "mismatched_keys"]), report
    model.generation_config.max_length = model.generation_config.forced_eos_token_id = None
    expected(folder, model.eval(), values)


TEXTS = ["the cat caught the mouse", "the big dog did not see three birds", "고양이가 쥐를 잡았다", "👩‍👩‍👧‍👦 cafe\u0301", "a"]


def heed(*arguments, text):
    run = subprocess.run([BUILD / arguments[0], *map(str, arguments[1:])], input=text.encode(), capture_output=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{arguments[0]}: {run.stderr.decode()}")
    return run.stdout


def ids_line(ids):
    return " ".join(map(str, ids))


def check_tokenizers(folder, texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = MarianTokenizer.from_pretrained(folder)
    sides, wrong = [], 0
    for side in ["source", "target"]:
        ours = heed("heed", "tokenize", folder, "--ids", "--side", side, text="".join(t + "\n" for t in texts)).decode()
        ours = [list(map(int, line.split())) for line in ours.split("\n")[:-1]]
        theirs = [(tokenizer(t) if side == "source" else tokenizer(text_target=t))["input_ids"][:-1] for t in texts]
        wrong += sum(a != b for a, b in zip(ours, theirs, strict=True))
        sides.append(theirs)
    print(f"tokenizers: {2 * len(texts)} lines, {wrong} differ")
    return sides, wrong


def check_logits(folder, model, sources, targets):
    start = model.config.decoder_start_token_id
    pairs = [([*s, EOS], [start, *t]) for s, t in zip(sources, targets)]
    numbers = heed("golden_marian", folder, text="".join(f"{ids_line(s)}\t{ids_line(t)}\n" for s, t in pairs))
    ours = torch.from_numpy(numpy.frombuffer(numbers, dtype=numpy.float32).copy()).view(-1, model.config.decoder_vocab_size)
    with torch.no_grad():
        theirs = torch.cat([model(input_ids=torch.tensor([s]), decoder_input_ids=torch.tensor([t])).logits[0] for s, t in pairs])
    worst = (ours - theirs).abs().max().item()
    print(f"logits: {tuple(theirs.shape)}, the largest difference is {worst:.2e}")
    return worst


def check_greedy(folder, model, sources):
    model.generation_config.max_length = None
    sources = [s for s in sources if s]
    lines = "".join(ids_line(s) + "\n" for s in sources)
    ours = heed("heed", "translate", folder, "--ids", "--beam", 1, "--max-length", MOST, "--quiet", text=lines).decode()
    ours = [list(map(int, line.split())) for line in ours.split("\n")[:-1]]
    wrong = 0
    for source, ids in zip(sources, ours, strict=True):
        out = model.generate(input_ids=torch.tensor([[*source, EOS]]), num_beams=1, max_new_tokens=MOST, forced_eos_token_id=None,
                             do_sample=False)[0, 1:].tolist()  # fmt: skip
        wrong += ids != (out[: out.index(EOS)] if EOS in out else out)
    print(f"greedy: {len(sources)} translations, {wrong} differ")
    return wrong


def check(folder, text=None):
    folder = Path(folder)
    texts = [t for t in Path(text).read_text().split("\n") if t] if text else TEXTS
    model, report = MarianMTModel.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    assert not any(report[kind] for kind in ["missing_keys", "unexpected_keys", "mismatched_keys"]), report
    model.eval()
    (sources, targets), wrong = check_tokenizers(folder, texts)
    wrong += check_greedy(folder, model, sources)
    return 1 if check_logits(folder, model, sources, targets) > 1e-4 or wrong else 0


if __name__ == "__main__":
    sys.exit(check(*sys.argv[2:]) if sys.argv[1:2] == ["check"] else make())
