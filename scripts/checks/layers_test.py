#!/usr/bin/env python3
"""Each rule of layers.py, seen to fire and seen to keep quiet, with the table that the tree is judged by."""

import sys
import unittest
from pathlib import Path

import layers

TABLE_TEXT = (Path(__file__).resolve().parent.parent / "layers.toml").read_text()
TABLE = layers.Table(TABLE_TEXT)


def judge(path: str, text: str) -> list[str]:
    return layers.Judge(TABLE, path, text).run()


class LayersTest(unittest.TestCase):
    def accepts(self, path: str, *lines: str) -> None:
        self.assertEqual(judge(path, "\n".join(lines) + "\n"), [])

    def finds(self, path: str, line: str, what: str) -> None:
        """One finding, of `what`, on the third line, where `line` is put; with advice."""
        found = judge(path, f"// one\n\n{line}\n")
        self.assertEqual(len(found), 1, f"{path}: {line}: {found}")
        self.assertTrue(found[0].startswith(f"{path}:3: "), found[0])
        self.assertIn(what, found[0])
        self.assertIn("To do: ", found[0])

    def finds_file(self, path: str, what: str) -> None:
        found = judge(path, "\n")
        self.assertEqual(len(found), 1, f"{path}: {found}")
        self.assertIn(what, found[0])

    # Our own headers.

    def test_a_layer_may_include_itself_and_those_in_its_row(self):
        for layer, uses in TABLE.layers.items():
            for used in [layer, *uses]:
                self.accepts(f"{layer}/a.cc", f'#include "weft/{used}/a.h"')

    def test_a_layer_may_include_no_other_layer(self):
        for layer, uses in TABLE.layers.items():
            for other in TABLE.layers.keys() - {layer, *uses}:
                self.finds(f"{layer}/a.h", f'#include "weft/{other}/a.h"', f"{layer} may not include {other}")

    def test_an_include_counts_however_it_is_spaced_and_inside_conditions(self):
        self.finds("core/a.h", ' #  include   "weft/net/a.h"', "core may not include net")
        self.finds("gpu/cuda/a.cu", '#include "weft/net/deep/er/a.h"', "gpu may not include net")

    def test_a_commented_or_quoted_include_does_not_count(self):
        self.accepts("core/a.h", '// #include "weft/net/a.h"', "/*", "#include <iostream>", "*/",
                     'auto code = R"(', "#include <iostream>", ')";')

    def test_a_comment_sign_inside_a_literal_hides_nothing(self):
        self.finds("core/a.cc", """auto s = "/*"; char c = '"'; int n = 1'000; std::abort(); // */""", "ending")

    def test_a_raw_literal_is_no_code(self):
        self.accepts("core/a.cc", 'auto s = R"x(std::cout)" "<<<)x";', "int n = 1'000'000;")
        self.finds("core/a.cc", 'auto s = R"x(")x"; abort();', "ending")

    def test_our_headers_are_spelled_from_the_root(self):
        self.finds("core/a.cc", '#include "a.h"', "relative")
        self.finds("core/a.cc", '#include "../core/a.h"', "relative")
        self.finds("core/a.cc", '#include "weft/core/../net/a.h"', "climbs")

    def test_only_outsiders_use_angle_brackets_for_ours(self):
        self.finds("core/a.cc", "#include <weft/core/a.h>", 'write "weft/core/a.h"')
        self.finds("tests/core/a_test.cc", "#include <weft/core/a.h>", 'write "weft/core/a.h"')
        self.accepts("examples/a.cc", "#include <weft/weft.h>")
        self.accepts("tests/install/a.cc", "#include <weft/weft.h>")

    def test_the_umbrella_is_for_users(self):
        for folder in [*TABLE.layers, "bench"]:
            self.finds(f"{folder}/a.cc", '#include "weft/weft.h"', "for users")
        self.accepts("tests/weft_test.cc", '#include "weft/weft.h"')
        self.accepts("weft.h", '#include "weft/actors/engine/engine.h"', '#include "weft/core/error/error.h"')

    def test_folders_beside_the_layers_include_any_layer(self):
        for folder in ["tests", "bench", "examples"]:
            self.accepts(f"{folder}/a.cc", *(f'#include "weft/{layer}/a.h"' for layer in TABLE.layers))

    def test_nothing_includes_the_folders_beside(self):
        for layer in TABLE.layers:
            for folder in ["tests/fixture", "bench", "examples"]:
                self.finds(f"{layer}/a.cc", f'#include "weft/{folder}/a.h"', f"{layer} may not include weft/{folder}")

    def test_tests_include_only_their_fixture_and_bench_only_itself(self):
        self.accepts("tests/core/a_test.cc", '#include "weft/tests/fixture/a.h"')
        self.finds("tests/core/a_test.cc", '#include "weft/tests/core/a.h"', "tests may not include")
        self.finds("tests/core/a_test.cc", '#include "weft/bench/a.h"', "tests may not include")
        self.accepts("bench/core/a_bench.cc", '#include "weft/bench/a.h"')
        self.finds("bench/core/a_bench.cc", '#include "weft/tests/fixture/a.h"', "bench may not include")

    def test_a_folder_without_a_row_is_found(self):
        self.finds("core/a.cc", '#include "weft/cores/a.h"', "in no layer")
        self.finds_file("scheduler/a.cc", "'scheduler' is no layer")
        self.finds_file("a.cc", "'a.cc' is no layer")

    # Headers of others.

    def test_io_headers_of_asio_live_in_net_and_cli(self):
        for header in ["boost/asio.hpp", "boost/asio/ip/tcp.hpp", "boost/asio/local/stream_protocol.hpp",
                       "boost/asio/posix/stream_descriptor.hpp", "boost/asio/ssl.hpp", "boost/asio/ssl/context.hpp",
                       "boost/asio/io_context.hpp", "boost/asio/thread_pool.hpp", "boost/beast/http.hpp"]:
            for layer in TABLE.layers.keys() - {"net", "cli"}:
                self.finds(f"{layer}/a.h", f"#include <{header}>", "may be included only in net, cli")
            for path in ["net/a.h", "cli/a.cc", "actors/engine/engine.cc", "actors/engine_impl.h", "tests/core/a_test.cc"]:
                self.accepts(path, f"#include <{header}>")

    def test_executor_headers_of_asio_live_also_in_core_and_actors(self):
        for header in ["any_io_executor", "post", "dispatch", "defer", "async_result", "any_completion_handler",
                       "associated_executor", "bind_cancellation_slot", "steady_timer", "execution/context",
                       "cancellation_signal", "error", "append", "consign", "deferred"]:
            for path in ["core/a.h", "actors/a.h", "net/a.h", "cli/a.cc", "tests/a.cc", "bench/a.cc"]:
                self.accepts(path, f"#include <boost/asio/{header}.hpp>")
            for layer in ["config", "text", "model", "kernels", "gpu"]:
                self.finds(f"{layer}/a.h", f"#include <boost/asio/{header}.hpp>", "may be included only in core")

    def test_signal_headers_are_the_programs(self):
        for header in ["boost/asio/signal_set.hpp", "csignal", "signal.h"]:
            self.accepts("cli/serve.cc", f"#include <{header}>")
            self.finds("net/a.cc", f"#include <{header}>", "may be included only in cli")

    def test_cuda_headers_stay_with_cuda(self):
        for header in ["cuda_runtime.h", "cublasLt.h", "nccl.h", "cub/cub.cuh", "cuda/std/array"]:
            self.accepts("gpu/cuda/device.cc", f"#include <{header}>")
            self.accepts("kernels/norm/rms_norm_cuda.cu", f"#include <{header}>")
            for path in ["gpu/device.h", "kernels/rms_norm.h", "core/a.cc", "tests/gpu/a_test.cc"]:
                self.finds(path, f"#include <{header}>", "may be included only in gpu/cuda")

    def test_each_library_has_its_folder(self):
        for header, home, other in [("concurrentqueue/concurrentqueue.h", "core", "actors"), ("CLI/CLI.hpp", "cli", "net"),
                                    ("gtest/gtest.h", "tests", "bench"), ("gmock/gmock.h", "tests", "core"),
                                    ("benchmark/benchmark.h", "bench", "tests")]:
            self.accepts(f"{home}/a.cc", f"#include <{header}>")
            self.finds(f"{other}/a.cc", f"#include <{header}>", "may be included only in " + home)

    def test_a_header_without_a_row_is_free(self):
        self.accepts("core/a.h", "#include <vector>", "#include <boost/system/error_code.hpp>")

    # Words and files.

    def test_cuda_syntax_stays_with_cuda(self):
        for line in ["__global__ void step();", "step<<<1, 32>>>();", "__device__ int n;"]:
            self.accepts("gpu/cuda/a.cu", line)
            self.accepts("kernels/rms_norm_cuda.cu", line)
            for path in ["gpu/a.h", "kernels/rms_norm.cc", "tests/a.cc"]:
                self.finds(path, line, "CUDA syntax")
        for path in ["gpu/a.cu", "kernels/rms_norm.cu", "core/a.cuh"]:
            self.finds_file(path, "a CUDA file")

    def test_std_regex_is_nowhere(self):
        for path in ["core/a.cc", "cli/a.cc", "tests/a_test.cc"]:
            self.finds(path, "#include <regex>", "nowhere")
            self.finds(path, "std::regex r;", "std::regex is allowed nowhere")

    def test_empty_folder_names_are_refused(self):
        for folder in ["common", "util", "utils", "misc"]:
            self.finds_file(f"core/{folder}/a.h", "says nothing")

    def test_only_the_program_prints(self):
        for line in ["#include <iostream>", "std::cout << 1;", "std::cerr << 1;", 'printf("x");', 'std::printf("x");',
                     'fprintf(stderr, "x");', 'std::puts("x");', "if (x) perror(p);"]:
            self.accepts("cli/a.cc", line)
            self.accepts("tests/a_test.cc", line)
            for layer in TABLE.layers.keys() - {"cli"}:
                found = judge(f"{layer}/a.cc", line + "\n")
                self.assertEqual(len(found), 1, (layer, line, found))
        self.accepts("core/a.cc", "std::snprintf(b, n, f);", "log.printf(x);", "// printf(x)", 'call("printf(x)");')

    def test_only_the_program_ends_the_process(self):
        for line in ["std::abort();", "abort ();", "::exit(1);", "return std::exit(1);", "else\nabort();",
                     "std::terminate();", "_exit(1);", "raise(SIGTERM);", "::kill(pid, SIGKILL);"]:
            self.accepts("cli/a.cc", line)
            found = judge("core/a.cc", line + "\n")
            self.assertEqual(len(found), 1, (line, found))
            self.assertIn("ending the process", found[0])
        self.accepts("core/error/internal_error.cc", 'fprintf(stderr, "x");', "std::abort();")
        self.accepts("core/a.cc", "void exit(Reason r);", "actor.exit(r);", "self->abort();", "Actor::exit(r);",
                     "on_exit(r);", "terminate(event);", "exit_reason(x);")

    def test_only_the_program_installs_handlers(self):
        for line in ["std::signal(SIGINT, f);", "signal(SIGINT, SIG_IGN);", "sigaction(n, a, b);", "std::atexit(f);",
                     "atexit(f);", "std::set_terminate(f);"]:
            self.accepts("cli/a.cc", line)
            self.finds("net/a.cc", line, "process-wide handler")
        self.accepts("core/a.cc", "gate.signal();", "signal(x);")

    # The table itself.

    def test_an_arrow_up_in_the_table_is_refused(self):
        for arrow in ['core = ["net"]', 'core = ["core"]', 'core = ["nowhere"]']:
            with self.assertRaises(ValueError):
                layers.Table(TABLE_TEXT.replace("core = []", arrow, 1))


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
