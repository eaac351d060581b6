#!/usr/bin/env python3
"""Compares what `weft quantize FOLDER OUT.gguf` writes with llama.cpp: the logits of the folder in Weft, of the file in llama.cpp.

    python3 -m venv venv && venv/bin/pip install numpy
    venv/bin/pip install --no-binary llama-cpp-python llama-cpp-python==0.3.36   # builds it
    venv/bin/python tests/model/llama_cpp/compare_written.py build/release/cli/weft [CASE ...]

A case is a folder of tests/model/data/goldens. It prints for each the largest difference as a part of the logits' standard
deviation, or why there is none; llama.cpp's log goes to standard error. Each case is a process, since llama.cpp may end one.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDENS = Path(__file__).parents[1] / "data" / "goldens"
IDS = [3, 17, 5, 9, 11, 2, 20, 8]


def compare(program, case):
    import numpy as np
    from compare import LlamaCpp, Weft
    weft = Weft(program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case}.gguf"
        try:
            weft.run("quantize", GOLDENS / case, path, "--type", "f32")
        except RuntimeError as error:
            return str(error).rsplit(": ", 2)[-2]
        model = LlamaCpp(path)
        other = model.compute(IDS)
        own, _ = weft.compute(GOLDENS / case, IDS)
        return f"{np.abs(own - other).max() / own.std():.0e}"


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(compare(*sys.argv[2:4]))
        sys.exit()
    for case in sys.argv[2:] or sorted(folder.name for folder in GOLDENS.iterdir()):
        done = subprocess.run([sys.executable, __file__, "--one", sys.argv[1], case], stdout=subprocess.PIPE, text=True)
        print(case, done.stdout.strip() or "llama.cpp does not load it", flush=True)
