"""Generating text: heed and llama.cpp in one run, in turns, as ratios.

generate.py [--heed build/heed] [--rounds 3] [--seconds 4] [--threads 2] [kind ...]

GPT-2 small's shape with random weights, in f32, f16, 8 and 4 bits (llama.cpp's q8_0, and q4_0 for every matrix; heed's 4 bits leave
the token table, which is also the output, in 8). As llama-bench has it: 128 tokens from an empty context, and apart from that a prompt
of 256 tokens. heed also says how near it comes to a pure read of its weights, and what sixteen sequences at once make of it.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

PROMPT, TOKENS = 256, 128
KINDS = ["f32", "f16", "8 bits", "4 bits"]


def write_gguf(model, path):
    import gguf

    c = model.config
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(c.n_positions)
    writer.add_embedding_length(c.n_embd)
    writer.add_block_count(c.n_layer)
    writer.add_feed_forward_length(4 * c.n_embd)
    writer.add_head_count(c.n_head)
    writer.add_layer_norm_eps(c.layer_norm_epsilon)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"<{i}>" for i in range(c.vocab_size)])
    writer.add_token_merges(["< 0"])
    writer.add_eos_token_id(c.vocab_size - 1)
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
             "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}  # fmt: skip
    for name, value in model.transformer.state_dict().items():
        layer, (module, part) = "", name.rsplit(".", 1)
        if module.startswith("h."):
            _, number, module = module.split(".", 2)
            layer = f"blk.{number}."
        turned = part == "weight" and module.split(".")[-1].startswith("c_")  # Conv1D has them (in, out)
        value = value.t().contiguous() if turned else value
        writer.add_tensor(f"{layer}{names[module]}.{part}", value.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantise(llama, source, target, kind):
    params = llama.llama_model_quantize_default_params()
    params.ftype = {"f16": llama.LLAMA_FTYPE_MOSTLY_F16, "8 bits": llama.LLAMA_FTYPE_MOSTLY_Q8_0,
                    "4 bits": llama.LLAMA_FTYPE_MOSTLY_Q4_0}[kind]  # fmt: skip
    params.pure = True
    if llama.llama_model_quantize(str(source).encode(), str(target).encode(), params) != 0:
        raise SystemExit(f"llama.cpp could not write {kind}")


def make_models(folder, heed):
    """Directories for heed and files for llama.cpp, by kind."""
    import llama_cpp
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config())
    ours = {kind: folder / kind.replace(" ", "-") for kind in KINDS}
    theirs = {kind: folder / f"{kind.replace(' ', '-')}.gguf" for kind in KINDS}
    model.save_pretrained(ours["f32"])
    write_gguf(model, theirs["f32"])
    model.half().save_pretrained(ours["f16"])
    for kind in KINDS[1:]:
        quantise(llama_cpp, theirs["f32"], theirs[kind], kind)
    for kind in KINDS[2:]:
        subprocess.run([heed, "quantize", ours["f32"], "--bits", kind[0], "--plain", "--out", ours[kind], "--quiet"], check=True)
    return ours, theirs


class Peer:
    def __init__(self, path, threads):
        import llama_cpp

        self.llama = llama_cpp
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = threads
        self.context = self.model and llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            raise SystemExit(f"llama.cpp could not open {path}")
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def __del__(self):
        if self.context:
            self.llama.llama_free(self.context)
        if self.model:
            self.llama.llama_model_free(self.model)

    def next(self, ids):
        import numpy

        tokens = (self.llama.llama_token * len(ids))(*ids)
        if self.llama.llama_decode(self.context, self.llama.llama_batch_get_one(tokens, len(ids))) != 0:
            raise SystemExit("llama.cpp could not decode")
        logits = self.llama.llama_get_logits_ith(self.context, -1)
        return int(numpy.ctypeslib.as_array(logits, shape=(self.vocabulary,)).argmax())

    def seconds(self, work):
        self.llama.llama_memory_clear(self.llama.llama_get_memory(self.context), True)
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def generate(self):
        last = 1
        for _ in range(TOKENS):
            last = self.next([last])

    def run(self, seconds):
        """Seconds of a prompt's token and of a new one, at best."""
        prompt = [(i * 7919) % self.vocabulary for i in range(PROMPT)]
        best, end = [float("inf"), float("inf")], time.time() + seconds
        while time.time() < end or best[1] == float("inf"):
            best = [min(best[0], self.seconds(lambda: self.next(prompt)) / PROMPT), min(best[1], self.seconds(self.generate) / TOKENS)]
        return best


def ours(a, folder, batch=1, prompt=1, tokens=TOKENS):
    command = [a.heed, "bench", "generate", "--model", folder, "--batch", batch, "--prompt", prompt, "--tokens", tokens,
               "--threads", a.threads, "--seconds", a.seconds, "--json"]  # fmt: skip
    return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="kind", help=", ".join(KINDS))
    parser.add_argument("--heed", default="build/heed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    if unknown := [kind for kind in a.kinds if kind not in KINDS]:
        parser.error(f"no kind {unknown[0]!r}: expected some of {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory() as folder:
        directories, files = make_models(Path(folder), a.heed)
        print("| one sequence, GPT-2 small | heed tokens/s | llama.cpp tokens/s | ratio | of a pure read | prompt of 256, heed | "
              "llama.cpp | ratio | 16 at once, times one |\n|---|---|---|---|---|---|---|---|---|", flush=True)  # fmt: skip
        for kind in a.kinds:
            text = prompt = memory = sixteen = 0
            peer, theirs = Peer(files[kind], a.threads), [float("inf"), float("inf")]
            for _ in range(a.rounds):
                one = ours(a, directories[kind])
                text = max(text, one["tokens_per_second"]["best"])
                read = ours(a, directories[kind], prompt=PROMPT, tokens=2)
                prompt = max(prompt, read["prompt_tokens_per_second"]["best"])
                memory = max(memory, one["read_bytes_per_second"])
                theirs = [min(x) for x in zip(theirs, peer.run(a.seconds))]
                sixteen = max(sixteen, ours(a, directories[kind], 16)["tokens_per_second"]["best"])
            p, t, share = 1 / theirs[0], 1 / theirs[1], text * one["weight_bytes"] / memory
            print(f"| {kind} | {text:.1f} | {t:.1f} | **{text / t:.2f}** | {100 * share:.0f} % | {prompt:.0f} | {p:.0f} | "
                  f"**{prompt / p:.2f}** | {sixteen / text:.1f} |", flush=True)  # fmt: skip
            del peer


if __name__ == "__main__":
    main()
