// Rows are claimed and read without locks: a process may be killed at any time.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/shared_use.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace vramscope::simulator {

namespace {

constexpr std::uint64_t kTableMark = 0x31657375'6d697376;  // "vsimuse1"

// What tells a process from a later one with its number, and from what it becomes by exec.
struct ProcessLife {
  char state = 'X';
  unsigned long long start = 0;  // clock ticks after boot
  unsigned long long stack = 0;  // where its stack begins; 0: not ours to know
};

// Fields 3, 22 and 28 of /proc/PID/stat, counted after the name, which may contain anything.
ProcessLife life_of(std::uint64_t pid) {
  ProcessLife life;
  char path[40];
  char text[2048];
  std::snprintf(path, sizeof path, "/proc/%llu/stat", static_cast<unsigned long long>(pid));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return life;
  const ssize_t length = ::read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return life;
  text[length] = '\0';
  const char* fields = std::strrchr(text, ')');
  if (fields == nullptr) return life;
  std::sscanf(fields + 1,
              " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
              " %llu %*s %*s %*s %*s %*s %llu",
              &life.state, &life.start, &life.stack);
  return life;
}

// Number (22 bits: the kernel's limit), start and stack in one word.
constexpr unsigned kPidBits = 22;
constexpr unsigned kHashBits = 21;

std::uint64_t hash(unsigned long long value) {
  return value * 0x9E3779B97F4A7C15 >> (64 - kHashBits);
}

std::uint64_t word_of(std::uint64_t pid, const ProcessLife& life) {
  return pid | hash(life.start) << kPidBits | hash(life.stack) << (kPidBits + kHashBits);
}

bool is_alive(std::uint64_t word) {
  constexpr std::uint64_t kWithoutStack = (std::uint64_t{1} << (kPidBits + kHashBits)) - 1;
  if (word == 0) return false;
  const std::uint64_t pid = word & ((std::uint64_t{1} << kPidBits) - 1);
  const ProcessLife life = life_of(pid);
  if (life.state == 'X' || life.state == 'Z') return false;
  const std::uint64_t compared = life.stack == 0 ? kWithoutStack : ~std::uint64_t{0};
  return ((word_of(pid, life) ^ word) & compared) == 0;
}

std::string path_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  return "/dev/shm/vramscope-simulated-" + std::to_string(getuid()) + "-" + name;
}

}  // namespace

SharedUse::SharedUse(const std::string& name) : table_(map(path_of(name))) {
  const auto pid = static_cast<std::uint64_t>(getpid());
  if (table_ != nullptr) mine_ = claim(word_of(pid, life_of(pid)));
}

SharedUse::~SharedUse() {
  if (mine_ != nullptr) mine_->process = 0;
  if (table_ != nullptr) munmap(table_, sizeof *table_);
}

std::uint64_t SharedUse::used_by_others(int device) const {
  std::uint64_t sum = 0;
  each_other(device, [&sum](std::uint32_t, std::uint64_t bytes) { sum += bytes; });
  return sum;
}

void SharedUse::each_other(int device,
                           const std::function<void(std::uint32_t, std::uint64_t)>& visit) const {
  for (const Row& row : table_->rows) {
    const std::uint64_t bytes = row.bytes[device];
    const std::uint64_t process = row.process;
    if (&row == mine_ || bytes == 0 || !is_alive(process)) continue;
    visit(static_cast<std::uint32_t>(process & ((std::uint64_t{1} << kPidBits) - 1)), bytes);
  }
}

SharedUse::Table* SharedUse::map(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  struct stat facts = {};
  const bool fits = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                    (facts.st_size == 0 || facts.st_size == off_t{sizeof(Table)});
  void* start = MAP_FAILED;
  if (fits && ftruncate(file, sizeof(Table)) == 0) {
    start = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    identity_ = (facts.st_dev * 31 + facts.st_ino) * 0x9E3779B97F4A7C15 >> 16 | 1;
  }
  close(file);
  if (start == MAP_FAILED) return nullptr;
  auto* table = static_cast<Table*>(start);
  std::uint64_t mark = 0;
  if (table->mark.compare_exchange_strong(mark, kTableMark) || mark == kTableMark) return table;
  munmap(start, sizeof(Table));
  return nullptr;
}

std::array<unsigned char, 16> uuid_of(const SharedUse* use, int device) {
  std::array<unsigned char, 16> uuid{};
  std::memcpy(uuid.data(), "vramscope-sim", 13);
  const std::uint64_t identity = use != nullptr ? use->identity() : 0;
  for (unsigned byte = 0; identity != 0 && byte < 6; ++byte) {
    uuid[9 + byte] = static_cast<unsigned char>(identity >> 8 * byte);
  }
  uuid[15] = static_cast<unsigned char>(device);
  return uuid;
}

// A row of somebody dead may hold bytes for a moment: others then see less than there is, not more.
SharedUse::Row* SharedUse::claim(std::uint64_t process) {
  for (Row& row : table_->rows) {
    std::uint64_t seen = row.process;
    if (is_alive(seen) || !row.process.compare_exchange_strong(seen, process)) continue;
    for (auto& bytes : row.bytes) bytes = 0;
    return &row;
  }
  return nullptr;
}

}  // namespace vramscope::simulator
