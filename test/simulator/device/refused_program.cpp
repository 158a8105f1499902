// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/refused_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "interpose/settings/private_variables.h"

namespace vramscope::simulator {

void say_once(std::string_view line) {
  std::fprintf(stderr, "vramscope: %s: %.*s\n", program_invocation_short_name,
               static_cast<int>(line.size()), line.data());
}

void refuse_program(std::string_view line) {
  say_once(line);
  const char* note = secure_getenv(kNoteVariable);
  const int file = note == nullptr ? -1 : open_note(note);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = dprintf(file, "%s\n", kProgramRefused);
    close(file);
  }
  _exit(125);
}

}  // namespace vramscope::simulator
