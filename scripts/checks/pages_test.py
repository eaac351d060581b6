#!/usr/bin/env python3
"""The rules of pages.py, seen to fire and seen to keep quiet."""

import sys
import unittest

import pages

KNOWN = {"Suite.One", "Suite.Two", "Other.One", "test_a.py:test_one", "test_a.py:test_two"}
HEAD = "# A page\n\n| point | test |\n| --- | --- |\n"


class PagesTest(unittest.TestCase):
    def judge(self, text: str, whole: str | None = None) -> list[str]:
        return pages.judge("docs/a.md", text, KNOWN, whole)

    def finds(self, text: str, line: int, what: str, whole: str | None = None) -> None:
        found = self.judge(text, whole)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"docs/a.md:{line}: "), found[0])
        self.assertIn(what, found[0])
        self.assertIn("To do: ", found[0])

    def test_rows_name_tests_of_both_languages(self):
        self.assertEqual(self.judge(HEAD + "| a | `Suite.One` |\n| b \\| c | `test_a.py:test_one`, `Other.One` |\n"), [])

    def test_a_test_that_is_not_there_is_found(self):
        for name in ("Suite.Three", "test_a.py:test_three", "test_b.py:test_one"):
            self.finds(HEAD + f"| a | `Suite.One` |\n| b | `{name}` |\n", 6, name)

    def test_a_row_without_a_test_is_found(self):
        self.finds(HEAD + "| a | `Suite.One` |\n| `b` | |\n", 6, "without a test")

    def test_other_tables_are_let_be(self):
        other = "\n| operation | signature |\n| --- | --- |\n| `a` | `No.Test` |\n"
        self.assertEqual(self.judge(HEAD + "| a | `Suite.One` |\n" + other), [])
        self.assertEqual(self.judge(other + "\n" + HEAD + "| a | `Suite.One` |\n"), [])

    def test_a_page_that_names_nothing_is_found(self):
        self.finds("# A page\n\n| a | b |\n| --- | --- |\n", 1, "names no test")

    def test_the_page_of_a_suite_or_file_leaves_nothing_out(self):
        self.assertEqual(self.judge(HEAD + "| a | `Suite.One`, `Suite.Two` |\n", "Suite"), [])
        self.finds(HEAD + "| a | `Suite.One` |\n", 1, "nothing on Suite.Two", "Suite")
        self.finds(HEAD + "| a | `test_a.py:test_one` |\n", 1, "nothing on test_a.py:test_two", "test_a.py")

    def test_tests_are_found_however_they_are_written(self):
        self.assertEqual(pages.CPP_TEST.findall("TEST(A, B) {\nTEST_F(A,\n       C) {\nTYPED_TEST(D, E) {\n// TEST(F, G)\n"),
                         [("A", "B"), ("A", "C"), ("D", "E")])
        self.assertEqual(pages.PYTHON_TEST.findall("def test_a(x):\n    def test_b():\ndef helper():\n"), ["test_a"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=0))
