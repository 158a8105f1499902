// A program that takes from itself, before or after it starts CUDA, what libraries rely on.
// SPDX-License-Identifier: Apache-2.0
// confined WAY [after]: threads, files, all_files (by a seccomp filter that answers with an errno),
// descriptors, file_bytes, processes, chroot, closed, or none. 77: not possible on this machine.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string>

#include "test/programs/driver.h"

#ifdef __aarch64__
constexpr unsigned kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kMachine = AUDIT_ARCH_X86_64;
#endif

#ifdef SYS_readlink
constexpr long kReadlink = SYS_readlink;
#else
constexpr long kReadlink = SYS_readlinkat;
#endif

static const char* way;
static bool is(const char* name) { return std::strcmp(way, name) == 0; }
static void must_be_possible(bool possible) {
  if (!possible) _exit(77);
}

// In every thread of the process these system calls fail with `error`; of openat only what could
// write, unless `whole`.
static void refuse(std::initializer_list<long> calls, int error, bool whole) {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const auto refusal = SECCOMP_RET_ERRNO | static_cast<unsigned>(error);
  for (const long call : calls) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    const auto number = static_cast<unsigned>(call);
    if (whole) {
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    } else {
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3));
      code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])));
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT, 0, 1));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, refusal));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {.len = static_cast<unsigned short>(code.size()),
                              .filter = code.data()};
  must_be_possible(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  must_be_possible(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void limit(__rlimit_resource_t resource, rlim_t most) {
  const rlimit both = {.rlim_cur = most, .rlim_max = most};
  must_be_possible(setrlimit(resource, &both) == 0);
}

static void confine() {
  constexpr int kNobody = 65534;
  if (is("threads")) refuse({SYS_clone, SYS_clone3}, EAGAIN, true);
  if (is("files")) refuse({SYS_openat}, EACCES, false);
  if (is("all_files")) refuse({SYS_openat, kReadlink, SYS_newfstatat}, EPERM, true);
  if (is("descriptors")) limit(RLIMIT_NOFILE, 3);
  if (is("file_bytes")) limit(RLIMIT_FSIZE, 100);
  if (is("processes")) {
    must_be_possible(setresgid(kNobody, kNobody, kNobody) == 0);
    must_be_possible(setresuid(kNobody, kNobody, kNobody) == 0);
    limit(RLIMIT_NPROC, 0);
  }
  if (is("chroot")) {
    must_be_possible(mkdir("empty", 0700) == 0 && chroot("empty") == 0);
    if (chdir("/") != 0) _exit(77);
  }
  for (int file = 0; is("closed") && file < 1000; ++file) {
    if (file != STDOUT_FILENO) close(file);
  }
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "none";
  const bool after = argc > 2 && std::strcmp(argv[2], "after") == 0;
  if (!after) confine();
  start();
  const CUdeviceptr first = allocate(3 * kMiB);
  if (after) confine();
  const CUdeviceptr second = allocate(5 * kMiB);
  MUST(cuMemFree(first));
  CUdeviceptr none = 0;
  show("too much", cuMemAlloc(&none, std::size_t{1} << 50));
  show("free", cuMemFree(second));
  errno = 0;
  CUdeviceptr third = allocate(kMiB);
  std::printf("errno %d, memory %d\n", errno, third != 0);
}
