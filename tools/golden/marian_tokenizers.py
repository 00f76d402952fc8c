"""Tokenizer directories with the ids that transformers' MarianTokenizer gives, as tests/golden/tokenizers/.

Needs sentencepiece beside what README.md names, and heed's own side: `ninja -C build golden_tokenizers`.

    marian_tokenizers.py                     makes the fixtures
    marian_tokenizers.py check MODEL [TEXT]  compares heed with transformers on a model directory, line by line
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import sentencepiece
from transformers import MarianTokenizer

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "golden" / "tokenizers"
PROGRAM = ROOT / "build" / "golden_tokenizers"

# Not in here, because heed differs by choice: "</s>", "<unk>" and "<pad>" inside a text are text (MarianTokenizer takes
# them for the special tokens), and so is a language code that the vocabulary does not know.
TEXTS = [
    "the cat caught the mouse", "The cats saw 3 big dogs.", "a", "", " ", "  leading  and   inner   blanks  ", "tab\there",
    "고양이가 쥐를 잡았다", "개는 새를 보았어요.", "\u1100\u1169\u110b\u1163\u11bc\u110b\u1175", "가각갂힣",
    "猫が鼠を捕まえた。", "猫捉住了老鼠", "\U00020bb7\U0002a6a5", "👩‍👩‍👧‍👦 👍🏽 🇰🇷", "cafe\u0301 café ﬁ ① Ⅷ", "مرحبا بالعالم", "שלום", "नमस्ते", "ไทย",
    "\u200bzero\u200dwidth\ufeff", "x\u3000y\u00a0z", "<0x41> < / s >", "http://a.b/c?d=e&f=g", "!?.,;:'\"()[]{}", "\ufffd\U0010ffff",
    "the the the the the", "mouse" * 20, ">>ko", "▅", "\u00e0\u00c0ß\u1e9e",
]  # fmt: skip


def corpus():
    """Pairs of an English and a Korean sentence, enough for small vocabularies."""
    generator = random.Random(3)
    nouns = [("cat", "고양이"), ("mouse", "쥐"), ("dog", "개"), ("bird", "새"), ("teacher", "선생님"), ("book", "책"), ("river", "강")]
    verbs = [("caught", "잡았다"), ("saw", "보았어요"), ("followed", "따라갔다"), ("found", "찾았습니다")]
    lines = []
    for _ in range(200):
        (a, ka), (b, kb), (v, kv) = generator.choice(nouns), generator.choice(nouns), generator.choice(verbs)
        lines.append((f"the {a} {v} the {b} .", f"{ka}가 {kb}를 {kv} ."))
    return lines


def heed(*arguments, text=""):
    run = subprocess.run([PROGRAM, *map(str, arguments)], input=text.encode(), capture_output=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"golden_tokenizers: {run.stderr.decode()}")
    return run.stdout.decode().split("\n")[:-1]


def marian(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MarianTokenizer.from_pretrained(folder)


def side_ids(tokenizer, text, side):
    ids = tokenizer(text)["input_ids"] if side == "source" else tokenizer(text_target=text)["input_ids"]
    assert ids[-1] == tokenizer.eos_token_id
    return ids[:-1]


def train_with_heed(folder, kind, vocabulary, sharing):
    with tempfile.TemporaryDirectory() as scratch:
        for name, lines in zip(["source", "target"], zip(*corpus())):
            Path(scratch, name).write_text("\n".join(lines) + "\n")
        heed("train", kind, vocabulary, sharing, f"{scratch}/source", f"{scratch}/target", folder)


def train_as_published(folder):
    """As the models of Helsinki-NLP are: two SentencePiece files with ids of their own, one vocabulary.json over both in an
    order of its own with <pad> last, language codes, a rule that rewrites characters, no bytes."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        rules = Path(scratch, "rules.tsv")
        rules.write_text("FB01\t66 69\n3000\t20\nA0\t20\n2460\t31\n200B\t\n65 301\tE9\n")
        for name, lines in zip(["source", "target"], zip(*corpus())):
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_prefix=f"{scratch}/{name}", vocab_size=70, model_type="unigram", hard_vocab_limit=False,
                normalization_rule_tsv=str(rules), minloglevel=9,
            )  # fmt: skip
            shutil.copy(f"{scratch}/{name}.model", folder / f"{name}.spm")
    pieces = set()
    for name in ["source", "target"]:
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        pieces |= {model.id_to_piece(i) for i in range(model.get_piece_size())}
    pieces -= {"</s>", "<unk>", "<s>"}
    order = ["</s>", "<unk>", *sorted(pieces, key=lambda p: (len(p), p)), ">>kor<<", ">>deu<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(order)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "mul"}))


def differences(folder, texts):
    """Lines on which heed and transformers do not agree, by side."""
    tokenizer = marian(folder)
    texts = [t for t in texts if "\n" not in t]
    found = []
    for side in ["source", "target"]:
        ours = heed("ids", folder, side, text="".join(t + "\n" for t in texts))
        assert len(ours) == len(texts)
        for text, ids in zip(texts, ours):
            theirs = side_ids(tokenizer, text, side)
            if list(map(int, ids.split())) != theirs:
                found.append((side, text, ids, theirs))
    return found


def save_expected(folder, texts):
    assert not (wrong := differences(folder, texts)), wrong
    tokenizer = marian(folder)
    cases = []
    for text in texts:
        source, target = (side_ids(tokenizer, text, side) for side in ["source", "target"])
        # Which of its two models decodes is a choice of the caller's; heed decodes targets with the target's.
        decoded = tokenizer.decode(target, skip_special_tokens=True, use_source_tokenizer=False)
        cases.append({"text": text, "source": source, "target": target, "decoded": decoded})
    special = {"eos": tokenizer.eos_token_id, "unk": tokenizer.unk_token_id, "pad": tokenizer.pad_token_id}
    (folder / "expected.json").write_text(json.dumps({"special": special, "cases": cases}, indent=0) + "\n")
    print(f"{folder.name:32s} {sum(f.stat().st_size for f in folder.iterdir()):8d} bytes")


def make():
    shutil.rmtree(OUT, ignore_errors=True)
    trained = [("bpe", 360, "joint"), ("unigram", 289, "separate"), ("word", 40, "separate"), ("char", 60, "joint")]
    for kind, vocabulary, sharing in trained:
        folder = OUT / f"{kind}_{sharing}"
        train_with_heed(folder, kind, vocabulary, sharing)
        save_expected(folder, TEXTS)
    train_as_published(OUT / "published")
    save_expected(OUT / "published", [*TEXTS, ">>kor<< the cat", ">>deu<<the cat"])


def check(folder, text=None):
    texts = Path(text).read_text().split("\n") if text else TEXTS
    found = differences(Path(folder), texts)
    for side, line, ours, theirs in found:
        print(f"{side} {line!r}: heed {ours}, transformers {theirs}")
    print(f"{len(texts)} lines, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(check(*sys.argv[2:]) if sys.argv[1:2] == ["check"] else make())
