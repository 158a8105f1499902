"""The list of questions to the driver, which gpu_questions.py asks."""
# SPDX-License-Identifier: Apache-2.0

QUESTIONS = {}


def question(text, simulator, row=""):
    """`simulator`: what it answers. `row`: how the question begins in OPEN.md, if it is there."""

    def add(function):
        QUESTIONS[function.__name__] = (text, simulator, row, function)
        return function

    return add


def codes(*values):
    return ", ".join(str(value) for value in values)
