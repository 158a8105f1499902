// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/stale_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "reporter/report/files/descriptor.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/report/live/live_proof.h"
#include "reporter/view/system/left_overs.h"

namespace vramscope {
namespace {

constexpr std::time_t kYoungestSeconds = 10;  // a program has a name before it listens

bool is_as_we_make_it(const struct stat& found) {
  return S_ISSOCK(found.st_mode) && found.st_uid == geteuid() && found.st_nlink == 1 &&
         (found.st_mode & 07777U) == (S_IRUSR | S_IWUSR) &&
         std::time(nullptr) - found.st_mtim.tv_sec >= kYoungestSeconds;
}

// Whether nobody listens, in whichever container.
bool is_refused(int folder, const std::string& name) {
  const std::optional<sockaddr_un> address = socket_in(folder, name);
  const Descriptor client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!address || client.number() < 0) return false;
  const auto* const to = reinterpret_cast<const sockaddr*>(&*address);
  return connect(client.number(), to, sizeof *address) != 0 && errno == ECONNREFUSED;
}

void remove_if_stale(int folder, const std::string& name) {
  struct stat before {};
  struct stat after {};
  const auto look = [&](struct stat& found) {
    return fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_as_we_make_it(found);
  };
  if (!look(before) || !is_refused(folder, name) || !look(after)) return;
  if (before.st_ino == after.st_ino) unlinkat(folder, name.c_str(), 0);
}

}  // namespace

void remove_stale_sockets() {
  for (const std::string& path : usual_live_folders()) {
    const Descriptor folder(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (folder.number() < 0) continue;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (maker_in(name, kControlSuffix) != 0) remove_if_stale(folder.number(), name);
    }
  }
}

}  // namespace vramscope
