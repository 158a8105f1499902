// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/peer_processes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <vector>

#include "allocator/base/standard_files.h"
#include "allocator/base/uncancelled.h"
#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

constexpr const char* kFile = "contexts";  // in the private folder
constexpr std::size_t kPage = 4096;

// A file offset has 63 bits. From the highest on they hold device, before, taken and process.
constexpr unsigned kProcessBits = 11;
constexpr unsigned kTakenBits = 12;
constexpr unsigned kBeforeBits = 18;
constexpr unsigned kDeviceBits = 22;
constexpr unsigned kTakenAt = kProcessBits;
constexpr unsigned kBeforeAt = kTakenAt + kTakenBits;
constexpr unsigned kDeviceAt = kBeforeAt + kBeforeBits;
static_assert(kDeviceAt + kDeviceBits == 63);

constexpr std::uint64_t kSharedUnit = std::uint64_t{2} << 20;  // of bytes
constexpr std::size_t kMostNotes = 512;  // notes that are read; a device has fewer users

constexpr std::uint64_t most(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
constexpr std::uint64_t part(std::uint64_t note, unsigned at, unsigned bits) {
  return note >> at & most(bits);
}
constexpr std::uint64_t with_taken(std::uint64_t note, std::uint64_t units) {
  return (note & ~(most(kTakenBits) << kTakenAt)) | units << kTakenAt;
}

// Hashes the UUID with FNV-1a. Never 0, so that no note is 0.
std::uint64_t device_number(std::string_view uuid) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : uuid) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return std::max<std::uint64_t>(hash >> (64 - kDeviceBits), 1);
}

flock lock_of(short type, std::uint64_t first, std::uint64_t length) {
  flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(first);
  lock.l_len = static_cast<off_t>(length);
  return lock;
}

constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Whether only this user and root can open the file and so lock it.
bool is_ours_alone(int file) noexcept {
  struct stat found {};
  return fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

// Returns -1 if the file is missing or not ours. "": there is no folder for it.
int open_file(const char* path) noexcept {
  const StandardFilesTaken above_them;
  const int file = open(path, kFlags);
  if (file < 0 || is_ours_alone(file)) return file;
  close(file);
  return -1;
}

// Sets the mode explicitly, so that other processes can open the file whatever the umask is.
bool make_file(int folder) noexcept {
  const int file = openat(folder, kFile, kFlags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file < 0) return errno == EEXIST;
  const bool done = fchmod(file, S_IRUSR | S_IWUSR) == 0;
  close(file);
  return done;
}

// Returns the path of the file in the first usable folder. Never freed.
const std::string* choose_file(const std::string& runtime_folder) {
  const Uncancelled uncancelled;
  const StandardFilesTaken above_them;
  for (const std::string& folder : live_folders(runtime_folder)) {
    const int opened = open_private_folder(folder);
    const bool done = opened >= 0 && make_file(opened);
    if (opened >= 0) close(opened);
    if (done) return new std::string(folder + "/" + kFile);
  }
  return new std::string;
}

// Returns the mapping that holds the lock, or null.
void* publish(const char* path, std::uint64_t note) noexcept {
  const Uncancelled uncancelled;
  const int file = open_file(path);
  if (file < 0) return nullptr;
  void* page = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE, file, 0);
  flock lock = lock_of(F_RDLCK, note, 1);
  // Otherwise a forked child would keep the note of an ended process.
  const bool done = page != MAP_FAILED && madvise(page, kPage, MADV_DONTFORK) == 0 &&
                    fcntl(file, F_OFD_SETLK, &lock) == 0;
  if (!done && page != MAP_FAILED) munmap(page, kPage);
  close(file);
  return done ? page : nullptr;
}

struct Range {
  std::uint64_t first, last;
};

// The kernel reports one lock in a range, so both sides of it are searched. May throw bad_alloc.
template <class Visit>
void each_in(int file, Range whole, const Visit& visit) {
  std::vector<Range> ranges{whole};
  for (std::size_t seen = 0; !ranges.empty() && seen < kMostNotes; ++seen) {
    const Range range = ranges.back();
    ranges.pop_back();
    flock lock = lock_of(F_WRLCK, range.first, range.last - range.first + 1);
    if (fcntl(file, F_OFD_GETLK, &lock) != 0) return;
    if (lock.l_type == F_UNLCK) continue;
    const auto note = static_cast<std::uint64_t>(lock.l_start);
    if (note < range.first || lock.l_len != 1) return;  // not a note of ours
    visit(note);
    if (note > range.first) ranges.push_back({range.first, note - 1});
    if (note < range.last) ranges.push_back({note + 1, range.last});
  }
}

// Visits the notes about the device of `own`, including `own`.
template <class Visit>
void each_beside(const char* path, std::uint64_t own, const Visit& visit) noexcept {
  if (own == 0) return;
  const Uncancelled uncancelled;
  const int file = open_file(path);
  if (file < 0) return;
  const std::uint64_t first = own >> kDeviceAt << kDeviceAt;
  try {
    each_in(file, {first, first + most(kDeviceAt)}, visit);
  } catch (const std::exception&) {  // no memory: count those seen so far
  }
  close(file);
}

// Process-wide, like the driver and its devices.
constinit std::array<std::atomic<void*>, kMaxDevices> pages{};
constinit std::atomic<pid_t> owner{0};

void hold(std::uint16_t device, void* page) noexcept {
  void* const before = pages[device].exchange(page);
  if (before != nullptr) munmap(before, kPage);
}

// Withdraws all notes at exit, when the contexts end.
void withdraw_all() {
  if (owner != getpid()) return;
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) hold(device, nullptr);
}

}  // namespace

// Chosen once, so a program that changes its user keeps its notes where they are.
const char* PeerProcesses::file() const noexcept {
  try {
    static const std::string* const chosen = choose_file(runtime_folder_);
    return chosen->c_str();
  } catch (const std::exception&) {  // no memory for a name
    return "";
  }
}

// Removes the old note first, since two notes of one process would count as two processes.
void PeerProcesses::note(std::uint16_t device, std::uint64_t text) noexcept {
  hold(device, nullptr);
  notes_[device] = text;
  hold(device, publish(file(), text));
}

void PeerProcesses::announce(std::uint16_t device, std::string_view uuid,
                             std::uint64_t before_bytes) noexcept {
  pid_t nobody = 0;
  if (owner.compare_exchange_strong(nobody, getpid())) std::atexit(withdraw_all);
  const std::uint64_t process = static_cast<std::uint64_t>(getpid()) & most(kProcessBits);
  const std::uint64_t before = std::min(before_bytes / kSharedUnit, most(kBeforeBits));
  note(device, device_number(uuid) << kDeviceAt | before << kBeforeAt | process);
}

unsigned PeerProcesses::made_since(std::uint16_t device) const noexcept {
  const std::uint64_t own = notes_[device];
  unsigned count = 0;
  each_beside(file(), own, [&](std::uint64_t other) {
    count += part(other, kBeforeAt, kBeforeBits) >= part(own, kBeforeAt, kBeforeBits) ? 1 : 0;
  });
  return std::max(count, 1U);
}

void PeerProcesses::tell(std::uint16_t device, std::uint64_t taken_bytes) noexcept {
  const std::uint64_t units = (taken_bytes + kSharedUnit - 1) / kSharedUnit;
  const std::uint64_t own = notes_[device];
  if (own != 0 && units != 0 && units <= most(kTakenBits)) note(device, with_taken(own, units));
}

std::optional<std::uint64_t> PeerProcesses::least_taken(std::uint16_t device) const noexcept {
  std::optional<std::uint64_t> least;
  each_beside(file(), notes_[device], [&](std::uint64_t other) {
    const std::uint64_t bytes = part(other, kTakenAt, kTakenBits) * kSharedUnit;
    if (bytes != 0) least = std::min(least.value_or(bytes), bytes);
  });
  return least;
}

void PeerProcesses::withdraw(std::uint16_t device) noexcept { hold(device, nullptr); }

}  // namespace vramscope
