// Writes a report before every end of the process and before exec.
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

#include "allocator/base/fault.h"
#include "allocator/base/kept_errno.h"
#include "interpose/life/reports.h"
#include "interpose/loader/loader.h"
#include "interpose/settings/startup.h"

extern "C" {
// Functions of the C library and the C++ ABI that no header declares.
int __cxa_atexit(void (*function)(void*), void* argument, void* object) noexcept;
int __cxa_at_quick_exit(void (*function)(void*), void* object) noexcept;
// A function of a sanitizer's runtime, if one is loaded.
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

// Whether exec of `path` will certainly fail. Some languages look for a program by trying exec in
// one folder after the other.
bool is_hopeless(int folder, const char* path) noexcept {
  if (path == nullptr || faccessat(folder, path, X_OK, AT_EACCESS) == 0) return false;
  return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ||
         errno == ENAMETOOLONG;
}

// exec returns only on failure, and then the program continues. `is_seen_to_fail` is called before,
// in the process that owns the record, so that a failing exec costs no report.
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

// Whether execvp will certainly fail. A name with a slash is a path; another name is searched in
// the folders of PATH.
bool is_nowhere(const char* file) noexcept {
  if (file == nullptr || std::strchr(file, '/') != nullptr) return is_hopeless(AT_FDCWD, file);
  const char* const variable = std::getenv("PATH");
  std::string_view rest =
      variable == nullptr ? "/bin:/usr/bin" : variable;  // the default of execvp(3)
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

// Returns the number of pointers in a list of arguments, including the final null.
std::size_t length(va_list& rest) noexcept {
  std::size_t count = 1;
  while (va_arg(rest, char*) != nullptr) ++count;
  return count;
}

__attribute__((constructor)) void find_next_definitions() {
  find_now(next::exit_at_once, next::exit_of_the_standard, next::execve, next::execv, next::execvp,
           next::execvpe, next::fexecve, next::execveat);
}

// pthread_exit of the main thread runs this; a return from main does not.
void at_end_of_main_thread(void*) {
  if (Reports* const reports = Reports::of_this_process()) reports->note_end_of_main_thread();
}

// Registered without an object, so that it runs with the exit handlers and not with our
// destructors.
// If the library came late, at_unload() writes the report: later, after the destructors of all that
// was loaded before.
void at_end(void*) {
  if (comes_first()) write_last_report();
}
void at_quick_end(void*) { write_last_report(); }
constinit bool runs_at_end = false;
constexpr int kExitsTogether = 8;

// Runs before main, before the program can change its environment or folder.
__attribute__((constructor)) void at_load() {
  const KeptErrno kept;
  static_cast<void>(startup());
  // Exit handlers run last in, first out. This one is there before the C library registers the
  // destructors of all loaded objects, which it does when it calls main: it runs after them. The
  // same with quick_exit and its handlers.
  // Registered several times: threads that call exit at the same time take a handler each, and a
  // thread without one would end the process while another writes.
  for (int i = 0; i < kExitsTogether; ++i) {
    runs_at_end = __cxa_atexit(at_end, nullptr, nullptr) == 0;
    __cxa_at_quick_exit(at_quick_end, nullptr);
  }
  pthread_key_t key{};
  const bool is_main = gettid() == getpid();  // not always, if the library comes late
  if (!switched_off() && is_main && pthread_key_create(&key, at_end_of_main_thread) == 0) {
    pthread_setspecific(key, &runs_at_end);  // not null, so that it counts
  }
}

// Runs before the destructors of libraries that the program links. A sanitizer's leak checker ends
// the process in an exit handler, before ours.
__attribute__((destructor)) void at_unload() {
  if (!comes_first() || !runs_at_end || &__lsan_do_leak_check != nullptr) write_last_report();
}

}  // namespace
}  // namespace vramscope

VRAMSCOPE_EXPORT void _exit(int status) { vramscope::leave(vramscope::next::exit_at_once, status); }
VRAMSCOPE_EXPORT void _Exit(int status) noexcept {
  vramscope::leave(vramscope::next::exit_of_the_standard, status);
}

// Each function calls the C library's function of the same name. `forecast`: whether it will
// certainly fail.
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

// execl and its family: the arguments are copied to an array on the stack, since a child of vfork
// must not allocate. execle's environment follows the null pointer.
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
