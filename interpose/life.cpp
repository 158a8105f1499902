// The ways out of a process that run no destructor, and exec: a report is written first.
// SPDX-License-Identifier: Apache-2.0
#include <cstdarg>
#include <cstddef>
#include <cstdlib>

#include <unistd.h>

#include "allocator/fault.h"
#include "interpose/lookup.h"
#include "interpose/profiler.h"

#define VRAMSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace vramscope {
namespace {

template <class Function>
[[noreturn]] void leave(const char* name, int status) noexcept {
  if (!fault(Fault::exit_without_report)) Profiler::final_report("exit");
  next_definition<Function>(nullptr, name)(status);
  __builtin_unreachable();
}

// Runs `exec`; it returns only when it failed, and then the program goes on.
template <class Exec>
int replace_program(Exec exec) noexcept {
  Profiler::report_before_exec();
  return exec();
}

// How many pointers a list of arguments has, the null one at its end included.
std::size_t length(va_list& rest) noexcept {
  std::size_t count = 1;
  while (va_arg(rest, char*) != nullptr) ++count;
  return count;
}

}  // namespace
}  // namespace vramscope

VRAMSCOPE_EXPORT void _exit(int status) { vramscope::leave<void(int)>("_exit", status); }
VRAMSCOPE_EXPORT void _Exit(int status) noexcept { vramscope::leave<void(int)>("_Exit", status); }

// Each passes to the C library's function of the same name.
#define VRAMSCOPE_EXEC(name, parameters, arguments)                                            \
  VRAMSCOPE_EXPORT int name parameters noexcept {                                              \
    return vramscope::replace_program(                                                         \
        [&] { return vramscope::next_definition<int parameters>(nullptr, #name) arguments; }); \
  }
VRAMSCOPE_EXEC(execve, (const char* path, char* const argv[], char* const envp[]),
               (path, argv, envp))
VRAMSCOPE_EXEC(execv, (const char* path, char* const argv[]), (path, argv))
VRAMSCOPE_EXEC(execvp, (const char* file, char* const argv[]), (file, argv))
VRAMSCOPE_EXEC(execvpe, (const char* file, char* const argv[], char* const envp[]),
               (file, argv, envp))
VRAMSCOPE_EXEC(fexecve, (int fd, char* const argv[], char* const envp[]), (fd, argv, envp))
VRAMSCOPE_EXEC(execveat,
               (int folder, const char* path, char* const argv[], char* const envp[], int flags),
               (folder, path, argv, envp, flags))

// execl and its family: the arguments become an array on the stack (a child of vfork must not
// allocate); execle's environment stands behind the null pointer.
#define VRAMSCOPE_EXEC_LIST(name, first_name, exec, read_environment)                            \
  VRAMSCOPE_EXPORT int name(const char* first_name, const char* first, ...) noexcept {           \
    va_list rest;                                                                                \
    va_start(rest, first);                                                                       \
    const std::size_t count = vramscope::length(rest);                                           \
    va_end(rest);                                                                                \
    char** const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
    arguments[0] = const_cast<char*>(first);                                                     \
    va_start(rest, first);                                                                       \
    for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(rest, char*);                 \
    read_environment va_end(rest);                                                               \
    return exec;                                                                                 \
  }
VRAMSCOPE_EXEC_LIST(execl, path, execv(path, arguments), )
VRAMSCOPE_EXEC_LIST(execlp, file, execvp(file, arguments), )
VRAMSCOPE_EXEC_LIST(execle, path, execve(path, arguments, environment),
                    char* const* const environment = va_arg(rest, char* const*);)
