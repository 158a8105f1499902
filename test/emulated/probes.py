"""What an emulator of user programs does not do as a system does, asked of it; and which cases need it.

probes.py --ask prints the facts as JSON, run by the Python of the emulated system.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import errno
import glob
import json
import mmap
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

PAGE = mmap.PAGESIZE
MADV_DONTFORK = 10


def child_says(body):
    """What `body` gives in a forked child."""
    child = os.fork()
    if child == 0:
        os._exit(1 if body() else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def leaves_pages_out_of_children():
    """A system does for madvise(MADV_DONTFORK)."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(PAGE), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
    if libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), MADV_DONTFORK) != 0:
        return False
    resident = (ctypes.c_ubyte * 1)()
    return child_says(lambda: libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), resident) != 0)


def filters_system_calls():
    """seccomp with a filter that allows all."""

    def filtered():
        libc = ctypes.CDLL(None, use_errno=True)

        class Instruction(ctypes.Structure):
            _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

        class Program(ctypes.Structure):
            _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]

        allow = Instruction(0x06, 0, 0, 0x7FFF0000)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        return libc.prctl(22, 2, ctypes.byref(Program(1, ctypes.pointer(allow)))) == 0  # PR_SET_SECCOMP, by a filter

    return child_says(filtered)


def tells_what_it_may_execute():
    """What the emulator translates is not executed where it lies."""
    with open("/proc/thread-self/maps", encoding="utf-8") as file:
        return any("/python3" in line and "x" in line.split()[1] for line in file)


def tells_when_a_process_started():
    """The same in its own /proc/self/stat as others read in /proc/PID/stat."""

    def start_of(path):
        with open(path, encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[19]

    return child_says(lambda: start_of("/proc/self/stat") == start_of(f"/proc/{os.getpid()}/task/{os.getpid()}/stat"))


def limits_addresses():
    """By RLIMIT_AS."""

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        try:
            mmap.mmap(-1, 2 << 30)
        except OSError:
            return True
        return False

    return child_says(limited)


def starts_within_4_ms():
    begun = time.monotonic()
    subprocess.run(["/bin/true"], check=True)
    return time.monotonic() - begun < 0.004


def tells_of_pages_without_rights():
    """mincore knows them as mapped."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(PAGE), 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
    return libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), (ctypes.c_ubyte * 1)()) == 0


def takes_hints():
    """mmap of what is free there gives the address that was asked for, and the last one again."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    addresses = set()
    for _ in range(2):
        address = libc.mmap(None, ctypes.c_size_t(8 * PAGE), 0, 0x22, -1, ctypes.c_long(0))
        addresses.add(address)
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(8 * PAGE))
    return len(addresses) == 1


def honours_set_user_id():
    """A program starts with its owner's rights: the kernel is told so with the emulator (flag C)."""
    known = glob.glob("/proc/sys/fs/binfmt_misc/qemu-aarch64*")
    return bool(known) and all(re.search("^flags:.*C", pathlib.Path(path).read_text(encoding="utf-8"), re.M) for path in known)


def keeps_ignored_signals_ignored():
    """In the program after the next; dash and exec: nobody is between."""
    inner = "exec /bin/sh -c 'kill -INT $$; exit 5'"
    told = subprocess.run(["/bin/sh", "-c", "trap '' INT; exec /bin/sh -c \"$0\"", inner], check=False)
    return told.returncode == 5


def tells_others_what_it_catches():
    """In /proc/PID/status, of a process that catches no SIGUSR1."""
    child = os.fork()
    if child == 0:
        signal.pause()
    with open(f"/proc/{child}/status", encoding="utf-8") as file:
        caught = int(next(line.split()[1] for line in file if line.startswith("SigCgt:")), 16)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return not caught >> (signal.SIGUSR1 - 1) & 1


def never_masks_kill():
    """It is taken out of the mask of a handler."""

    class Action(ctypes.Structure):
        _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]

    libc, action, found = ctypes.CDLL(None), Action(), Action()
    action.handler, action.mask[0] = 1, 1 << (signal.SIGKILL - 1)  # SIG_IGN
    libc.sigaction(signal.SIGUSR2, ctypes.byref(action), None)
    libc.sigaction(signal.SIGUSR2, None, ctypes.byref(found))
    return found.mask[0] == 0


def lets_itself_be_traced():
    """A child asks its parent to."""
    return child_says(lambda: ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0)


def ends_programs_silently():
    """By a signal."""
    return subprocess.run(["/bin/sh", "-c", "kill -QUIT $$"], check=False, stderr=subprocess.PIPE).stderr == b""


def tells_its_own_threads():
    """In /proc/self/task; not those of an emulator."""
    return len(os.listdir("/proc/self/task")) == 1


def tells_what_it_executes():
    """In /proc/thread-self/exe, where a child of vfork finds itself, too."""
    return "qemu" not in os.readlink("/proc/thread-self/exe")


def tells_maps_without_a_file():
    """An emulator writes /proc/self/maps to a file of its own, which RLIMIT_FSIZE cuts."""

    def tells():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with open("/proc/self/maps", encoding="utf-8") as file:
            return len(file.read()) > 100

    return child_says(tells)


def tells_what_it_was_called_with():
    """In /proc/thread-self/cmdline; not what an emulator was."""
    with open("/proc/thread-self/cmdline", encoding="utf-8") as file:
        return "qemu" not in file.read().partition("\0")[0]


def refuses_programs_of_other_machines():
    """As no program at all; the machine below may execute them."""
    with open("/bin/true", "rb") as file:
        program = bytearray(file.read())
    program[18] = 0xB7 if program[18] == 0x3E else 0x3E  # AArch64, x86-64
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(program)
    os.chmod(file.name, 0o755)
    try:
        subprocess.run([file.name], check=False, stderr=subprocess.DEVNULL)
    except OSError as error:
        return error.errno == errno.ENOEXEC
    finally:
        os.unlink(file.name)
    return False


# What a system does, in words that go on from "the emulated system ...".
FACTS = {
    "leaves pages marked MADV_DONTFORK out of children": leaves_pages_out_of_children,
    "filters system calls (seccomp)": filters_system_calls,
    "tells in /proc/thread-self/maps what may be executed": tells_what_it_may_execute,
    "honours set-user-id": honours_set_user_id,
    "tells in /proc/self/stat when a process started": tells_when_a_process_started,
    "limits addresses (RLIMIT_AS)": limits_addresses,
    "starts a program within 4 ms": starts_within_4_ms,
    "starts programs as fast as a processor": starts_within_4_ms,
    "tells by mincore of pages without rights": tells_of_pages_without_rights,
    "gives addresses as Linux does": takes_hints,
    "tells in /proc/thread-self/exe which program runs": tells_what_it_executes,
    "tells in /proc/thread-self/cmdline what a program was called with": tells_what_it_was_called_with,
    "tells in /proc/self/maps also where files are limited (RLIMIT_FSIZE)": tells_maps_without_a_file,
    "tells in /proc/self/task of the program's threads alone": tells_its_own_threads,
    "ends a program by a signal without a word": ends_programs_silently,
    "leaves the core of a program that a signal ended to the kernel": ends_programs_silently,  # an emulator writes all that is reserved
    "lets programs be traced (ptrace)": lets_itself_be_traced,
    "takes SIGKILL out of masks": never_masks_kill,
    "refuses programs of other machines": refuses_programs_of_other_machines,
    "keeps ignored signals ignored when programs start": keeps_ignored_signals_ignored,
    "tells in /proc/PID/status what it catches": tells_others_what_it_catches,
}

# What is said of cases that need a fact which stands for another.
INSTEAD = {"starts programs as fast as a processor": "an emulator is too slow for it"}

# (test, case, the fact without which it cannot pass), each a pattern of the whole.
NEEDS = [
    ("loader", "a driver in another namespace .*", "tells in /proc/thread-self/maps what may be executed"),
    ("preload", "a set user id program .*", "honours set-user-id"),
    ("peer_processes", "PeerProcesses.ForgetsWhoWithdrewAndWhoWasForked", "leaves pages marked MADV_DONTFORK out of children"),
    ("reporter live_process", "LiveProcessTest.ItsChildrenDoNotKeepItAlive", "leaves pages marked MADV_DONTFORK out of children"),
    ("reporter live_process", "LiveProcessTest.*", "tells in /proc/self/stat when a process started"),
    ("simulated driver, processes", "SharedUse.*", "tells in /proc/self/stat when a process started"),
    ("recover(_run|_kills)?", "a (kill while a report is written|running process is asked|descendant that was killed counts until it ended)",
     "tells in /proc/self/stat when a process started"),
    ("recover", "copies of four threads that go on are reports|one that does not answer is copied",
     "tells in /proc/self/stat when a process started"),
    ("recover(_run)?", "files folders and processes can be named|the next report has the next name|a (report is recovered in passing|person sees a table "
     "and the next command|folder of reports has those of the killed too)", "tells in /proc/thread-self/exe which program runs"),
    ("device_use", "other processes are named while they run|the ledger adds up to a device that two processes share",
     "tells in /proc/thread-self/exe which program runs"),
    ("device_use", "what others use is measured again", "tells in /proc/self/stat when a process started"),
    ("signals", "(change|ignore|later|resethand) behaves the same in mode .*|an inherited disposition is passed on|signals are served while the program has "
     "a handler", "takes SIGKILL out of masks"),
    ("preload", "a program under a sanitizer needs no setting", "lets programs be traced (ptrace)"),
    ("refusals", "memory may be refused .*", "starts programs as fast as a processor"),
    ("gpu_check", "all fifteen questions about pages are asked|each question says what the simulated device does",
     "starts programs as fast as a processor"),
    ("refusals", "addresses may be limited", "limits addresses (RLIMIT_AS)"),
    ("doctor_environment", "limits on addresses which drivers reserve", "limits addresses (RLIMIT_AS)"),
    ("life", "a (program without cuda prints nothing and writes nothing|report is written at every kind of end)",
     "tells in /proc/self/task of the program's threads alone"),
    ("life", "arguments that may be secrets stay out of redacted files|every program of a chain of executions is recorded|reports are for the owner "
     "only and leave nothing else|the name pattern is followed", "tells in /proc/thread-self/exe which program runs"),
    ("recover_(run|damaged)", "whatever signal ends the program its report is there|truncated and changed files harm nobody", "ends a program by a signal without a word"),
    ("live_file", "it is there while the program runs and is private|by default it lies in memory", "tells in /proc/thread-self/exe which program runs"),
    ("live_file", "it goes at every kind of end", "tells in /proc/self/task of the program's threads alone"),
    ("reports", "the process is described", "tells in /proc/thread-self/exe which program runs"),
    ("environment", "arguments may be huge", "tells in /proc/thread-self/cmdline what a program was called with"),
    ("environment", "fault .* ends as it does natively", "leaves the core of a program that a signal ended to the kernel"),
    ("environment", "without file bytes after all is the same in mode .*",
     "tells in /proc/self/maps also where files are limited (RLIMIT_FSIZE)"),
    ("transparency", "exit variants pthread exit behaves the same in mode (?!off).*|the table of behaviours is what this run gives",
     "tells in /proc/self/task of the program's threads alone"),
    ("trace", "totals are the reports for each victim in mode observe", "tells in /proc/self/task of the program's threads alone"),  # pthread_exit
    ("oom", "who else has the device now is asked when it is shown", "tells in /proc/self/stat when a process started"),
    ("recover_run", "workers of a pool that are terminated have their reports", "tells in /proc/thread-self/exe which program runs"),
    ("shared_device", "contexts .* count once each|idle memory goes back .*|it does so .*", "tells in /proc/self/stat when a process started"),
    ("doctor_environment", "one that is recorded", "tells in /proc/thread-self/exe which program runs"),
    ("command_line", "run says why a program was not one to record", "refuses programs of other machines"),
    ("reporter recovery", "KilledRecorder.HasAllButTheCallsInFlight", "starts a program within 4 ms"),
    ("reporter sandbox", "Sandbox.MemoryIsLimited", "limits addresses (RLIMIT_AS)"),
    ("simulated driver", "DriverMemory.RegistersLessThan512GiBAtOnce", "tells by mincore of pages without rights"),
    ("simulated driver", "DriverVirtualMemory.TakesHintsForFreeAddresses", "gives addresses as Linux does"),
    ("simulated driver", "DriverManaged.ForgetsAdviceWithTheMemory", "gives addresses as Linux does"),
]


def facts(build):
    """Each fact with whether it holds there."""
    command = [build / "inside", "/usr/bin/python3", __file__, "--ask"]
    asked = subprocess.run(command, cwd=build, stdout=subprocess.PIPE, text=True, check=False)
    if asked.returncode:
        sys.exit("check_emulated: the emulated system does not run")
    return json.loads(asked.stdout)


def lacking(found, test):
    """Patterns of the test's cases that cannot pass there, and why."""
    return {of_case: INSTEAD.get(fact, f"nothing there {fact}") for of_test, of_case, fact in NEEDS if re.fullmatch(of_test, test) and not found[fact]}


def reason(found, test, case, details):
    """Why a case that failed cannot pass there; "": it should have."""
    for of_case, why in lacking(found, test).items():
        if re.fullmatch(of_case, case):
            return why
    absent = re.search(r"No such file or directory: '([a-z+]+)'", details)
    return f"{absent.group(1)} is not in that system" if absent else ""


if __name__ == "__main__" and "--ask" in sys.argv:
    print(json.dumps({fact: ask() for fact, ask in FACTS.items()}))
