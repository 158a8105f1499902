// An execution that fails, as can be seen by trying only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

// Of a script in the current folder whose interpreter is not there. Allocates nothing.
inline int execute_in_vain() {
  constexpr char kText[] = "#!/nowhere/program\n";
  const int file = open("script", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  if (file < 0 || pwrite(file, kText, sizeof kText - 1, 0) < 0) return 0;
  close(file);
  return execl("./script", "script", nullptr);
}
