#!/usr/bin/env python3
"""Compares Weft with llama.cpp: the same GGUF file, the same tokens, the largest difference of the logits.

    python3 -m venv venv && venv/bin/pip install torch==2.15 transformers==5.23 safetensors
    venv/bin/pip install gguf && venv/bin/pip install --no-binary llama-cpp-python llama-cpp-python==0.3.36  # builds it
    venv/bin/pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36       # its sources: unpack them
    venv/bin/python tests/model/llama_cpp/compare.py SOURCES/vendor/llama.cpp build/release/cli/weft [CASE ...]

For each case of make_gguf.py it makes a random model whose rows are whole blocks of every encoding, has llama.cpp
quantize it, and prints a row of docs/gguf.md's table; llama.cpp's log goes to standard error.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

MAKER = Path(__file__).with_name("wide_models.py")
TEXT = "the cat sat on a mat, 12345 times. it's naif and bad "
GREEDY = 64
FORMATS = {"Q8_0": 7, "Q4_K_M": 15, "IQ4_XS": 30}


class LlamaCpp:
    """A model in llama.cpp, with keys and values in float32."""

    def __init__(self, path):
        import llama_cpp
        self.api = llama_cpp
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = False  # AMX's, which end in a fault on small matrices
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            raise RuntimeError("llama.cpp does not load it")
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.rows = llama_cpp.llama_vocab_n_tokens(self.vocab)
        self.encodes = llama_cpp.llama_model_has_encoder(self.model)
        self.decodes = llama_cpp.llama_model_has_decoder(self.model)

    def close(self):
        self.api.llama_model_free(self.model)

    def tokens(self, text):
        buffer = (self.api.llama_token * 512)()
        data = text.encode()
        count = self.api.llama_tokenize(self.vocab, data, len(data), buffer, 512, True, False)
        return list(buffer[:count])

    def compute(self, ids, decoder_ids=None):
        """Returns logits [T, V] of a decoder, hidden states [T, H] of an encoder."""
        import numpy as np
        api = self.api
        params = api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 256
        params.n_threads = params.n_threads_batch = 1
        params.type_k = params.type_v = 0
        params.flash_attn_type = 0
        params.embeddings = not self.is_decoder()
        params.pooling_type = 0
        context = api.llama_init_from_model(self.model, params)
        if not context:
            raise RuntimeError("llama.cpp makes no context")
        width = self.rows if self.is_decoder() else api.llama_model_n_embd(self.model)
        take = api.llama_get_logits_ith if self.is_decoder() else api.llama_get_embeddings_ith
        batch = self.batch(ids)
        if self.encodes and self.decodes:
            assert api.llama_encode(context, batch) == 0
            ids = decoder_ids
            batch = self.batch(ids)
        failed = api.llama_decode(context, batch) if self.decodes else api.llama_encode(context, batch)
        assert failed == 0, failed
        rows = np.array([take(context, i)[:width] for i in range(len(ids))])
        api.llama_free(context)
        # llama.cpp leaves out T5's scale of logits by a tied head.
        return rows * api.llama_model_n_embd(self.model) ** -0.5 if decoder_ids else rows

    def is_decoder(self):
        return self.decodes and not (self.encodes and not self.decodes) and self.causal()

    def causal(self):
        import ctypes
        buffer = ctypes.create_string_buffer(64)
        self.api.llama_model_meta_val_str(self.model, b"general.architecture", buffer, 64)
        return buffer.value != b"bert"

    def batch(self, ids):
        batch = self.api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, i, 1, 0, 1
        return batch


class Weft:
    def __init__(self, program):
        self.program = program

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode().strip())
        return done.stdout

    def tokens(self, path, text):
        return json.loads(self.run("tokenize", path, text, "--ids-only"))

    def compute(self, path, ids, decoder_ids=None, generate=0):
        import numpy as np
        more = ["--decoder-ids", ",".join(map(str, decoder_ids))] if decoder_ids else []
        got = json.loads(self.run("logits", path, "--json", "--threads", 1, "--generate", generate, "--ids",
                                  ",".join(map(str, ids)), *more))
        return np.array(got.get("logits", got.get("hidden"))), got.get("greedy", [])

    def text(self, path):
        return self.run("generate", path, TEXT, "--ignore-end", "--max-tokens", GREEDY, "--threads", 1)


def quantize(source, target, file_type):
    import llama_cpp
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = file_type
    params.nthread = 1
    if llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), params) != 0:
        raise RuntimeError("llama.cpp does not quantize it")


def decode(source, target):
    """Writes the file with every encoded tensor in float32."""
    import gguf
    import numpy as np
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def largest(left, right):
    return float(abs(left - right).max())


def agreement(weft, path, float_path, ids, has_encoder):
    """How many greedy tokens are those of the model decoded to float32. The first other one must hang on less than the
    logits differ by: a half of it for each of the two."""
    _, got = weft.compute(path, ids, generate=GREEDY)
    _, wanted = weft.compute(float_path, ids, generate=GREEDY)
    same = next((i for i in range(GREEDY) if got[i] != wanted[i]), GREEDY)
    if same == GREEDY:
        explained = weft.text(path) == weft.text(float_path)
    else:
        tail = [ids, [0] + wanted[:same]] if has_encoder else [ids + wanted[:same]]
        left, right = (weft.compute(p, *tail)[0][-1] for p in (path, float_path))
        best = sorted(right)[-2:]
        explained = best[1] - best[0] <= 2 * largest(left, right)
    return f"{same}" + ("" if explained else " (!)")


def make(python, *arguments):
    """Runs wide_models.py, in a process of its own: PyTorch's OpenMP and llama.cpp's do not go together."""
    done = subprocess.run([python, MAKER, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def compare(name, weft, folder, maker):
    exact = folder / f"{name}-f32.gguf"
    maker(name, exact)
    model = LlamaCpp(exact)
    ids = model.tokens(TEXT)
    same_tokens = ids == weft.tokens(exact, TEXT)
    pair = bool(model.encodes and model.decodes)
    encoder = not model.is_decoder()
    start = [0] if pair else None
    floats, greedy = weft.compute(exact, ids, start, 0 if encoder else GREEDY)
    forced = ([0] + greedy) if pair else None
    whole = ids if pair or encoder else ids + greedy
    floats, _ = weft.compute(exact, whole, forced)
    scale = float(floats.std())
    difference = largest(floats, model.compute(whole, forced)) / scale
    cells = [f"{difference:.0e}" + ("" if same_tokens else ", other tokens")]
    model.close()
    for label, number in FORMATS.items():
        path, decoded = folder / f"{name}-{label}.gguf", folder / f"{name}-{label}-f32.gguf"
        quantize(exact, path, number)
        decode(path, decoded)
        model = LlamaCpp(path)
        coded, _ = weft.compute(path, whole, forced)
        difference = largest(coded, model.compute(whole, forced)) / scale
        error = largest(coded, floats) / scale
        cell = f"{difference:.2g} of {error:.2g}" + ("" if difference <= error else " (!)")
        cells.append(cell if encoder else f"{cell}, {agreement(weft, path, decoded, ids, pair)}")
        model.close()
        for file in (path, decoded):
            file.unlink()
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", help="of llama.cpp")
    parser.add_argument("weft", help="the program")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch and transformers")
    arguments = parser.parse_args()
    try:
        import llama_cpp
    except ImportError as missing:
        sys.exit(f"skipped: {missing}")
    llama_cpp.llama_backend_init()
    weft = Weft(arguments.weft)
    failed = []

    def maker(name, path):
        make(arguments.python, arguments.sources, name, path)

    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.cases or make(arguments.python).split():
            try:
                print("|", " | ".join([name, *compare(name, weft, Path(scratch), maker)]), "|", flush=True)
            except Exception as error:  # noqa: BLE001: the other cases are still to be seen
                failed.append(name)
                print(f"| {name} | {error} |", flush=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
