#!/usr/bin/env python3
"""The rules of orphans.py, repo.py and sizes.py, and what memory.py thinks due, seen to fire and seen to keep quiet in small trees."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import memory
import orphans
import repo
import sizes
import tree


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def write(self, path: str, text: str = "\n") -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def assert_finds(self, found: list[str], *starts_and_words: tuple[str, str]) -> None:
        """As many findings as expected, each with its place, its words, and advice."""
        self.assertEqual(len(found), len(starts_and_words), found)
        for finding, (start, words) in zip(found, starts_and_words):
            self.assertTrue(finding.startswith(start), finding)
            self.assertIn(words, finding)
            self.assertIn("To do: ", finding)


class FilesTest(TreeTest):
    def test_ignored_and_deleted_files_are_not_of_the_tree(self):
        self.write(".gitignore", "/build/\n")
        self.write("build/a.cc")
        self.write("core/new.cc")
        self.write("core/gone.cc")
        subprocess.run(["git", "add", "core/gone.cc"], cwd=self.root, check=True)
        (self.root / "core/gone.cc").unlink()
        self.assertEqual(tree.files(self.root), [".gitignore", "core/new.cc"])


class DueTest(TreeTest):
    def test_a_changed_header_makes_the_few_sources_due_that_include_it(self):
        self.write("core/a.cc", '#include "weft/core/own.h"\n#include "weft/core/common.h"\n')
        sources = {"a": ["core/a.cc"]}
        for number in range(memory.FEW_INCLUDERS):
            self.write(f"core/{number}.cc", '#include "weft/core/common.h"\n')
            sources[str(number)] = [f"core/{number}.cc"]
        self.assertEqual(memory.includers(self.root, sources, {"core/own.h"}), {"a"})
        self.assertEqual(memory.includers(self.root, sources, {"core/common.h"}), set())
        self.assertEqual(memory.includers(self.root, sources, {"core/other.h"}), set())


class OrphansTest(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("scripts/layers.toml", "[layers]\ncore = []\ngpu = []\n")
        self.write("build/lint/compile_commands.json", json.dumps([
            {"directory": str(self.root / "build/lint"), "file": "../../core/lint.cc", "command": ""}]))
        self.write("build/release/compile_commands.json", json.dumps([
            {"directory": str(self.root), "file": str(self.root / "tests/core/a_test.cc"), "command": ""}]))
        self.write(".gitignore", "/build/\n")

    def test_what_either_build_compiles_is_fine(self):
        for path in ["core/lint.cc", "tests/core/a_test.cc", "tests/install/a.cc", "tests/must_not_compile/a.cc",
                     "examples/a.cc"]:
            self.write(path)
        self.assertEqual(orphans.findings(self.root), [])

    def test_what_no_build_compiles_is_found(self):
        self.write("core/CMakeLists.txt", "SOURCES a.cc")
        for path in ["bench/core/a_bench.cc", "core/a.cc", "tests/core/b_test.cc"]:
            self.write(path)
        self.assert_finds(orphans.findings(self.root), ("bench/core/a_bench.cc:1", "no build"),
                          ("core/a.cc:1", "no build"), ("tests/core/b_test.cc:1", "no build"))

    def test_a_cuda_file_only_has_to_be_named(self):
        self.write("gpu/CMakeLists.txt", "weft_layer(gpu SOURCES cuda/a.cu)  # cuda/b.cu")
        self.write("gpu/cuda/a.cu")
        self.write("gpu/cuda/b.cu")
        self.assert_finds(orphans.findings(self.root), ("gpu/cuda/b.cu:1", "no build"))

    def test_a_header_has_to_be_named_in_its_layer(self):
        self.write("CMakeLists.txt", "core/b.h")
        self.write("core/CMakeLists.txt", "weft_layer(core\n  HEADERS a.h deep/a.h)\n# b.h")
        for path in ["core/a.h", "core/b.h", "core/deep/a.h", "core/deep/b.h", "tests/fixture/a.h"]:
            self.write(path)
        self.assert_finds(orphans.findings(self.root), ("core/b.h:1", "no header set"), ("core/deep/b.h:1", "no header set"))


class SizesTest(TreeTest):
    def test_a_file_may_reach_its_limit(self):
        for path, lines in [("core/a.cc", 600), ("kernels/a.cc", 800), ("gpu/cuda/a.cu", 800), ("docs/a.md", 5000)]:
            self.write(path, "\n" * lines)
        self.assertEqual(sizes.findings(self.root), [])

    def test_a_longer_file_is_found_unless_it_says_why(self):
        for path, lines in [("core/a.h", 601), ("gpu/cuda/a.cu", 801), ("kernels/a_cpu.cc", 801)]:
            self.write(path, "\n" * lines)
        self.write("core/b.cc", "// Size: one table\n" + "\n" * 700)
        self.write("core/c.cc", "// Size: \n" + "\n" * 700)
        self.assert_finds(sizes.findings(self.root), ("core/a.h:1", "601 lines"), ("core/c.cc:1", "701 lines"),
                          ("gpu/cuda/a.cu:1", "801 lines"), ("kernels/a_cpu.cc:1", "801 lines"))


class RepoTest(TreeTest):
    def assert_line(self, path: str, line: str, words: str) -> None:
        self.assert_finds(repo.findings_of(path, f"\n{line}\n", False), (f"{path}:2: ", words))

    def assert_fine(self, path: str, line: str) -> None:
        self.assertEqual(repo.findings_of(path, f"{line}\n", False), [])

    def test_paths_of_one_machine_are_found(self):
        for path in ["home/me/weft", "Users/me", "root/x", "work/y", "mnt/data"]:
            self.assert_line("docs/a.md", f"see /{path}", "a path of one machine")
            self.assert_line("core/a.cc", f'open("/{path}")', "a path of one machine")
        for line in ["/homes/x", "$HOME/home/x", "https://example.com/home/x", "a/root/b", "~/work/x", "../root/x",
                     "/usr/include/boost", "${root}/root/x"]:
            self.assert_fine("docs/a.md", line)

    def test_fixed_temporary_paths_are_found_outside_scripts_and_tests(self):
        self.assert_line("core/a.cc", 'open("/t' 'mp/weft.sock")', "a fixed temporary path")
        self.assert_fine("tests/a_test.cc", 'open("/t' 'mp/weft.sock")')

    def test_notes_to_oneself_are_found(self):
        for note in ["TO" "DO: later", "FIX" "ME", "// X" "XX"]:
            self.assert_line("core/a.cc", note, "a note to oneself")
        for line in ["mktemp -d weft.XXXXXX", "XxxMsg", "todo", '"\\uXXXX"']:
            self.assert_fine("core/a.cc", line)

    def test_merge_markers_are_found(self):
        for marker in ["<" * 7 + " HEAD", ">" * 7 + " branch", "|" * 7 + " base"]:
            self.assert_line("a.md", marker, "a merge marker")
        for line in ["=" * 7, "step<<<1, 2>>>()", "<" * 8]:
            self.assert_fine("a.md", line)

    def test_stray_white_space_is_found(self):
        for line in ["x ", "x\t", "x\r"]:
            self.assert_line("a.md", line, "trailing white space")
        self.assert_finds(repo.findings_of("a.md", "a\nb", False), ("a.md:2", "no line end"))
        self.assertEqual(repo.findings_of("a.md", "", False), [])

    def test_files_that_keep_white_space_and_binary_files_are_left_alone(self):
        self.write(".gitattributes", "*.golden -whitespace\n*.bin binary\n")
        self.write("tests/a.golden", "x \ny")
        self.write("tests/a.bin", "x \n")
        (self.root / "tests/b.dat").write_bytes(b"\0 \n")
        self.write("tests/a.txt", "x \n")
        self.assert_finds(repo.findings(self.root), ("tests/a.txt:1", "trailing white space"))


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False).result.wasSuccessful() else 1)
