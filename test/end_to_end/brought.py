"""Packages of Python that scripts/setup brings into folders of their own."""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import pathlib
import re

import harness


def packages(name, package, *modules):
    """The folder NAME-VERSION that scripts/setup has brought, of the version of this package, or "" if this Python has its own."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    setup = (harness.SOURCE / "scripts/setup").read_text()
    version = re.search(rf"^setup_{package}_version=(\S+)$", setup, re.M)[1]
    folder = cache / f"vramscope/{name}-{version}"
    if folder.is_dir():
        return str(folder)
    if all(importlib.util.find_spec(module) for module in modules):
        return ""
    raise harness.unittest.SkipTest(f"{' and '.join(modules)} are not here: scripts/setup test brings them")
