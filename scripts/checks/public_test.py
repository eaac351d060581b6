#!/usr/bin/env python3
"""The rules of public.py, seen to fire and seen to keep quiet."""

import sys
import unittest

import public

CORE = """
# weft_layer(of a comment PUBLIC_HEADERS z.h)
weft_layer(
  core
  PUBLIC_HEADERS
    error/error.h
    gate.h  # with a reason
  HEADERS
    words.h
  SOURCES
    gate.cc
)
"""
HEADERS = {
    "weft.h": '#include "weft/core/gate.h"\n',
    "core/gate.h": '#include <vector>\n#include "weft/core/error/error.h"\n',
    "core/error/error.h": "",
    "core/words.h": '#include "weft/core/secret.h"\n',
}


class PublicTest(unittest.TestCase):
    def judge(self, layers: dict[str, str] | None = None, **changed: str) -> list[str]:
        texts = {name.replace("__", "/") + ".h": text for name, text in changed.items()}
        return public.judge(layers or {"core": CORE}, {**HEADERS, **texts})

    def finds(self, expected: str, found: list[str]):
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])
        self.assertIn("To do:", found[0])

    def test_a_whole_package_is_fine(self):
        self.assertEqual(self.judge(), [])

    def test_a_public_header_may_not_include_a_private_one(self):
        text = HEADERS["core/gate.h"] + '#include "weft/core/words.h"\n'
        self.finds("core/gate.h:3: a public header includes weft/core/words.h", self.judge(core__gate=text))

    def test_nor_may_the_umbrella(self):
        text = HEADERS["weft.h"] + '#include "weft/core/words.h"\n'
        self.finds("weft.h:2: a public header includes weft/core/words.h", self.judge(weft=text))

    def test_an_include_in_a_comment_is_none(self):
        text = HEADERS["core/gate.h"] + '// #include "weft/core/words.h"\n'
        self.assertEqual(self.judge(core__gate=text), [])

    def test_a_public_header_that_nobody_reaches_is_found(self):
        self.finds("core/error/error.h:1: this public header cannot be reached", self.judge(core__gate=""))

    def test_a_header_is_in_one_list(self):
        both = CORE.replace("    words.h\n", "    words.h\n    gate.h\n")
        self.finds("gate.h is public and private", self.judge({"core": both}))

    def test_a_folder_without_a_layer_has_no_public_headers(self):
        self.assertEqual(public.lists("add_library(weft_source_path STATIC a.cc)"), {})
        self.assertEqual(public.lists(CORE)["PUBLIC_HEADERS"], ["error/error.h", "gate.h"])


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
