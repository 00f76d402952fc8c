"""Sentence lists with their BLEU and chrF by sacrebleu, as tests/golden/metrics.json.

Needs sacrebleu 2.6.0 and regex beside what README.md names.
"""

import itertools
import json
import random
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "metrics.json"

WORDS = """the a cat cats caught mouse Mouse dog's don't on-line e-mail Straße ΟΔΟΣ İstanbul Ünlü naïve 고양이가 쥐를 잡았다 .
학교에 갔어요 3,000 3.14 1990-1995 10% $5 U.S.A. (hi) "quoted" 'single' &quot;x&quot; &amp; &lt;b&gt; <skipped> a/b x=y
我们 今天 去 学校 。 日本語です、 café cafe\u0301 👩‍👩‍👧 👍🏽 مرحبا שלום नमस्ते Привет ... --- ! ?! :) ;-( {x} [y] ~z ^ ` _under_ @me
#tag 5. 6, 7-8 9- -9 ,a .b a,b a.b 1,a a,1 № € ½ ² Ⅷ １２３ ﷺ ﬁne \u3000 \u00a0 \u2003 \u200b x\u0085y x\x1cy tab\there “smart” «guillemets»
… – — § © ™ ∑ ½.5 .½ ٣,٤ 1٫5 ▁ \ufffd""".replace("\n", " ").split(" ")


def sentences(generator, count, longest):
    blanks = [" "] * 8 + ["  ", "   ", "\t", "", "\u3000"]
    out = []
    for _ in range(count):
        line = ""
        for _ in range(generator.randint(0, longest)):
            line += generator.choice(WORDS) + generator.choice(blanks)
        out.append(line)
    return out


def disturbed(generator, lines, share):
    """What a translator might have made of the lines: words lost, doubled, swapped, replaced, in another case."""
    out = []
    for line in lines:
        words = line.split(" ")
        for i in range(len(words)):
            if generator.random() > share:
                continue
            words[i] = generator.choice(
                ["", words[i] * 2, generator.choice(WORDS), words[i].upper(), words[i][::-1], words[i] + " " + words[i]]
            )
        if generator.random() < share / 2:
            generator.shuffle(words)
        out.append(" ".join(words) if generator.random() > share / 10 else "")
    return out


def lists():
    generator = random.Random(7)
    yield "plain", ["the cat caught the mouse .", "the dog saw a bird"], ["the cat caught a mouse .", "the dog saw the bird"]
    yield "korean", ["고양이가 쥐를 잡았다.", "나는 학교에 갔어요", "개가 짖었다 !"], ["고양이가 쥐를 잡았다.", "저는 학교에 갔습니다.", "개가 짖었다!"]
    yield "empty hypotheses", ["", "a b c d e", ""], ["a b c", "a b c d e f", "x"]
    yield "all hypotheses empty", ["", ""], ["a b c", "d"]
    yield "empty references", ["a b", "c d e f g"], ["", "c d e f g"]
    yield "nothing at all", ["", ""], ["", ""]
    yield "nothing in common", ["a b c d e", "f g h"], ["q r s t", "u v"]
    yield "short", ["a", "b c"], ["a", "b c"]
    yield "no four in a row", ["a b x c d", "e f y g"], ["a b z c d", "e f w g"]
    yield "numbers", ["It cost 3,000.50 - 4% in 1990-1995.", "5. 6, 7-8"], ["It cost $3,000.50, 4% in 1990 - 1995.", "5 . 6 , 7 - 8"]
    yield "blanks", ["  a   b\tc  ", "d\u3000e"], ["a b c", "d e"]
    yield "case", ["ΟΔΟΣ Straße İ THE Cat", "ÀÉ ΑΣ."], ["οδος STRASSE i the cat", "àé ας."]
    references = sentences(generator, 12, 12)
    yield "mixed", disturbed(generator, references, 0.2), references
    for i, longest in enumerate([3, 10, 25]):
        references = sentences(generator, 40, longest)
        yield f"random {i}", disturbed(generator, references, 0.3), references


def bleu_results(hypotheses, references):
    for tokens, lower, effective in itertools.product(["13a", "none", "char", "intl", "zh"], [False, True], [False, True]):
        metric = BLEU(tokenize=tokens, lowercase=lower, effective_order=effective)
        score = metric.corpus_score(hypotheses, [references])
        yield {
            "tokens": tokens, "lowercase": lower, "effective_order": effective, "score": score.score,
            "counts": [score.sys_len, score.ref_len, *map(int, score.counts), *map(int, score.totals)],
            "text": str(score).removeprefix("BLEU = "),
            "signature": str(metric.get_signature()).rsplit("|", 1)[0],
        }  # fmt: skip


def chrf_results(hypotheses, references):
    for words, lower in itertools.product([0, 1, 2], [False, True]):
        metric = CHRF(word_order=words, lowercase=lower)
        score = metric.corpus_score(hypotheses, [references])
        yield {
            "word_order": words, "lowercase": lower, "score": score.score, "name": score.name,
            "signature": str(metric.get_signature()).rsplit("|", 1)[0],
        }  # fmt: skip


def paired():
    """Two systems, one a little worse: what 1000 samples say. Another generator gives other samples, and nearly these numbers."""
    generator = random.Random(11)
    words = [f"w{i}" for i in range(50)]
    references = [" ".join(generator.choice(words) for _ in range(generator.randint(6, 12))) for _ in range(120)]

    def system(share):
        return [" ".join(generator.choice(words) if generator.random() < share else w for w in line.split()) for line in references]

    baseline = system(0.30)
    for name, other in [("equal", system(0.30)), ("better", system(0.25)), ("much better", system(0.10))]:
        test = PairedTest([("a", baseline), ("b", other)], {"BLEU": BLEU(), "chrF": CHRF()}, [references], "bs", 1000)
        _, scores = test()
        results = {}
        for key, metric in [("BLEU", "bleu"), ("chrF2", "chrf")]:
            a, b = scores[key]
            results[metric] = {
                "p": float(b.p_value),
                "baseline": [float(x) for x in (a.score, a.mean, a.ci)],
                "system": [float(x) for x in (b.score, b.mean, b.ci)],
            }  # fmt: skip
        yield {"name": name, "references": references, "baseline": baseline, "system": other, **results}


def make():
    cases = [
        {"name": name, "hypotheses": h, "references": r, "bleu": list(bleu_results(h, r)), "chrf": list(chrf_results(h, r))}
        for name, h, r in lists()
    ]
    OUT.write_text(json.dumps({"cases": cases, "paired": list(paired())}, indent=0, ensure_ascii=True) + "\n")
    print(f"{OUT.name:32s} {OUT.stat().st_size:8d} bytes")


if __name__ == "__main__":
    make()
