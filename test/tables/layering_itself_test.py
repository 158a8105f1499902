# The layering test notices each thing that it forbids, in a small tree made for it.
# SPDX-License-Identifier: Apache-2.0
"""layering_itself_test.py"""
import os
import tempfile
import unittest

import layering_test
from class_sizes import class_sizes


def complaints(tree):
    """What the test says of a tree of path -> text."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return layering_test.complaints(root)


class Layering(unittest.TestCase):
    def test_includes_downwards_are_fine(self):
        self.assertEqual([], complaints({"interpose/life/a.h": '#include "interpose/base/b.h"\n',
                                         "interpose/base/b.h": ""}))

    def test_includes_upwards_are_not(self):
        said = complaints({"interpose/base/b.h": '#include "interpose/life/a.h"\n',
                           "interpose/life/a.h": ""})
        self.assertIn("life stands above base", said[0])

    def test_no_header_is_an_exception(self):
        said = complaints({"allocator/pool/a.h": '#include "allocator/limits.h"\n',
                           "allocator/limits.h": ""})
        self.assertIn("the top stands above pool", said[0])

    def test_rooms_have_arrows(self):
        said = complaints({"allocator/a.h": '#include "interpose/base/b.h"\n',
                           "interpose/base/b.h": ""})
        self.assertIn("no arrow from allocator", said[0])

    def test_a_folder_needs_its_place_in_the_order(self):
        said = complaints({"interpose/cellar/a.h": '#include "interpose/base/b.h"\n',
                           "interpose/base/b.h": ""})
        self.assertIn("the order of interpose lacks a folder", said[0])

    def test_a_circle_through_sources_is_found(self):
        lines = "\n" * 30
        said = complaints({"interpose/life/a.h": "", "interpose/life/b.h": "",
                           "interpose/life/a.cpp": '#include "interpose/life/b.h"\n' + lines,
                           "interpose/life/b.cpp": '#include "interpose/life/a.h"\n' + lines})
        self.assertEqual(["2 units include each other: interpose/life/a, interpose/life/b"], said)

    def test_a_text_is_not_read_back(self):
        for line in ("text.erase(0, text.find('\\n'));", 'text.rfind("\\nNext: ");', "text.find(kNothingPasses);",
                     'text.find("Nothing that passes");', 'table.find("CLASS");', 'text.starts_with("\\n");'):
            for folder in ("text", "command", "page"):
                tree = {f"reporter/view/{folder}/a.h": "", f"reporter/view/{folder}/a.cpp": line + "\n"}
                self.assertIn("reads a text back", complaints(tree)[0], line)
        for line in ("if (text.shows_nothing()) return;", 'names.find("GiB");'):
            tree = {"reporter/view/text/a.h": "", "reporter/view/text/a.cpp": line + "\n"}
            self.assertEqual([], complaints(tree), line)

    def test_a_short_source_needs_a_header(self):
        self.assertIn("without a header", complaints({"interpose/life/a.cpp": "\n"})[0])
        self.assertEqual([], complaints({"interpose/life/a.cpp": "\n", "interpose/life/a.h": ""}))

    def test_a_file_has_under_400_lines(self):
        self.assertIn("stay under 400", complaints({"interpose/life/a.h": "\n" * 400})[0])

    def test_a_file_of_tests_has_under_400_lines_and_a_table_as_many_as_it_lists(self):
        for name in ("a_test.py", "a_test.cpp", "made.h"):
            self.assertEqual([f"test/view/{name}: 400 lines; stay under 400"], complaints({f"test/view/{name}": "\n" * 400}))
        self.assertEqual([], complaints({"test/simulator/a.def": "\n" * 400, "test/view/a_test.cpp": "\n"}))

    def test_a_class_has_at_most_40_methods(self):
        methods = "".join(f"  void f{i}();\n" for i in range(41))
        said = complaints({"interpose/life/a.h": f"class Big {{\n{methods}}};\n"})
        self.assertEqual(["interpose/life/a.h: class Big has over 40 methods"], said)

    def test_two_classes_have_two_names(self):
        said = complaints({"interpose/life/a.h": "struct One {\n};\n",
                           "reporter/record/b.h": "class One {\n};\nstruct Two { struct One {}; };\n"})
        self.assertEqual(["reporter/record/b.h: class One has the name of one in interpose/life/a.h"], said)


class ClassSizes(unittest.TestCase):
    def test_counts_declarations_and_bodies_not_calls(self):
        text = """
        namespace one { template <class T> class A final : public B<int(int)> {
         public:
          explicit A(int x = f(3)) : x_{x}, y_(g()) { h(); if (x) k(); }
          ~A();
          A(const A&) = delete;
          bool operator()(int) const noexcept { return f(1); }
          [[nodiscard]] auto get() const -> int VRAMSCOPE_REQUIRES(lock_);
          struct Inner { int a = f(); void one(); void (*callback)(int) = nullptr; };
          template <class F> void each(F f) { f(1); }
          friend bool operator==(const A&, const A&) = default;
         private:
          using Function = void(int);
          int x_ VRAMSCOPE_GUARDED_BY(lock_) = f(2), y_{};
        }; }
        void outside() { f(); }
        """
        self.assertEqual({"A": 5, "A::Inner": 1}, class_sizes(text))


if __name__ == "__main__":
    unittest.main()
