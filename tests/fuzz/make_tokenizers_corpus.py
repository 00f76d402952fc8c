"""Writes corpus/tokenizers: files that are right (right_*) and files that lie, each in its own way (broken_*).

The first byte says which file the rest is: s a SentencePiece model, v vocab.json, b byte_tokenizer.json, c tokenizer_config.json.
Run by hand after a change; text_test reads every file and knows what must be said of the broken ones.
"""

import struct
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "corpus" / "tokenizers"
PUBLISHED = HERE.parent / "golden" / "tokenizers" / "published" / "source.spm"
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def piece(text, score=0.0, kind=NORMAL):
    text = text.encode() if isinstance(text, str) else text
    return message(1, message(1, text) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, kind))


def trainer(kind, byte_fallback=False):
    return message(2, number(3, kind) + number(35, int(byte_fallback)))


def normalizer(charsmap=b""):
    return message(3, message(1, b"identity") + message(2, charsmap) + number(3, 1) + number(4, 1) + number(5, 1))


SPECIAL = piece("</s>", kind=CONTROL) + piece("<unk>", kind=UNKNOWN) + piece("<pad>", kind=CONTROL)
LETTERS = "".join(f"▁{c} {c} " for c in "acehot").split()
TEXT = b"".join(piece(t, -float(i)) for i, t in enumerate(["▁the", "▁cat", "he", "▁", *LETTERS, "한"]))
BYTES = b"".join(piece(f"<0x{i:02X}>", kind=BYTE) for i in range(256))


def model(*parts, kind=UNIGRAM, byte_fallback=False, charsmap=b""):
    return b"s" + b"".join(parts) + trainer(kind, byte_fallback) + normalizer(charsmap)


def published_charsmap():
    """Field 2 of field 3 of a real file."""

    def fields(data):
        at = 0

        def read():
            nonlocal at
            value, shift = 0, 0
            while True:
                value |= (data[at] & 0x7F) << shift
                shift += 7
                at += 1
                if data[at - 1] < 0x80:
                    return value

        while at < len(data):
            tag = read()
            if tag & 7 == 2:
                size = read()
                yield tag >> 3, data[at : at + size]
                at += size
            elif tag & 7 == 5:
                at += 4
            else:
                read()

    spec = dict(fields(dict(fields(PUBLISHED.read_bytes()))[3]))
    return spec[2]


def trie(units, replacements=b"\0"):
    units = units + [0x80000000] * (-len(units) % 256)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + replacements


MAP = published_charsmap()
NODES = struct.unpack("<I", MAP[:4])[0]
# A root whose child for "a" is the unit 0x61, with the children of that wherever the case wants them.
ROOT = [0] * 256
LOOP = list(ROOT)
LOOP[0x61] = 0x61 | (0x61 << 10)  # "a" below "a" below "a"
DEEP = list(ROOT)
DEEP[0x61] = 0x61 | 0x100 | (0x3FFFF << 10)
VALUE = list(ROOT)
VALUE[0x61] = 0x61 | 0x100 | ((0x61 ^ 0x80) << 10)
VALUE[0x80] = 0x80000000 | 0x7FFF
GOOD = b'{"type":"byte","version":1,"eos":0,"unk":1,"pad":2,"first_byte":3}'

FILES = {
    "right_unigram": model(SPECIAL, TEXT),
    "right_bpe": model(SPECIAL, TEXT, kind=BPE),
    "right_word": model(SPECIAL, TEXT, kind=WORD),
    "right_char": model(SPECIAL, TEXT, kind=CHAR),
    "right_bytes": model(SPECIAL, BYTES, TEXT, kind=BPE, byte_fallback=True),
    "right_charsmap": model(SPECIAL, TEXT, charsmap=MAP),
    "right_user_defined": model(SPECIAL, TEXT, *(piece("x" * n, kind=USER) for n in range(1, 33))),
    "right_unused": model(SPECIAL, piece("▁ca", -1.0, UNUSED), piece("▁cat", -2.0, UNUSED), TEXT.replace(b"cat", b"cta"), kind=BPE),
    "broken_spm_empty": b"s",
    "broken_spm_text": b"s#!/bin/sh\n",
    "broken_spm_cut": model(SPECIAL, TEXT)[:60],
    "broken_spm_length": b"s" + b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    "broken_spm_varint": b"s" + b"\xff" * 20,
    "broken_spm_field_zero": b"s\x00\x00",
    "broken_spm_group": b"s\x0b\x0c",
    "broken_spm_number_for_piece": b"s" + number(1, 5),
    "broken_spm_nothing": model(),
    "broken_spm_no_unknown": model(TEXT),
    "broken_spm_two_unknown": model(SPECIAL, TEXT, piece("??", kind=UNKNOWN)),
    "broken_spm_piece_twice": model(SPECIAL, TEXT, TEXT),
    "broken_spm_piece_empty": model(SPECIAL, TEXT, piece("")),
    "broken_spm_piece_zero_byte": model(SPECIAL, TEXT, piece("a\0b")),
    "broken_spm_piece_not_utf8": model(SPECIAL, TEXT, piece(b"\xff")),
    "broken_spm_piece_type": model(SPECIAL, TEXT, piece("zz", kind=9)),
    "broken_spm_piece_long": model(SPECIAL, piece("z" * 8000)),
    "broken_spm_piece_unused_long": model(SPECIAL, piece("z" * 300, kind=UNUSED), kind=BPE),
    "broken_spm_score_nan": model(SPECIAL, TEXT, piece("zz", float("nan"))),
    "broken_spm_score_infinite": model(SPECIAL, TEXT, piece("zz", float("-inf"))),
    "broken_spm_model_type": model(SPECIAL, TEXT, kind=7),
    "broken_spm_bytes_missing": model(SPECIAL, TEXT, byte_fallback=True),
    "broken_spm_bytes_unasked": model(SPECIAL, BYTES, TEXT),
    "broken_spm_bytes_name": model(SPECIAL, piece("<0xGG>", kind=BYTE), TEXT),
    "broken_spm_user_nested": model(SPECIAL, TEXT, *(piece("x" * n, kind=USER) for n in range(1, 80))),
    "broken_charsmap_short": model(SPECIAL, TEXT, charsmap=b"\1\0"),
    "broken_charsmap_size": model(SPECIAL, TEXT, charsmap=struct.pack("<I", 0xFFFFFFFC) + b"1234"),
    "broken_charsmap_odd": model(SPECIAL, TEXT, charsmap=struct.pack("<I", 3) + b"12345678"),
    "broken_charsmap_no_units": model(SPECIAL, TEXT, charsmap=struct.pack("<I", 0) + b"12345678"),
    "broken_charsmap_cut": model(SPECIAL, TEXT, charsmap=struct.pack("<I", NODES // 2 & ~3) + MAP[4 : 8 + NODES // 2]),
    "broken_charsmap_no_end": model(SPECIAL, TEXT, charsmap=MAP.rstrip(b"\0")),
    "broken_charsmap_far": model(SPECIAL, TEXT, charsmap=trie(DEEP)),
    "broken_charsmap_loop": model(SPECIAL, TEXT, charsmap=trie(LOOP)),
    "broken_charsmap_value": model(SPECIAL, TEXT, charsmap=trie(VALUE)),
    "broken_charsmap_root": model(SPECIAL, TEXT, charsmap=trie([0xFFFFFC00] + ROOT[1:])),
    "right_vocab": b'v{"</s>": 0, "<unk>": 1, "\\u2581the": 2, "\xed\x95\x9c": 3, "<pad>": 4}',
    "right_vocab_gap": b'v{"</s>": 0, "<unk>": 10, "<pad>": 4}',
    "broken_vocab_empty": b"v",
    "broken_vocab_cut": b'v{"</s>": 0, "<unk',
    "broken_vocab_list": b"v[1]",
    "broken_vocab_nested": b'v{"a":' + b"[" * 2000,
    "broken_vocab_no_pad": b'v{"</s>": 0, "<unk>": 1}',
    "broken_vocab_same_id": b'v{"</s>": 0, "<unk>": 1, "<pad>": 1}',
    "broken_vocab_huge_id": b'v{"</s>": 0, "<unk>": 1, "<pad>": 4294967296}',
    "broken_vocab_negative": b'v{"</s>": -1}',
    "broken_vocab_twice": b'v{"a": 1, "a": 2}',
    "broken_vocab_not_utf8": b'v{"\xff": 1}',
    "right_byte": b"b" + GOOD,
    "broken_byte_version": b"b" + GOOD.replace(b":1,", b":9,", 1),
    "broken_byte_list": b"b[]",
    "broken_byte_nested": b'b{"type":' + b"[" * 3000,
    "right_config": b'c{"separate_vocabs": false, "model_max_length": 512}',
    "broken_config_text": b'c{"separate_vocabs": "no"}',
    "broken_config_list": b"c[]",
}

FOLDER.mkdir(parents=True, exist_ok=True)
for old in FOLDER.iterdir():
    old.unlink()
for name, content in FILES.items():
    (FOLDER / name).write_bytes(content)
