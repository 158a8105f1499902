# Bundles the page of `vramscope html` with what npm fetches, and writes it as C++ text.
# SPDX-License-Identifier: Apache-2.0
"""bundle.py --npm NPM --node NODE --folder FOLDER --depfile FILE --output FILE [--with-tests]
[--required]

FOLDER gets npm's packages, as the lock file names them. Where they cannot be had, that is said, and
the text is empty: the tool is whole but for its verb html, and the next build tries again. --required
makes that a failure. The same sources give the same bytes."""
import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ("charts.js", "dom.js", "flame.js", "holders.js", "main.js", "map.js", "model.js", "numbers.js", "page.css", "page.html",
           "tables.js", "timeline.js", "views.js")  # fmt: skip
PACKAGES = ("package.json", "package-lock.json")
BUNDLED = ("d3-hierarchy", "uplot")  # whose licences the page carries
NPM_SECONDS = 120
PART = 12000  # bytes of one string literal


class NoPackages(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_if_changed(path, text):
    if not os.path.exists(path) or read(path) != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def stamp_of(arguments):
    locked = "".join(read(os.path.join(HERE, name)) for name in PACKAGES)
    return hashlib.sha256((locked + str(arguments.with_tests)).encode()).hexdigest()


def install(arguments):
    """Packages of the lock file, unless they are there already."""
    stamp = os.path.join(arguments.folder, "stamp")
    if os.path.exists(stamp) and read(stamp) == stamp_of(arguments):
        return
    os.makedirs(arguments.folder, exist_ok=True)
    for name in PACKAGES:
        shutil.copyfile(os.path.join(HERE, name), os.path.join(arguments.folder, name))
    words = [arguments.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
             "--loglevel=error", "--fetch-retries=1"]  # fmt: skip
    words += [] if arguments.with_tests else ["--omit=dev"]
    try:
        done = subprocess.run(words, cwd=arguments.folder, timeout=NPM_SECONDS, capture_output=True, text=True,
                              check=False)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NoPackages(f"npm took longer than {NPM_SECONDS} s") from error
    if done.returncode != 0:
        raise NoPackages((done.stderr.strip().splitlines() or ["npm said nothing"])[0])
    write_if_changed(stamp, stamp_of(arguments))


def built(arguments, entry, *options):
    """What esbuild makes of the file, as one text."""
    modules = os.path.join(arguments.folder, "node_modules")
    words = [arguments.node, os.path.join(modules, "esbuild/bin/esbuild"), os.path.join(HERE, entry), "--bundle",
             "--minify", "--target=es2020", "--charset=utf8", "--legal-comments=none", *options]  # fmt: skip
    environment = {**os.environ, "NODE_PATH": modules}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout.strip()


def licences(arguments):
    parts = []
    for name in BUNDLED:
        text = read(os.path.join(arguments.folder, "node_modules", name, "LICENSE"))
        parts.append(f"{name}\n\n{text.strip()}")
    text = "\n\n".join(parts)
    return text.replace("&", "&amp;").replace("<", "&lt;")


def source_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page(arguments):
    script = built(arguments, "main.js", "--format=iife")
    style = built(arguments, "page.css")
    if "</script" in script or "<!--" in script or "</style" in style:
        sys.exit("bundle.py: the bundle would end its own element")
    policy = f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; " \
             "base-uri 'none'; form-action 'none'"  # fmt: skip
    text = read(os.path.join(HERE, "page.html"))
    for name, content in (("POLICY", policy), ("STYLE", style), ("LICENCES", licences(arguments)), ("SCRIPT", script)):
        before, mark, after = text.partition(f"@@{name}@@")
        assert mark, name
        text = before + content + after
    assert text.count("@@REPORT@@") == 1
    return text


def literal(data):
    """Bytes as string literals of C++, each of which is short enough for any compiler."""
    plain = {ord("\n"): "\\n", ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    parts = []
    for at in range(0, len(data), PART):
        parts.append("".join(plain.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
                             for byte in data[at:at + PART]))  # fmt: skip
    return "\n".join(f'    "{part}"' for part in parts) or '    ""'


def cpp(text):
    return (
        "// The page of vramscope html, as bundle.py made it.\n"
        "namespace vramscope {\n"
        "extern const char kPageBundle[];\n"
        f"const char kPageBundle[] =\n{literal(text.encode())};\n"
        "}  // namespace vramscope\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--npm", "--node", "--folder", "--depfile", "--output"):
        parser.add_argument(name, required=True)
    parser.add_argument("--with-tests", action="store_true")
    parser.add_argument("--required", action="store_true")
    arguments = parser.parse_args()
    arguments.folder = os.path.abspath(arguments.folder)
    inputs = [os.path.join(HERE, name) for name in SOURCES + PACKAGES]
    try:
        install(arguments)
        text = page(arguments)
    except NoPackages as error:
        print(f"bundle.py: no page: {error}", file=sys.stderr)
        if arguments.required:
            return 1
        text = ""
        inputs.append(os.path.join(arguments.folder, "is-never-there"))  # so that the next build tries again
    write_if_changed(arguments.output, cpp(text))
    if text:
        write_if_changed(os.path.join(arguments.folder, "template.html"), text)
    with open(arguments.depfile, "w", encoding="utf-8") as file:
        file.write(f"{arguments.output}: {' '.join(path.replace(' ', chr(92) + ' ') for path in inputs)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
