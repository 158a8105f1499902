# Every message of the preloaded library has an example in messages.txt, and every example is a message.
# SPDX-License-Identifier: Apache-2.0
"""messages_test.py SOURCE_ROOT"""
import os
import re
import sys

ROOMS = ("interpose", "allocator", "reporter/record")
# Texts of sentences that no user of a program meets: invariants stop a test build, exporters.cpp has a reason beside each
# library's name, the rest are machine code, checks of the compiler and what stands in a crash.
NO_MESSAGES = (
    "allocator/invariants.cpp",
    "allocator/ladder.cpp",
    "allocator/base/",
    "interpose/base/clock.h",
    "interpose/table/functions.h",
)
REASONS = "interpose/driver/exporters.cpp"  # rows of its table hold {"library", "reason"}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.S)
LITERALS = re.compile(r'(?:"(?:\\.|[^"\\])*"\s*)+')
# Forms that a reader has to read twice; CONTRIBUTING.md has the reasons.
UNCLEAR = re.compile(r"\b(told|untold|whose|gone|besides|, too)\b|\bthat (is|are) there\b")
MOST = 160  # characters of a message


def sentences(path):
    """Texts of at least three words, those of neighbouring literals joined."""
    with open(path, encoding="utf-8") as file:
        source = TOKEN.sub(lambda found: found[0] if found[0][0] in "\"'" else " ", file.read())
    for found in LITERALS.finditer(source):
        text = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', found[0]))
        if len(re.findall(r"[A-Za-z]{2,}", text)) < 3 or text.count(" ") < 2:
            continue
        if source[: found.start()].rstrip().endswith(("static_assert(", "#include")):
            continue
        yield text


def pieces(text):
    """What stands between the values that the program puts into it."""
    return [part for part in re.split(r"%[a-z]+", text) if part.strip()]


def main():
    root = sys.argv[1]
    with open(os.path.join(os.path.dirname(__file__), "messages.txt"), encoding="utf-8") as file:
        examples = [line for line in file.read().splitlines() if line and not line.startswith("#")]
    wrong, used, messages = [], set(), 0
    for room in ROOMS:
        for folder, _, names in sorted(os.walk(os.path.join(root, room))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if not name.endswith((".cpp", ".h")) or path.startswith(NO_MESSAGES):
                    continue
                for text in sentences(os.path.join(root, path)):
                    having = [line for line in examples if all(part in line for part in pieces(text))]
                    if not having and path == REASONS:
                        continue
                    messages += 1
                    used.update(having)
                    if not having:
                        wrong.append(f"{path}: '{text}' has no example in messages.txt")
    for line in examples:
        if line not in used:
            wrong.append(f"messages.txt: no source has '{line}'")
        if UNCLEAR.search(line):
            wrong.append(f"messages.txt: '{UNCLEAR.search(line)[0]}' has to be read twice in '{line}'")
        if len(line) > MOST:
            wrong.append(f"messages.txt: more than {MOST} characters in '{line}'")
        if line.endswith(".") or examples.count(line) > 1:
            wrong.append(f"messages.txt: ends with a full stop or stands twice: '{line}'")
    if messages < 90:
        wrong.append(f"only {messages} messages were found in the source")
    for line in wrong:
        print(line)
    print(f"{messages} texts, {len(examples)} examples, {len(wrong)} wrong")
    sys.exit(bool(wrong))


main()
