# How many methods each class of a C++ file declares; enough of a parser for this code's style.
# SPDX-License-Identifier: Apache-2.0
"""class_sizes.py FILE...: prints methods and name of each class, the largest first."""
import re
import sys

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)   # and preprocessor lines
  | (?P<literal>R"(?P<raw>\w*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<word>\w+(?:'\w+)*)
  | (?P<sign>::|->|\[\[|\]\]|&&|\|\||[<>=!]=|<<|.)
""", re.X | re.S | re.M)
CLOSING = {"(": ")", "{": "}", "[": "]", "[[": "]]", "<": ">"}


def tokens(text):
    return [m.group() for m in TOKEN.finditer(text) if m.lastgroup not in ("space",)
            and not m.group().isspace()]


def skip(words, at):
    """Position behind the bracket that closes the one at `at`."""
    opening, depth = words[at], 0
    closing = CLOSING[opening]
    while at < len(words):
        if words[at] == opening:
            depth += 1
        elif words[at] == closing:
            depth -= 1
            if depth == 0:
                return at + 1
        elif opening == "<" and words[at] == "(":
            at = skip(words, at)
            continue
        elif opening == "<" and words[at] in ";{":  # it was a comparison
            return at
        at += 1
    return at


def is_macro(word):
    return word.startswith("VRAMSCOPE_") or word in ("alignas", "__attribute__", "decltype", "noexcept",
                                                     "requires", "explicit")


def next_statement(words, at, end):
    """(words of a declaration without bodies and arguments, position of its body or -1, position
    behind it); a parameter list stays as "(" and the word after it."""
    kept, initialised, body = [], False, -1
    while at < end:
        word = words[at]
        if word == ";":
            return kept, body, at + 1
        if word in ("public", "private", "protected") and words[at + 1] == ":":
            at += 2
        elif word == "[[":
            at = skip(words, at)
        elif is_macro(word) and words[at + 1] == "(":
            at = skip(words, at + 1)
        elif word == "operator" and not initialised:
            kept.append("operator")
            at += 1
            while words[at] != "(" or words[at + 1] == ")" and words[at + 2] == "(":
                at += 2 if words[at] == "(" else 1
        elif word == "<" and not initialised and kept and re.match(r"\w", kept[-1]):
            at = skip(words, at)
        elif word in ("=", "==") and kept:
            initialised = True
            kept.append("=")
            at += 1
            if words[at] in ("delete", "default"):
                kept.append(words[at])
        elif word == "(":
            if not initialised:
                kept += ["(", words[at + 1]]
            at = skip(words, at)
        elif word == "{":
            behind = skip(words, at)
            is_scope = {"class", "struct", "union", "enum", "namespace"} & set(kept)
            if initialised or (not is_scope and "(" not in kept):  # an initial value
                at = behind
                continue
            if "(" in kept and not {"class", "struct", "union"} & set(kept[:kept.index("(")]):
                # Members that a constructor initialises with braces come before its body.
                if ":" in kept and behind < end and words[behind] in (",", "{"):
                    at = behind
                    continue
                return kept, at, behind
            body = at
            at = behind
            if "namespace" in kept or "extern" in kept:
                return kept, body, at
        else:
            if not initialised:
                kept.append(word)
            at += 1
    return kept, body, at


def is_method(kept):
    if {"using", "typedef", "static_assert", "friend", "delete"} & set(kept) or "(" not in kept:
        return False
    if {"class", "struct", "enum", "union"} & set(kept) and "template" not in kept:
        return False
    at = kept.index("(")
    if "=" in kept[:at] or at == 0:
        return False
    return kept[at + 1] not in ("*", "&") and re.match(r"\w", kept[at - 1]) is not None


def walk(words, at, end, name, counts):
    while at < end:
        kept, body, behind = next_statement(words, at, end)
        behind = max(behind, at + 1)
        if name and is_method(kept):
            counts[name] += 1
        elif body >= 0:
            inner = None
            if "namespace" in kept or "extern" in kept:
                inner = ""
            else:
                for key in ("class", "struct", "union"):
                    if key in kept and "enum" not in kept and kept.index(key) + 1 < len(kept):
                        tag = kept[kept.index(key) + 1:]
                        tag = [w for w in tag[:tag.index(":")] if ":" in tag] if ":" in tag else tag
                        scope = "::".join(w for w in tag if re.match(r"\w", w) and w != "final")
                        inner = f"{name}::{scope}" if name else scope
                        counts.setdefault(inner, 0)
                        break
            if inner is not None:
                walk(words, body + 1, skip(words, body) - 1, inner, counts)
        at = behind


def class_sizes(text):
    """Class -> methods that it declares, without deleted ones; overloads and nested classes apart."""
    words = tokens(text)
    counts = {}
    walk(words, 0, len(words), "", counts)
    return counts


def main():
    sizes = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            sizes += [(count, name, path) for name, count in class_sizes(file.read()).items()]
    for count, name, path in sorted(sizes, key=lambda size: (-size[0], size[1])):
        print(count, name, path)


if __name__ == "__main__":
    main()
