// Stands in for libvramscope.so: keeps its side of the agreement on the note file, and nothing
// else. When loaded it notes the report that STAND_IN_REPORT names.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "interpose/settings/private_variables.h"

namespace {

struct NoteWhenLoaded {
  NoteWhenLoaded() {
    const char* note = std::getenv(vramscope::kNoteVariable);
    const char* report = std::getenv("STAND_IN_REPORT");
    if (note == nullptr || report == nullptr) return;
    const std::string line = std::string(report) + "\n";
    const int file = vramscope::open_note(note);
    if (file < 0) return;
    (void)!write(file, line.data(), line.size());
    close(file);
  }
} note_when_loaded;

}  // namespace
