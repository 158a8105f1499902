// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/stale_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>

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
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s",
                                   folder, name.c_str());
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof address.sun_path) return false;
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (client < 0) return false;
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  const bool refused = connect(client, to, sizeof address) != 0 && errno == ECONNREFUSED;
  close(client);
  return refused;
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
    const int folder = open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) continue;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (maker_in(name, kControlSuffix) != 0) remove_if_stale(folder, name);
    }
    close(folder);
  }
}

}  // namespace vramscope
