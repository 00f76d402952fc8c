"""Translating: heed and CTranslate2 in one run, in turns, as ratios.

translate.py [--heed build/heed] [--rounds 3] [--seconds 4] [--threads 2]

A Marian model of the paper's base shape with random weights (vocabulary 10,000), sentences of 20 tokens, exactly 20 tokens
out: beam 1 and 4 in batches of 32, and one sentence alone.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path


def make_model(folder):
    import sentencepiece as spm
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=10000, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512, pad_token_id=9999,
        eos_token_id=0, decoder_start_token_id=9999, scale_embedding=True, activation_function="relu",
    )  # fmt: skip
    MarianMTModel(config).save_pretrained(folder)
    # CTranslate2's converter wants a tokenizer: words w3 ... w9999, each a piece.
    words = folder / "words.txt"
    words.write_text("\n".join(" ".join(f"w{i}" for i in range(s, min(s + 20, 10000))) for s in range(3, 10000, 20)))
    spm.SentencePieceTrainer.train(input=str(words), model_prefix=str(folder / "source"), vocab_size=9000, model_type="word",
                                   bos_id=-1, eos_id=0, unk_id=1, pad_id=2, minloglevel=2)  # fmt: skip
    (folder / "source.model").rename(folder / "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    names = ["</s>", "<unk>"] + [f"▁w{i}" for i in range(2, 9999)] + ["<pad>"]  # the converter takes the last for padding
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    MarianTokenizer(vocab=str(folder / "vocab.json"), source_spm=str(folder / "source.spm"),
                    target_spm=str(folder / "target.spm")).save_pretrained(folder)  # fmt: skip
    return folder


def peer(translator, batch, beam, seconds):
    source = [[f"▁w{3 + (i * 37 + t * 101) % 9000}" for t in range(19)] + ["</s>"] for i in range(batch)]
    options = dict(beam_size=beam, min_decoding_length=20, max_decoding_length=20, max_batch_size=batch)
    translator.translate_batch(source, **options)
    best, end = float("inf"), time.time() + seconds
    while time.time() < end:
        start = time.time()
        translator.translate_batch(source, **options)
        best = min(best, time.time() - start)
    return best


def ours(a, folder, batch, beam):
    command = [a.heed, "bench", "translate", "--model", folder, "--batch", batch, "--beam", beam, "--threads", a.threads,
               "--seconds", a.seconds, "--json"]  # fmt: skip
    return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)["ms"]["best"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heed", default="build/heed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder) / "hf")
        import ctranslate2

        converted = str(Path(folder) / "ct2")
        ctranslate2.converters.TransformersConverter(str(model)).convert(converted)
        translator = ctranslate2.Translator(converted, compute_type="float32", intra_threads=a.threads, inter_threads=1)
        print("| translating, base shape, f32 | heed ms | CTranslate2 ms | ratio |\n|---|---|---|---|")
        for batch, beam in [(32, 1), (32, 4), (1, 1), (1, 4)]:
            mine, theirs = float("inf"), float("inf")
            for _ in range(a.rounds):
                mine = min(mine, ours(a, model, batch, beam))
                theirs = min(theirs, 1e3 * peer(translator, batch, beam, a.seconds))
            print(f"| {batch} sentences, beam {beam} | {mine:.1f} | {theirs:.1f} | **{theirs / mine:.2f}** |", flush=True)


if __name__ == "__main__":
    main()
