"""Makes bench/multi30k_lengths.tsv from Multi30k, and from that table the batches both sides read.

lengths.py --data FOLDER   trains a joint BPE on train.tok.en.gz and train.tok.de.gz and writes the table of lengths
lengths.py                 writes batches_tiny.tsv and batches_base.tsv from the committed table
"""

import argparse
import gzip
import tempfile
from collections import Counter
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
TABLE = BENCH / "multi30k_lengths.tsv"
POOL = 8  # batches that are sorted together
POOLS = 2
TARGET_TOKENS = {"tiny": 4096, "base": 2048}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def write_table(data):
    import sentencepiece

    english, german = lines(data / "train.tok.en.gz"), lines(data / "train.tok.de.gz")
    assert len(english) == len(german)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "both.txt"
        text.write_text("\n".join(english + german), encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=f"{folder}/bpe", model_type="bpe", vocab_size=10000, character_coverage=1.0,
            num_threads=1, minloglevel=2,
        )  # fmt: skip
        bpe = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/bpe.model")
        count = Counter(
            (len(source) + 1, len(target) + 1) for source, target in zip(bpe.encode(english), bpe.encode(german))
        )
    rows = "".join(f"{source}\t{target}\t{n}\n" for (source, target), n in sorted(count.items()))
    TABLE.write_text("src\ttgt\tcount\n" + rows)


def splitmix64(state):
    """The next state and the next 64 bits."""
    mask = (1 << 64) - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return state, z ^ (z >> 31)


def shuffle(items, state):
    """Fisher-Yates from the back; the generator's state goes on."""
    for i in range(len(items) - 1, 0, -1):
        state, bits = splitmix64(state)
        j = bits % (i + 1)
        items[i], items[j] = items[j], items[i]
    return state


def batches(target_tokens):
    pairs = []
    for row in TABLE.read_text().splitlines()[1:]:
        source, target, n = map(int, row.split("\t"))
        pairs += [(source, target)] * n
    state = shuffle(pairs, 1)
    result, taken = [], 0
    for _ in range(POOLS):
        pool, total = [], 0
        while total < POOL * target_tokens:
            pool.append(pairs[taken])
            total += pairs[taken][1]
            taken += 1
        pool.sort(key=lambda pair: (max(pair), sum(pair), pair[1]))  # the order that pads least
        cut, before = [[] for _ in range(POOL)], 0
        for pair in pool:
            cut[before * POOL // total].append(pair)
            before += pair[1]
        result += cut
    shuffle(result, state)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with train.tok.en.gz and train.tok.de.gz")
    arguments = parser.parse_args()
    if arguments.data:
        write_table(arguments.data)
    for preset, target_tokens in TARGET_TOKENS.items():
        text = "".join(" ".join(f"{s}:{t}" for s, t in batch) + "\n" for batch in batches(target_tokens))
        (BENCH / f"batches_{preset}.tsv").write_text(text)


if __name__ == "__main__":
    main()
