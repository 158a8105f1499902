"""Makes the packages twice, looks into them, and uses each on clean systems: scripts/check --packages.

check_packages.py FOLDER [--once] [--machine aarch64]

FOLDER keeps the packages and the clean systems. --once: made once, so that nothing is said of the
bytes. --machine: packages for that one, and systems of it, emulated. A system is what debootstrap
makes of a release; one whose archive cannot be reached, or whose
key is not here, is SKIPPED with the reason. Prints what each step showed, and counts at the end.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NEWEST_GLIBC = (2, 34)


class Release(NamedTuple):
    name: str
    suite: str
    mirror: str
    keyring: str  # of the archive's key
    components: str


RELEASES = [
    Release("Debian 12", "bookworm", "http://deb.debian.org/debian", "debian-archive-keyring.gpg", "main"),
    Release("Debian 13", "trixie", "http://deb.debian.org/debian", "debian-archive-keyring.gpg", "main"),
    Release("Ubuntu 24.04", "noble", "http://archive.ubuntu.com/ubuntu", "ubuntu-archive-keyring.gpg", "main,universe"),
]

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # Debian's names
counts = {"passed": 0, "failed": 0, "skipped": 0}


def say(result, what, detail=""):
    counts[{"ok": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[result]] += 1
    print(f"{result} {what}{': ' + detail if detail else ''}", flush=True)


def expect(what, problems):
    say("FAILED" if problems else "ok", what, "; ".join(problems))


def call(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def make(folder, machine, **variables):
    shutil.rmtree(folder, ignore_errors=True)  # packages of another machine may lie there
    done = call(SOURCE / "scripts/package", "--output", folder, "--machine", machine, env={**os.environ, **variables}, cwd=SOURCE)
    print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("[")), flush=True)
    if done.returncode:
        sys.exit("check_packages: scripts/package failed")
    return {path.name: path for path in folder.iterdir() if path.suffix in (".xz", ".deb", ".rpm", ".json")}


def check_same_bytes(first, second):
    def sums(packages):
        return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in packages.items()}

    one, other = sums(first), sums(second)
    expect(f"two builds in different folders give the same bytes: {', '.join(sorted(one))}",
           [name for name in one | other if one.get(name) != other.get(name)])  # fmt: skip


def elf_files(tree):
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def check_elf(tree):
    """What the files ask the loader for: no glibc after 2.34, and nothing but glibc."""
    problems = []
    for path in elf_files(tree):
        asked = call("readelf", "--version-info", path).stdout
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", asked)}
        problems += [f"{path.name} asks for what glibc keeps to itself"] if "GLIBC_PRIVATE" in asked else []
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-d", path).stdout)
        newest = max(versions, default=(0,))
        print(f"  {path.relative_to(tree)}: glibc {'.'.join(map(str, newest))}, needs {' '.join(needed) or 'nothing'}")
        if newest > NEWEST_GLIBC:
            problems.append(f"{path.name} asks for glibc {newest}")
        problems += [f"{path.name} needs {name}" for name in needed if not re.match(r"(libc|libm|libdl|libpthread|librt|ld-linux[^.]*)\.so", name)]
    expect("no file asks for a glibc after 2.34, or for a library that is not glibc's", problems)


def check_paths(tree, folder):
    named = [path.name for path in tree.rglob("*") if path.is_file() and str(folder).encode() in path.read_bytes()]
    expect("no file names the folder where it was built", named)


def check_lintian(deb):
    if not shutil.which("lintian"):
        return say("SKIPPED", "lintian", "it is not installed")
    said = call("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", deb, env={**os.environ, "LC_ALL": "C.UTF-8"})
    lines = [line for line in said.stdout.splitlines() if not line.startswith(("N:", "warning:"))]
    expect("lintian has nothing to say but what is overridden", lines)


def check_dependencies(deb, rpm):
    depends = call("dpkg-deb", "-f", deb, "Depends").stdout.strip()
    print(f"  Depends: {depends}")
    names = {re.split(r"[ (]", name)[0] for group in depends.split(", ") for name in group.split(" | ")}
    expect("dependencies are those that are meant", sorted(names ^ {"libc6", "libunwind8"}))
    if rpm is None:
        return say("SKIPPED", "dependencies of the .rpm", "rpmbuild is not installed")
    asked = {re.split(r"[ (]", name)[0] for name in call("rpm", "-qpR", rpm).stdout.splitlines() if name.strip()}
    print(f"  Requires: {' '.join(sorted(asked))}")
    meant = r"(lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux[^.]*\.so\.\d+|libunwind\.so\.8|rpmlib|rtld)"
    expect("the .rpm requires glibc and libunwind alone", sorted(name for name in asked if not re.fullmatch(meant, name)))


def check_sbom(path, tree):
    """By the rules of SPDX 2.3 that a document of its own can break."""
    sbom, problems = json.loads(path.read_text()), []
    elements = [sbom, *sbom["packages"], *sbom["files"]]
    known = [element["SPDXID"] for element in elements]
    problems += [f"{name} twice" for name in set(known) if known.count(name) > 1]
    problems += [f"{name} is no identifier" for name in known if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name)]
    for relation in sbom["relationships"]:
        problems += [f"{relation} leads nowhere" for end in ("spdxElementId", "relatedSpdxElement") if relation[end] not in known]
    for needed in ("spdxVersion", "dataLicense", "name", "documentNamespace", "creationInfo"):
        problems += [] if sbom.get(needed) else [f"{needed} is missing"]
    for package in sbom["packages"]:
        problems += [f"{package['name']} lacks {field}" for field in ("versionInfo", "downloadLocation", "licenseDeclared") if not package.get(field)]
        problems += [f"{package['name']}: version unknown"] if package["versionInfo"] == "unknown" else []
    for entry in sbom["files"]:
        content = (tree / entry["fileName"]).read_bytes()
        sums = {of["algorithm"]: of["checksumValue"] for of in entry["checksums"]}
        problems += [] if sums["SHA256"] == hashlib.sha256(content).hexdigest() else [f"{entry['fileName']} differs"]
    listed = {entry["fileName"][2:] for entry in sbom["files"]}
    there = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file() and not path.is_symlink()}
    problems += [f"{name} is not listed" for name in sorted(there - listed - {"share/doc/vramscope/sbom.spdx.json"})]
    print("  " + ", ".join(f"{package['name']} {package['versionInfo']} ({package['licenseDeclared']})" for package in sbom["packages"]))
    expect(f"the SBOM lists {len(listed)} files and {len(sbom['packages'])} packages", problems)
    check_licences(sbom)


def check_licences(sbom):
    node = "const parse = require('/usr/share/nodejs/spdx-expression-parse'); process.argv.slice(1).forEach(parse)"
    if not pathlib.Path("/usr/share/nodejs/spdx-expression-parse").exists():
        return say("SKIPPED", "expressions of licences, by spdx-expression-parse", "node-spdx-expression-parse is not installed")
    said = call("node", "-e", node, *sorted({package["licenseConcluded"] for package in sbom["packages"]}), env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
    expect("expressions of licences are SPDX's, by spdx-expression-parse", said.stdout.splitlines()[-3:] if said.returncode else [])


def clean_system(release, architecture, folder):
    """A folder with a system in it; why not, else."""
    kept = folder / f"{release.suite}-{architecture}.tar"
    if not kept.exists():
        if not shutil.which("debootstrap"):
            return None, "debootstrap is not installed"
        keyring = pathlib.Path("/usr/share/keyrings") / release.keyring
        if not keyring.exists():
            return None, f"the key of its archive is not here ({release.keyring}: no package of this distribution has it)"
        root = folder / release.suite
        shutil.rmtree(root, ignore_errors=True)
        done = call("debootstrap", f"--arch={architecture}", "--variant=minbase", f"--keyring={keyring}", f"--components={release.components}",
                    release.suite, root, release.mirror)  # fmt: skip
        if done.returncode:
            return None, f"debootstrap: {done.stdout.strip().splitlines()[-1]}"
        call("tar", "-c", "-f", kept, "-C", root, ".", check=True)
        shutil.rmtree(root)
    return kept, ""


def unpacked(kept, root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    call("tar", "-x", "-f", kept, "-C", root, check=True)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", root / "etc" / name)
    for name in pathlib.Path("/etc/apt/apt.conf.d").glob("*"):  # how packages are reached from here
        if re.search(r"proxy|mirror", name.read_text(), re.I):
            shutil.copy(name, root / "etc/apt/apt.conf.d")


def inside(root, command):
    """In the system, with /proc of its own mount space."""
    script = f"mount --bind /proc {root}/proc && exec chroot {root} /bin/sh -ec '{command}'"
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
    return call("unshare", "--mount", "sh", "-c", script, env=environment)


INSTALL = {
    ".deb": "apt-get -qq update && apt-get -qq install -y --no-install-recommends /tmp/{name} >/dev/null",
    # The tarball is for systems on which nothing can be installed; it alone is unpacked, with what unpacks it.
    ".xz": "apt-get -qq update && apt-get -qq install -y --no-install-recommends xz-utils >/dev/null;"
           " tar -x -f /tmp/{name} -C /opt; ln -s /opt/vramscope-*/bin/vramscope /usr/bin/",
    ".rpm": "apt-get -qq update && apt-get -qq install -y --no-install-recommends rpm libunwind8 >/dev/null;"
            " rpm -i --nodeps /tmp/{name} || rpm -i --nodeps --force-debian /tmp/{name}",  # as old ones want it on Debian
}  # fmt: skip
USE = """vramscope --version; cd /tmp; vramscope run --sim -o r.json ./linked; vramscope report r.json;
vramscope html -o r.html r.json; grep -q "<html" r.html; vramscope export --format sqlite -o r.sqlite r.json;
timeout 2 vramscope serve --listen 0 || test $? = 124"""
REMOVE = {
    ".deb": "apt-get -qq remove -y vramscope >/dev/null 2>&1; find /usr /opt /etc -name \"*vramscope*\"",
    ".rpm": "rpm -e --nodeps vramscope >/dev/null 2>&1; find /usr /opt /etc -name \"*vramscope*\"",
}


def check_use(release, kept, package, program, folder):
    what = f"{package.name} on {release.name}"
    root = folder / "used"
    unpacked(kept, root)
    shutil.copy(package, root / "tmp" / package.name)
    shutil.copy(program, root / "tmp/linked")
    suffix = package.suffix
    done = inside(root, INSTALL[suffix].format(name=package.name))
    if done.returncode:
        return say("FAILED", what, "installing: " + "; ".join(done.stdout.strip().splitlines()[-3:]))
    used = inside(root, USE.replace("\n", " "))
    print("\n".join("  | " + line for line in used.stdout.splitlines()[:16]))
    wanted = ("report in r.json", "serving http://127.0.0.1:", "What made up the peak", "Vramscope simulated device")
    problems = [f"status {used.returncode}: {used.stdout[-300:]}"] if used.returncode else []
    problems += [f"'{words}' is not in what it printed" for words in wanted if words not in used.stdout]
    if suffix in REMOVE:
        problems += [f"left behind: {path}" for path in inside(root, REMOVE[suffix]).stdout.split()]
    expect(f"{what}: installed, used{', removed' if suffix in REMOVE else ''}", problems)
    shutil.rmtree(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--machine", choices=ARCHITECTURES, default=os.uname().machine)
    args = parser.parse_args()
    folder, machine = args.folder.resolve(), args.machine
    folder.mkdir(parents=True, exist_ok=True)
    packages = make(folder / "first", machine)
    if not args.once:
        # Compiled anew: a cache of objects would prove nothing.
        check_same_bytes(packages, make(folder / "the second one", machine, CCACHE_DISABLE="1"))
    build, tree = folder / "first/work/build", folder / "first/work/tree/usr"
    call("ninja", "-C", build, "test/programs/linked", check=True)
    check_elf(tree)
    check_paths(tree, folder)
    deb = next(path for name, path in packages.items() if name.endswith(".deb"))
    check_lintian(deb)
    check_dependencies(deb, next((path for name, path in packages.items() if name.endswith(".rpm")), None))
    check_sbom(next(path for name, path in packages.items() if name.endswith(".json")), tree)
    for release in RELEASES:
        kept, reason = clean_system(release, ARCHITECTURES[machine], folder)
        for package in sorted(packages.values()):
            if package.suffix not in INSTALL:
                continue
            if kept is None:
                say("SKIPPED", f"{package.name} on {release.name}", reason)
            else:
                check_use(release, kept, package, build / "test/programs/linked", folder)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(counts["failed"] != 0)


if __name__ == "__main__":
    main()
