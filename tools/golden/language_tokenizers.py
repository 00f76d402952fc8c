"""Tokenizers of language models.

    language_tokenizers.py                    makes tests/golden/language_tokenizers/: small tokenizer.json files of the published
                                              kinds, each with expected.json: the ids and texts of Hugging Face's tokenizers
    language_tokenizers.py check [FOLDER [N]] heed against theirs (or against SentencePiece, for tokenizer.model) on N random
                                              strings, 100,000 without a number; without a folder, on all the golden ones

The check asks heed's own side: `ninja -C build golden_tokenizers`.
"""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from common import OUT

BUILD = Path(__file__).resolve().parents[2] / "build"
FOLDER = OUT / "language_tokenizers"
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"\p{N}| ?", r"\p{N}{1,3}| ?")
TEXT = [
    "The cat's on the mat, isn't it? We've seen 12345 cats and they'll see 7 more.", "don't DON'T we'Re it'S  I'm\n\n\tthere",
    "the dog saw the old man 1999 times;  the end.\r\n", "고양이가 쥐를 잡았다. 개가 고양이를 보았다", "def f(x):\n    return x + 1\n",
] * 3  # fmt: skip


def byte_level(words, normalizer=None, whole=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = words
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def by_pattern(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ])  # fmt: skip


def characters(prepare, normalized=False):
    """LLaMA's kind: pieces of characters, bytes for what is none."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    trained.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=150, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *sorted(model["vocab"], key=model["vocab"].get)]
    merges = [tuple(pair) for pair in model["merges"]]
    ids = {name: i for i, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    prepare(tokenizer)
    tokenizer.add_special_tokens([AddedToken(t, normalized=normalized, special=True) for t in names[:3]])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)
    ])  # fmt: skip
    return tokenizer


def prepend(tokenizer):
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


def decoded_by(decoder):
    tokenizer = characters(prepend)
    tokenizer.decoder = decoder
    return tokenizer


def joined(*strip):
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip])


def repeat_merges(path):
    """Merges that stand in the list twice: their library does not write such a file itself."""
    file = json.loads(path.read_text())
    file["model"]["merges"] += file["model"]["merges"][:60][::-1]
    path.write_text(json.dumps(file, ensure_ascii=False))


def metaspace(scheme):
    def prepare(tokenizer):
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)

    return prepare


def llama3():
    tokenizer = byte_level(by_pattern(LLAMA3), whole=True)
    begin = processors.TemplateProcessing(single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), begin])
    return tokenizer


KINDS = {
    "gpt2": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "gpt2_blank": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "digits": lambda: byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ),
    "llama3": llama3,
    "qwen2": lambda: byte_level(by_pattern(QWEN2), normalizers.NFC()),
    "llama": lambda: characters(prepend),
    "llama_normalized": lambda: characters(prepend, normalized=True),
    "metaspace_first": lambda: characters(metaspace("first")),
    "metaspace_always": lambda: characters(metaspace("always")),
    "gpt2_equal_merges": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "llama_no_strip": lambda: decoded_by(joined()),
    "llama_strip_two": lambda: decoded_by(joined(decoders.Strip(" ", 2, 0))),
    "llama_metaspace": lambda: decoded_by(decoders.Metaspace()),
    "llama_bytes_metaspace": lambda: decoded_by(decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])),
}
SPECIAL = ["<|endoftext|>", "<s>", "</s>"]
PARTS = [*"abcstremldv  \t\n\r'’.,!?-(){}1234567890", "'s", "'S", "'ll", "'VE", "'ſ", "the", " the", "é", "e\u0301", "가", "한국", "ㄱ",
         "中", "ß", "İ", "ﬁ", "Ⅷ", "²", "½", "٣", "\u00a0", "\u2003", "\u3000", "\u200b", "\u0085", "\u000b", "\u001c", "\u180e", "😀", "👩‍👩‍👧",
         "▁", "<", ">", "\0", "\u007f", "\ufffd", "\U0001d7d8", "\u0903", "\u0e33", "\u2028", "_", *SPECIAL]  # fmt: skip


def random_text(generator):
    if generator.random() < 0.2:
        return "".join(chr(generator.choice([generator.randrange(0xD800), generator.randrange(0xE000, 0x110000)])) for _ in range(6))
    return "".join(generator.choice(PARTS) for _ in range(generator.randrange(1, 20)))


def cases(tokenizer, texts):
    """Ids without what the template adds; the text of those that are not special."""
    special = [i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special]
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        yield {"text": text, "ids": ids, "decoded": tokenizer.decode([i for i in ids if i not in special])}


def make():
    shutil.rmtree(FOLDER, ignore_errors=True)
    generator = random.Random(5)
    texts = [*dict.fromkeys(TEXT), "", " ", "  a", "a  ", *(random_text(generator) for _ in range(120))]
    for name, build in KINDS.items():
        folder = FOLDER / name
        folder.mkdir(parents=True)
        build().save(str(folder / "tokenizer.json"), pretty=False)
        if name == "gpt2_equal_merges":
            repeat_merges(folder / "tokenizer.json")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        begin = tokenizer.encode("a").ids[0] if tokenizer.post_processor and "llama" in name or "metaspace" in name else -1
        expected = {"begin": begin, "cases": list(cases(tokenizer, texts))}
        (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=0) + "\n")


def theirs_of(folder, texts):
    if (folder / "tokenizer.json").exists():
        yield from cases(Tokenizer.from_file(str(folder / "tokenizer.json")), texts)
        return
    import sentencepiece  # noqa: PLC0415

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    for text in texts:
        ids = pieces.encode(text)
        yield {"text": text, "ids": ids, "decoded": pieces.decode(ids)}


def check_folder(folder, count):
    generator = random.Random(11)
    texts = [random_text(generator) for _ in range(count)]
    if not (folder / "tokenizer.json").exists():  # SentencePiece alone knows no special tokens in a text
        texts = [text for text in texts if not any(s in text for s in [*SPECIAL, "<unk>"])]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    run = subprocess.run([BUILD / "golden_tokenizers", "one", folder], input=lines.encode(), capture_output=True, check=True)
    ours = [json.loads(line) for line in run.stdout.decode().split("\n")[:-1]]
    wrong, decoded = 0, 0
    for a, b in zip(ours, theirs_of(folder, texts), strict=True):
        if a["ids"] != b["ids"]:
            wrong += 1
            if wrong <= 5:
                print(f"  {b['text']!r}: {a['ids']}, theirs {b['ids']}")
        # Theirs makes every byte of a broken run its own sign; heed replaces what is broken.
        elif a["text"] != b["decoded"] and "\ufffd" not in b["decoded"]:
            decoded += 1
            if decoded <= 5:
                print(f"  {b['ids']}: {a['text']!r}, theirs {b['decoded']!r}")
    print(f"{folder.name}: {len(texts)} strings, {wrong} differ in ids, {decoded} in text")
    return wrong + decoded


def check(folder=None, count=100_000):
    folders = [Path(folder)] if folder else sorted(FOLDER.iterdir())
    return 1 if sum(check_folder(f, int(count)) for f in folders) else 0


if __name__ == "__main__":
    sys.exit(check(*sys.argv[2:]) if sys.argv[1:2] == ["check"] else make())
