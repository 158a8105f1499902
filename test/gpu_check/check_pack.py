"""Runs gpu-check's archive, whole, on the simulated device on clean systems: scripts/check --gpu-pack.

Such a system has the C library, python3 and nothing of what the tool was linked to.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import shutil
import sys
import tarfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "test/gpu_check"), str(SOURCE / "test/packages")]
import check_packages as systems  # noqa: E402
import pack  # noqa: E402
import results  # noqa: E402

LIMIT_S = 460  # of the run, which ends by itself after 400
PYTHON = "command -v python3 >/dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends python3; } >/dev/null"


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def problems_of(out, done):
    """What is wrong with the results of a run."""
    try:
        found = json.loads((out / "result.json").read_text())
    except (OSError, ValueError) as error:
        return [f"{error}: {done.stdout[-500:]}"]
    problems = [f"{row['what']}, {row['mode']}: {row['note']}" for row in found["programs"] if row["verdict"] == "FAILED"]
    problems += [f"killed, seed {row['seed']}: {row['problem']}" for row in found["kills"] if row["problem"]]
    problems += [] if found["complete"] else ["the time was over before its end"]
    problems += [] if (out / "summary.txt").exists() else ["no summary.txt"]
    size = size_of(out)
    return problems + ([f"{size} bytes of results"] if size > results.LARGEST else [])


def check(release, archive, arguments):
    what = f"the archive on {release.name}"
    kept, why_not = systems.clean_system(release, "amd64", arguments.folder)
    if kept is None:
        return systems.say("SKIPPED", what, why_not)
    root = arguments.folder / "gpu-check"
    systems.unpacked(kept, root)
    installed = systems.inside(root, PYTHON)
    if installed.returncode:
        return systems.say("SKIPPED", what, f"no python3 there: {installed.stdout.strip()[-200:]}")
    with tarfile.open(archive) as packed:
        packed.extractall(root / "opt")
    start = time.monotonic()
    done = systems.inside(root, f"OUT=/tmp/out timeout {LIMIT_S} /opt/{pack.TOP}/run --sim {arguments.options}")
    print(done.stdout[-3000:])
    problems = problems_of(root / "tmp/out", done)
    problems += [f"ended with {done.returncode}"] if done.returncode else []
    systems.expect(f"{what}, in {time.monotonic() - start:.0f} s", problems[:8])
    shutil.rmtree(root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="systems are kept there")
    parser.add_argument("options", nargs="?", default="", help="of gpu-check, in one word")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    archive = arguments.folder / "gpu-check.tar.xz"
    try:
        size = pack.write(archive, arguments.build)
    except pack.NotPacked as reason:
        sys.exit(f"check_pack: {reason}")
    systems.expect(f"the archive has {size / (1 << 20):.1f} MiB, at most {pack.LARGEST >> 20}", [])
    for release in systems.RELEASES[1:]:
        check(release, archive, arguments)
    print(", ".join(f"{count} {result}" for result, count in systems.counts.items()))
    sys.exit(systems.counts["failed"] > 0)


if __name__ == "__main__":
    main()
