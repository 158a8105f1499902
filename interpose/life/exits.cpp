// All ways out of a process, and exec: a report is written first.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "allocator/ground/fault.h"
#include "allocator/ground/kept_errno.h"
#include "interpose/life/reports.h"
#include "interpose/loader/loader.h"
#include "interpose/settings/startup.h"

extern "C" {
// Of the C library, and of the C++ ABI; no header declares them all.
int __cxa_atexit(void (*function)(void*), void* argument, void* object) noexcept;
int __cxa_at_quick_exit(void (*function)(void*), void* object) noexcept;
// Of a sanitizer's runtime, where one is loaded.
[[gnu::weak]] void __lsan_do_leak_check();
}

#define VRAMSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace vramscope {
namespace {

// The C library's functions.
namespace next {
constinit NextDefinition<void(int)> exit_at_once{"_exit"};
constinit NextDefinition<void(int)> exit_of_the_standard{"_Exit"};
constinit NextDefinition<int(const char*, char* const[], char* const[])> execve{"execve"};
constinit NextDefinition<int(const char*, char* const[])> execv{"execv"};
constinit NextDefinition<int(const char*, char* const[])> execvp{"execvp"};
constinit NextDefinition<int(const char*, char* const[], char* const[])> execvpe{"execvpe"};
constinit NextDefinition<int(int, char* const[], char* const[])> fexecve{"fexecve"};
constinit NextDefinition<int(int, const char*, char* const[], char* const[], int)> execveat{
    "execveat"};
}  // namespace next

void write_last_report() noexcept {
  if (Reports* const reports = Reports::of_this_process()) reports->write_last("exit");
}

template <class Function>
[[noreturn]] void leave(NextDefinition<Function>& function, int status) noexcept {
  if (!fault(Fault::exit_without_report)) write_last_report();
  function.get()(status);
  __builtin_unreachable();
}

// What the kernel will answer, if `path` can be seen not to be a program. A shell's language that
// looks for a program does so by exec itself, in one folder after the other.
bool is_hopeless(int folder, const char* path) noexcept {
  if (path == nullptr || faccessat(folder, path, X_OK, AT_EACCESS) == 0) return false;
  return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ||
         errno == ENAMETOOLONG;
}

// It returns only when it failed, and then the program goes on. `is_seen_to_fail` asks beforehand,
// in the process that owns the record, so that an exec in vain costs no report.
template <class Function, class Forecast, class... Arguments>
int replace_program(NextDefinition<Function>& exec, const Forecast& is_seen_to_fail,
                    Arguments... arguments) noexcept {
  Reports* const owner = Reports::of_this_process();
  Reports* const reports = owner != nullptr && is_seen_to_fail() ? nullptr : owner;
  if (reports != nullptr) reports->write_before_exec();
  const int result = exec.get()(arguments...);
  if (reports != nullptr) reports->note_failed_exec();
  return result;
}

// Of execvp: a name with a slash is a path, another is looked for in the folders of PATH.
bool is_nowhere(const char* file) noexcept {
  if (file == nullptr || std::strchr(file, '/') != nullptr) return is_hopeless(AT_FDCWD, file);
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/bin:/usr/bin" : variable;  // as execvp(3) says
  for (bool is_last = false; !is_last;) {
    const std::size_t colon = rest.find(':');
    is_last = colon == rest.npos;
    const std::string_view folder = rest.substr(0, colon);
    std::array<char, 1024> path{};
    const int length =
        std::snprintf(path.data(), path.size(), "%.*s%s%s", static_cast<int>(folder.size()),
                      folder.data(), folder.empty() ? "" : "/", file);
    const bool is_cut = length < 0 || static_cast<std::size_t>(length) >= path.size();
    if (is_cut || !is_hopeless(AT_FDCWD, path.data())) return false;
    if (!is_last) rest.remove_prefix(colon + 1);
  }
  return true;
}

// How many pointers a list of arguments has, the null one at its end included.
std::size_t length(va_list& rest) noexcept {
  std::size_t count = 1;
  while (va_arg(rest, char*) != nullptr) ++count;
  return count;
}

__attribute__((constructor)) void find_next_definitions() {
  find_now(next::exit_at_once, next::exit_of_the_standard, next::execve, next::execv, next::execvp,
           next::execvpe, next::fexecve, next::execveat);
}

// pthread_exit of the main thread runs this; its return from main does not.
void at_end_of_main_thread(void*) {
  if (Reports* const reports = Reports::of_this_process()) reports->note_end_of_main_thread();
}

// Bound to no object, so that it runs from the list of exit handlers and not with our destructors.
void at_end(void*) { write_last_report(); }
constinit bool runs_at_end = false;
constexpr int kExitsTogether = 8;

// Before main, before the program can change its environment or folder.
__attribute__((constructor)) void at_load() {
  const KeptErrno kept;
  static_cast<void>(startup());
  // Exit handlers run last in, first out. This one is there before the C library registers the
  // destructors of all loaded objects, which it does when it calls main: it runs after them. The
  // same with quick_exit and its handlers.
  // Several times: threads that call exit together take a handler each, and who finds none ends the
  // process while another writes.
  for (int i = 0; i < kExitsTogether; ++i) {
    runs_at_end = __cxa_atexit(at_end, nullptr, nullptr) == 0;
    __cxa_at_quick_exit(at_end, nullptr);
  }
  pthread_key_t key{};
  if (!switched_off() && pthread_key_create(&key, at_end_of_main_thread) == 0) {
    pthread_setspecific(key, &runs_at_end);  // not null, so that it counts
  }
}

// Runs before the destructors of libraries that the program links. The leak checker of a sanitizer
// ends a process from the list of exit handlers, before ours.
__attribute__((destructor)) void at_unload() {
  if (!runs_at_end || &__lsan_do_leak_check != nullptr) write_last_report();
}

}  // namespace
}  // namespace vramscope

VRAMSCOPE_EXPORT void _exit(int status) { vramscope::leave(vramscope::next::exit_at_once, status); }
VRAMSCOPE_EXPORT void _Exit(int status) noexcept {
  vramscope::leave(vramscope::next::exit_of_the_standard, status);
}

// Each passes to the C library's function of the same name. `forecast`: it is seen to fail.
#define VRAMSCOPE_EXEC(name, parameters, forecast, ...)                                     \
  VRAMSCOPE_EXPORT int name parameters noexcept {                                           \
    const auto is_seen_to_fail = [&]() noexcept -> bool { return (forecast); };             \
    return vramscope::replace_program(vramscope::next::name, is_seen_to_fail, __VA_ARGS__); \
  }
VRAMSCOPE_EXEC(execve, (const char* path, char* const argv[], char* const envp[]),
               vramscope::is_hopeless(AT_FDCWD, path), path, argv, envp)
VRAMSCOPE_EXEC(execv, (const char* path, char* const argv[]),
               vramscope::is_hopeless(AT_FDCWD, path), path, argv)
VRAMSCOPE_EXEC(execvp, (const char* file, char* const argv[]), vramscope::is_nowhere(file), file,
               argv)
VRAMSCOPE_EXEC(execvpe, (const char* file, char* const argv[], char* const envp[]),
               vramscope::is_nowhere(file), file, argv, envp)
VRAMSCOPE_EXEC(fexecve, (int fd, char* const argv[], char* const envp[]), false, fd, argv, envp)
VRAMSCOPE_EXEC(execveat,
               (int folder, const char* path, char* const argv[], char* const envp[], int flags),
               flags == 0 && vramscope::is_hopeless(folder, path), folder, path, argv, envp, flags)

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
