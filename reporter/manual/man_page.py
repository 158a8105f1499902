# A page of the manual as one of man(7), by lowdown.
# SPDX-License-Identifier: Apache-2.0
"""man_page.py LOWDOWN VERSION PAGE OUTPUT

The page's first line is "# Title: what it is about". The links of a page become its SEE ALSO."""
import pathlib
import re
import subprocess
import sys

FENCED = re.compile(r"^(?: {4}.*\n?)+", re.MULTILINE)
TABLE = re.compile(r"^\|.*\n\|[-|]+\|\n(?:\|.*\n?)+", re.MULTILINE)
# What a terminal would show as another character, so that no command could be copied.
ESCAPED = {"'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "-": r"\-"}


def outside_code(text, change):
    """The text with `change` made in all but its blocks of code."""
    end, parts = 0, []
    for code in FENCED.finditer(text):
        parts += [change(text[end : code.start()]), code.group()]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def described(table):
    """A table as a list of terms: its lines are too narrow for tables on a terminal."""
    head, _, *rows = [[cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.group().splitlines()]

    def text(cells):
        if len(head) == 2:
            return cells[0]
        return "; ".join(f"{title}: {cell}" for title, cell in zip(head[1:], cells) if cell)

    return "".join(f"{row[0] or '(others)'}\n:   {text(row[1:])}\n\n" for row in rows)


def man_text(text, name):
    """The page in Markdown, with the sections that a manual page has."""
    title, body = text.split("\n", 1)
    about = re.fullmatch(r"# [^:]+: (.+)", title)[1]
    pages, files = {"vramscope(1)"}, set()

    def plain(link):
        words, target = link.groups()
        file = target.partition("#")[0]
        page = re.fullmatch(r"(\w+)\.md", file)
        if page and page[1] != "README":
            pages.add(f"vramscope-{page[1]}(1)")
        elif file and "://" not in file:
            files.add(file.removeprefix("../").removeprefix("../"))
        return f"{words} ({target})" if "://" in target else words

    def change(part):
        part = re.sub(r"^<!--.*-->\n", "", part, flags=re.MULTILINE)
        part = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n\n?", "", part, flags=re.MULTILINE)
        part = TABLE.sub(described, part)
        part = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", plain, part)
        return re.sub(r"^#(#+ )", r"\1", part, flags=re.MULTILINE)

    body = outside_code(body, change)
    also = ", ".join(sorted(pages - {f"{name}(1)"}))
    there = "".join(f"\n- {file}" for file in sorted(files))
    there = f"\n\nBelow share/doc/vramscope, or in the sources:\n{there}" if there else ""
    return f"# NAME\n\n{name} - {about}\n\n# DESCRIPTION\n{body}\n# SEE ALSO\n\n{also}{there}\n"


def printable(made):
    """What lowdown made, with code in bold, and blocks of code whose characters stay as they are."""
    made = made.replace(r"\fC", r"\fB")
    plain = str.maketrans(ESCAPED)
    return re.sub(r"^\.EX\n.*?^\.EE$", lambda block: block.group().translate(plain), made, flags=re.MULTILINE | re.DOTALL)


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: " + __doc__)
    lowdown, version, page, output = sys.argv[1:]
    name = "vramscope-" + pathlib.Path(page).stem
    text = man_text(pathlib.Path(page).read_text(encoding="utf-8"), name)
    titles = [f"-M{key}={value}" for key, value in {"title": name.upper(), "section": "1", "source": f"vramscope {version}"}.items()]
    made = subprocess.run([lowdown, "-s", "-tman", *titles], input=text, text=True, capture_output=True, check=True)
    pathlib.Path(output).write_text(printable(made.stdout), encoding="utf-8")


if __name__ == "__main__":
    main()
