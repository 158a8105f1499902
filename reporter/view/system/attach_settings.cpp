// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/attach_settings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "reporter/report/files/descriptor.h"
#include "reporter/report/live/attach_file.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/view/system/as_owner.h"

namespace vramscope {

namespace {

// The tool that made it was killed, and its process has ended since.
void remove_stale(int folder, const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const pid_t process = process_of_attach_file(name);
    struct stat found {};
    if (process == 0 || attach_file_name(process) == name) continue;
    if (fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (is_as_we_make(found)) unlinkat(folder, name.c_str(), 0);
  }
}

}  // namespace

bool AttachSettings::make(const std::string& folder, const std::string& text) {
  if (make_private_folder(folder) != 0) return false;
  folder_ = open_private_folder(folder);
  if (folder_ < 0) return false;
  remove_stale(folder_, folder);
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor file(openat(folder_, name_.c_str(), kNew, S_IRUSR | S_IWUSR));
  if (file.number() < 0) return false;
  file_ = identity_of(file.number());
  return write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

AttachSettings::AttachSettings(pid_t process, const std::vector<std::string>& settings)
    : process_(process), name_(attach_file_name(process)) {
  const AsOwner owner(process);
  const std::string text = attach_text(settings);
  if (name_.empty()) {
    problem_ = "it has ended";
  } else if (text.size() > kMostAttachBytes) {
    problem_ = "its settings are too long";
  } else {
    const std::vector<std::string> folders = live_folders_of_environment();
    if (folders.empty() || !make(folders.front(), text)) {
      problem_ = "its settings cannot be written in '" +
                 (folders.empty() ? std::string("/dev/shm") : folders.front()) +
                 "': " + reason_of_errno();
    }
  }
}

AttachSettings::~AttachSettings() {
  if (folder_ < 0) return;
  const AsOwner owner(process_);
  remove_own_file(folder_, name_.c_str(), file_);
  close(folder_);
}

}  // namespace vramscope
