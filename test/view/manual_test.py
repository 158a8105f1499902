# Every example of the manual is executed, and prints what the page shows.
# SPDX-License-Identifier: Apache-2.0
"""manual_test.py BUILD

An example is a block of code in reporter/manual whose first line begins with "$ ". Commands run in a
folder with the programs train and train.py, train's report and trace, reports of three ranks (ranks/), and
the reports of test/view/real. VRAMSCOPE_WRITE_GOLDEN=1 writes what they print into the pages."""
import atexit
import functools
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tempfile


import tool_case  # noqa: F401 - finds the harness
import harness
from command_line_test import without_chance

PAGES = harness.SOURCE / "reporter/manual"
REAL = harness.SOURCE / "test/view/real"
BLOCK = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)
COLUMNS = "80"


def examples(text):
    """(the block as it stands, [(command, what is printed)]) of each block that has commands."""
    for block in BLOCK.findall(text):
        lines = [line[4:] for line in block.strip("\n").splitlines()]
        if not lines[0].startswith("$ "):
            continue
        steps = []
        for line in lines:
            if line.startswith("$ "):
                steps.append(([line[2:]], []))
            elif steps[-1][0][-1].endswith("\\") and not steps[-1][1]:
                steps[-1][0].append(line)
            else:
                steps[-1][1].append(line)
        yield block, [("\n".join(command), "\n".join(printed).rstrip()) for command, printed in steps]


def words(text):
    """What a text says, wherever its lines end; process ids and times are those of one run."""
    return re.sub(r"\btrain \d+|\(\d+\)|\b\d+ +exit\b", "PID", without_chance(text)).split()


def shell(command, folder):
    environment = harness.environment(XDG_CACHE_HOME="/dev/null", COLUMNS=COLUMNS, LD_LIBRARY_PATH="")
    environment["PATH"] = f"{harness.TOOL.parent}:{environment['PATH']}"
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=harness.DEADLINE_S).stdout  # fmt: skip


@functools.cache
def samples():
    """What the examples find in their folder."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vramscope-manual-"))
    atexit.register(shutil.rmtree, folder)
    for packed in REAL.glob("*.json.xz"):
        (folder / packed.stem).write_bytes(lzma.open(packed).read())
    shutil.copy(harness.program("train"), folder)
    shutil.copy(harness.SOURCE / "test/programs/train.py", folder)
    
    (folder / "ranks").mkdir()
    ranks = "; ".join(f"RANK={rank} vramscope run --sim -q -o ranks/r%r.json ./train" for rank in range(3))
    shell(f"vramscope run --sim -q -o train.json --trace train.trace ./train; {ranks}", folder)
    return folder


class Manual(harness.Case):
    def follow(self, page):
        folder = pathlib.Path(self.folder, page.stem)
        shutil.copytree(samples(), folder)
        text = page.read_text(encoding="utf-8")
        for block, steps in examples(text):
            printed = [(command, shown, shell(command, folder).rstrip()) for command, shown in steps]
            for command, shown, said in printed:
                if words(shown) != words(said) and "VRAMSCOPE_WRITE_GOLDEN" not in os.environ:
                    self.fail(f"{page.name}: $ {command}\n--- shown\n{shown}\n--- printed (VRAMSCOPE_WRITE_GOLDEN=1 writes it)\n{said}")
            kept = [(command, shown if words(shown) == words(said) else said) for command, shown, said in printed]
            lines = "\n".join(f"$ {command}\n{said}".rstrip() for command, said in kept)
            new = re.sub(r"^(?=.)", "    ", re.sub(r" +$", "", lines, flags=re.M).rstrip(), flags=re.M) + "\n"
            text = text.replace(block.strip("\n") + "\n", new)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")

    def test_each_page_is_one_of_man(self):
        made = sorted((harness.BUILD / "reporter/manual").glob("vramscope-*.1"))
        if not made:
            self.skipTest("lowdown is not installed")
        self.assertEqual([f"vramscope-{page.stem}.1" for page in sorted(PAGES.glob("*.md")) if page.stem != "README"], [page.name for page in made])
        harness.installed("mandoc")
        for page in made:
            found = subprocess.run(["mandoc", "-Tlint", "-Wunsupp", page], capture_output=True, text=True, check=False)
            self.assertEqual((0, ""), (found.returncode, found.stdout), page)
            shown = subprocess.run(["mandoc", "-Tascii", "-Owidth=200", page], capture_output=True, text=True, check=True).stdout
            shown = re.sub(r".\x08", "", shown)
            self.assertRegex(shown, rf"\nNAME\n +{page.stem} - \w")
            self.assertNotRegex(shown, r"\]\(|\|---|<!--")
        self.assertIn("--output 'vram/%e.%p.json' ./train", shown_on_paper("vramscope-ci.1"))

    def test_nearly_every_page_has_an_example(self):
        pages = [page for page in PAGES.glob("*.md") if page.name != "README.md"]
        self.assertLess(12, len(pages))
        self.assertLess(10, sum(any(True for _ in examples(page.read_text())) for page in pages))


def shown_on_paper(name):
    return subprocess.run(["mandoc", "-Tascii", harness.BUILD / "reporter/manual" / name], capture_output=True, text=True, check=True).stdout


def example_of(page):
    return lambda self: self.follow(page)


for each_page in sorted(PAGES.glob("*.md")):
    setattr(Manual, f"test_the_examples_of_{each_page.stem}", example_of(each_page))

if __name__ == "__main__":
    harness.main()
