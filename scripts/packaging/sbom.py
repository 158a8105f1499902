"""Writes what a package consists of, and of what it was made, as SPDX 2.3 in JSON.

sbom.py --build FOLDER --source FOLDER --tree FOLDER --version V --commit C >vramscope.spdx.json

Parts come from the build: libraries as meson found them, what they are linked into from the ELF
headers, what the page bundles from npm's lock file, versions from the package system. A library that
is linked and not known here is an error: somebody has to say its licence.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# By the name of meson's dependency: (what it is called, licence, Debian's package, how it gets in).
LIBRARIES = {
    "CLI11": ("CLI11", "BSD-3-Clause", "libcli11-dev", "headers"),
    "nlohmann_json": ("nlohmann_json", "MIT", "nlohmann-json3-dev", "headers"),
    "protobuf-lite": ("protobuf-lite", "BSD-3-Clause", "libprotobuf-dev", "static"),
    "libdw": ("elfutils", "LGPL-3.0-or-later OR GPL-2.0-or-later", "libdw-dev", "static"),
    "libzstd": ("zstd", "BSD-3-Clause OR GPL-2.0-only", "libzstd-dev", "static"),
    "sqlite3": ("SQLite", "blessing", "libsqlite3-dev", "static"),
    "libevent_core": ("libevent", "BSD-3-Clause", "libevent-dev", "static"),
    "ncursesw": ("ncurses", "X11", "libncurses-dev", "static"),
    "zlib": ("zlib", "Zlib", "zlib1g-dev", "static"),
    "lzma": ("liblzma", "LicenseRef-public-domain", "liblzma-dev", "static"),
    "bz2": ("bzip2", "bzip2-1.0.6", "libbz2-dev", "static"),
    "iberty": ("libiberty", "LGPL-2.1-or-later", "libiberty-dev", "static"),
    "stdc++": ("libstdc++ and libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", None, "static"),
    "cuda": ("CUDA headers", "LicenseRef-NVIDIA-CUDA-EULA", None, "build"),
}
# By the name that an ELF header asks for.
SYSTEM = {
    "libc.so.6": ("glibc", "LGPL-2.1-or-later", "libc6"),
    "libm.so.6": ("glibc", "LGPL-2.1-or-later", "libc6"),
    "ld-linux-x86-64.so.2": ("glibc", "LGPL-2.1-or-later", "libc6"),
    "ld-linux-aarch64.so.1": ("glibc", "LGPL-2.1-or-later", "libc6"),
}
RELATIONS = {"headers": "STATIC_LINK", "static": "STATIC_LINK", "system": "DYNAMIC_LINK", "bundled": "STATIC_LINK",
             "build": "BUILD_DEPENDENCY_OF"}  # fmt: skip


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def installed_version(package):
    """Of a package of the system; "" where it is another system."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(words))


def part(name, version, licence, how, purl=None):
    made = {"SPDXID": identifier("Package", name), "name": name, "versionInfo": version or "unknown", "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION", "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION"}  # fmt: skip
    if purl:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return made, how


def linked_parts(build):
    """What meson found and compiled or linked in."""
    compiler = output("c++", "-dumpfullversion").strip()
    found = {entry["name"]: entry["version"] for entry in json.loads(output("meson", "introspect", "--dependencies", str(build)))}
    found |= {"iberty": "", "stdc++": compiler, "zlib": "", "lzma": "", "bz2": ""}  # the last three for libdw
    for name, version in sorted(found.items()):
        if name in LIBRARIES:
            title, licence, package, how = LIBRARIES[name]
            of_package = installed_version(package) if package else ""
            yield part(title, of_package or version, licence, how, f"pkg:deb/debian/{package}@{of_package}" if of_package else None)


def needed_parts(tree):
    """What the files ask the loader for."""
    needed = set()
    for path in sorted(tree.rglob("*")):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(path))))
    unknown = sorted(needed - set(SYSTEM))
    if unknown:
        sys.exit(f"sbom: nobody has said the licence of {', '.join(unknown)}, which the files ask for")
    seen = set()
    for name in sorted(needed):
        title, licence, package = SYSTEM[name]
        if title not in seen:
            version = installed_version(package)
            yield part(title, version, licence, "system", f"pkg:deb/debian/{package}@{version}" if version else None)
        seen.add(title)


def bundled_parts(source):
    """What the page of `vramscope html` has inside; what bundles it is not in there."""
    folder = source / "reporter/view/page"
    lock = json.loads((folder / "package-lock.json").read_text())["packages"]
    for name in json.loads((folder / "package.json").read_text())["dependencies"]:
        entry = lock[f"node_modules/{name}"]
        how = "build" if name == "esbuild" else "bundled"
        yield part(name, entry["version"], entry["license"], how, f"pkg:npm/{name}@{entry['version']}")


def file_entries(tree):
    for path in sorted(tree.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.name == "sbom.spdx.json":
            continue
        name, content = path.relative_to(tree).as_posix(), path.read_bytes()
        yield {"SPDXID": identifier("File", name), "fileName": f"./{name}", "licenseConcluded": "NOASSERTION",
               "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
               "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                             {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}]}  # fmt: skip


def document(args):
    files = list(file_entries(args.tree))
    sums = sorted(entry["checksums"][0]["checksumValue"] for entry in files)
    parts = [*linked_parts(args.build), *needed_parts(args.tree), *bundled_parts(args.source)]
    inside = sorted({made["licenseDeclared"] for made, how in parts if how in ("headers", "static", "bundled")})
    own = {"SPDXID": "SPDXRef-Package-vramscope", "name": "vramscope", "versionInfo": args.version, "filesAnalyzed": True,
           "downloadLocation": "NOASSERTION", "licenseDeclared": "Apache-2.0", "copyrightText": "2026 The Vramscope authors",
           "licenseConcluded": " AND ".join(["Apache-2.0", *inside]), "licenseInfoFromFiles": ["NOASSERTION"],
           "sourceInfo": f"built from commit {args.commit}", "primaryPackagePurpose": "APPLICATION",
           "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}}  # fmt: skip
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", entry["SPDXID"]) for entry in files]
    for made, how in parts:
        pair = (own["SPDXID"], RELATIONS[how], made["SPDXID"])
        relations.append(pair[::-1] if how == "build" else pair)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"vramscope-{args.version}",
            "documentNamespace": f"https://vramscope.invalid/spdx/{args.version}/{args.commit}/{hashlib.sha1(''.join(sums).encode()).hexdigest()}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/packaging/sbom.py"]},
            "packages": [own, *(made for made, _ in parts)], "files": files,
            "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-NVIDIA-CUDA-EULA", "name": "CUDA Toolkit End User License Agreement",
                                            "extractedText": "The headers declare functions; nothing of the toolkit is in these files."},
                                           {"licenseId": "LicenseRef-public-domain", "name": "Public domain",
                                            "extractedText": "liblzma is in the public domain."}],
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                              for one, kind, other in relations]}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "source", "tree"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    json.dump(document(parser.parse_args()), sys.stdout, indent=1)
    print()


main()
