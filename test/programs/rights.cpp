// A program that has, or gives up, rights that whoever started it does not have.
// SPDX-License-Identifier: Apache-2.0
// rights WAY [FOLDER]: says what it is and what is installed in it; then, CUDA begun, gives up the
// rights of root by WAY: setuid, setgid, chroot (into FOLDER), closed (FOLDER may not be written to
// any more), none. rights exec FILE...: starts CUDA, and executes each of the files, which fails.
// 77: not possible on this machine.
#include <dlfcn.h>
#include <grp.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

#include "test/programs/driver.h"

static constexpr unsigned kNobody = 65534;

static void must_be_possible(bool possible) {
  if (!possible) _exit(77);
}

static void say_what_there_is(const char* when) {
  struct sigaction handler {};
  sigaction(SIGUSR1, nullptr, &handler);
  const std::filesystem::directory_iterator threads("/proc/self/task");
  std::printf("%s: secure %lu, threads %td, default handler %d\n", when, getauxval(AT_SECURE),
              std::distance(begin(threads), end(threads)), handler.sa_handler == SIG_DFL);
}

static void give_up(const std::string& way, const char* folder) {
  if (way == "setgid") must_be_possible(setgroups(0, nullptr) == 0 && setgid(kNobody) == 0);
  if (way == "setuid") must_be_possible(setuid(kNobody) == 0);
  if (way == "chroot") must_be_possible(chroot(folder) == 0 && chdir("/") == 0);
  if (way == "closed") must_be_possible(chmod(folder, 0500) == 0 && setuid(kNobody) == 0);
}

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "none";
  say_what_there_is("before");
  start();
  const CUdeviceptr block = allocate(3 * kMiB);
  std::printf("dlsym gives %s\n",
              dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != nullptr ? "it" : "nothing");
  MUST(cuMemFree(block));
  say_what_there_is("after");
  if (way == "exec") {
    for (int i = 2; i < argc; ++i) std::printf("%d\n", execl(argv[i], argv[i], nullptr));
  } else {
    give_up(way, argc > 2 ? argv[2] : "");
  }
}
