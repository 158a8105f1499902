# The pages for people agree with the tree and with the tool: links, named files, scripts, verbs.
# SPDX-License-Identifier: Apache-2.0
"""documents_test.py SOURCE_ROOT VRAMSCOPE"""
import os
import re
import subprocess
import sys

ROOMS = ("interpose", "allocator", "reporter", "test", "scripts")
README_LINES = 150
MANUAL = "reporter/manual"
MANUAL_LINES = 200  # of each page
PAGE = re.compile(r"(README|FORMAT|CHANGELOG|CONTRIBUTING|OPEN|BEHAVIOURS|PROMISES|RESULTS)\.md$|^reporter/manual/\w+\.md$")
SOURCE_NAME = re.compile(r"[\w.-]+\.(cpp|h|S|cu|def|py|md|schema\.json|sh|map|seq)$")
FOREIGN = {"cuda.h", "cudaTypedefs.h"}  # the vendor's


def files(root):
    """Every file of the rooms and the pages beside them, as paths from the root."""
    yield from (name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name)))
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            yield from (os.path.relpath(os.path.join(folder, name), root) for name in names)


def headings(text):
    """The anchors that a reader of the page can jump to, as GitHub names them."""
    for title in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


class Page:
    """One document; each check gives (what was looked at, what is wrong with it or None)."""

    def __init__(self, root, path, known):
        self.root, self.path, self.known = root, path, known
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
        self.code = [span for spans in re.findall(r"`([^`\n]+)`|^    (.*)$", self.text, re.M)
                     for span in spans if span]

    def there(self, name):
        beside = os.path.join(self.root, os.path.dirname(self.path), name)
        return os.path.exists(beside) or os.path.exists(os.path.join(self.root, name))

    def links(self):
        for target in re.findall(r"\]\(([^)\s]+)\)", self.text):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            folder = os.path.dirname(os.path.join(self.root, self.path))
            file = os.path.normpath(os.path.join(folder, name)) if name else os.path.join(self.root, self.path)
            wrong = None if os.path.exists(file) else "leads nowhere"
            if not wrong and anchor:
                with open(file, encoding="utf-8") as found:
                    wrong = None if anchor in headings(found.read()) else "has no such heading"
            yield f"link {target}", wrong

    def named_files(self):
        """Paths in code spans: into a room, of a folder ("life/"), or a source file's bare name."""
        for span in re.findall(r"`([^`\s]+)`", self.text):
            if not re.fullmatch(r"[\w./-]+", span) or span.startswith(("/", ".", "build/")):
                continue
            bare = "/" not in span
            if bare and SOURCE_NAME.match(span) and span not in FOREIGN:
                yield f"file {span}", None if span in self.known else "is in no room"
            elif not bare and (span.split("/")[0] in ROOMS or span.endswith("/") or SOURCE_NAME.search(span)):
                stem = any(self.there(span + ext) for ext in ("", ".h", ".cpp"))
                yield f"path {span}", None if stem else "does not exist"

    def scripts(self):
        for line in self.code:
            for name, rest in re.findall(r"(?<![\w/])scripts/([\w-]+)([^;|]*)", line):
                path = os.path.join(self.root, "scripts", name)
                if not os.access(path, os.X_OK):
                    yield f"scripts/{name}", "cannot be executed"
                    continue
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for flag in re.findall(r"(?<=\s)--[\w-]+", rest.split("#")[0]) or [""]:
                    yield f"scripts/{name} {flag}", None if flag in text else "has no such flag"

    def verbs(self, tool):
        for line in self.code:
            for verb, rest in re.findall(r"(?:^|\$ |[(\"]|: |=\S+ )vramscope ([a-z]+)\b([^|)]*)", line):
                if verb not in tool:
                    yield f"vramscope {verb}", "is no verb"
                    continue
                words = rest.split(" -- ")[0].split("#")[0]
                for flag in re.findall(r"(?<=\s)--[a-z][\w-]*", words) or [""]:
                    yield f"vramscope {verb} {flag}", None if flag in tool[verb] else "has no such option"


def helps(tool):
    """verb -> its help."""
    def ask(*arguments):
        return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True).stdout

    listed = re.search(r"(?im)^subcommands:\n((?:  .*\n)+)", ask("--help"))[1]
    return {verb: ask(verb, "--help") for verb in re.findall(r"^  ([a-z]+)\b", listed, re.M)}


def lengths(pages):
    """README and each page of the manual can be read at one sitting."""
    for page in pages:
        most = README_LINES if page.path == "README.md" else MANUAL_LINES
        lines = page.text.count("\n")
        if lines > most and (page.path == "README.md" or page.path.startswith(MANUAL + "/")):
            yield f"{page.path}: {lines} lines; at most {most}: split its subject, or move details to a page of their own"


def uninstalled(root, paths):
    """Pages that the build does not install."""
    with open(os.path.join(root, MANUAL, "meson.build"), encoding="utf-8") as file:
        listed = re.findall(r"'([^']+)'", file.read())
    for path in paths:
        folder, name = os.path.split(path)
        if folder.startswith(MANUAL) and name.endswith((".md", ".png", ".svg")):
            known = {name.removesuffix(".md"), os.path.relpath(path, MANUAL)}
            if not known & set(listed):
                yield f"{path}: not in {MANUAL}/meson.build, so that it is not installed"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: " + __doc__)
    root, tool = sys.argv[1], helps(sys.argv[2])
    paths = sorted(files(root))
    known = {os.path.basename(path) for path in paths}
    problems, looked = [], {"links": 0, "named_files": 0, "scripts": 0, "verbs": 0}
    pages = [Page(root, path, known) for path in paths if PAGE.search(path)]
    for page in pages:
        for check in looked:
            for what, wrong in getattr(page, check)(*([tool] if check == "verbs" else [])):
                looked[check] += 1
                if wrong:
                    problems.append(f"{page.path}: {what} {wrong}")
    problems += lengths(pages)
    problems += uninstalled(root, paths)
    problems += [f"no {check} found: is the check broken?" for check, count in looked.items() if not count]
    for problem in problems:
        print("documents:", problem)
    print(f"documents: {len(pages)} pages, {sum(looked.values())} names, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
