// recover_file() makes the report that a process could not write from the live file that it left
// behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vramscope {

struct RecoveryWish {
  int signal = 0;  // the signal that ended the process; 0: not known
  // A time at or after the end of the process, in nanoseconds since 1970; 0: not known.
  std::uint64_t ended_ns = 0;
  bool alive_too = false;   // also recover a running process, from a copy that is marked "moving"
  std::string output = {};  // file or folder for the report; "": its usual name
  std::string usual = {};   // that name, from a trusted source; "": the live file's
  bool is_named = false;    // the user named the file: then a copied or renamed file is read, too,
                            // and stays
};

struct Recovery {
  enum class Result : std::uint8_t {
    recovered,  // the report was written under its usual name
    alive,      // the process runs, or may run, and nothing was done
    taken,      // another process recovers the file, or has done so
    empty,      // the process ended before anything happened, or has only begun
    foreign,    // it is not proved to be our live file and was left alone; problem says why
    finished,   // the process finished with it and could not remove it; `report` is its last report
    failed      // no report can be made; problem says why, and the file stays
  };
  Result result = Result::failed;
  std::int64_t pid = 0;      // 0: not known
  std::string report = {};   // path
  std::string program = {};  // the program's name, without folders
  std::string problem = {};  // one line with the file's path, like all messages of the tool
  std::string reason = {};   // the problem without the path
  std::string stays = {};    // why the live file stays although a report was made; "": it was
                             // removed, or its process runs
};

// Reads the file in a child process, so that a damaged or hostile file does no harm. The file of a
// dead process is removed if it is proved to be ours (live_proof.h), after its report is written:
// under its usual name, or in the current folder if the usual one is gone. A live file may contain
// any name, since an attacker may have taken over a program that gave up its rights. So a usual
// name that does not end in ".json" is accepted only from the caller. Threads: one, the only one of
// the process.
[[nodiscard]] Recovery recover_file(const std::string& path, const RecoveryWish& wish);

// The content of a live file that is deleted.
struct Discarded {
  Recovery::Result result = Recovery::Result::failed;  // recovered: the file was removed
  std::int64_t pid = 0;
  std::string program = {};      // the program's name, without folders; "": not readable
  std::uint64_t live_bytes = 0;  // requested, of all kinds of memory
  std::uint64_t file_bytes = 0;  // size of the file on disk
  std::string unreadable = {};   // why its content cannot be read
  std::string reason = {};       // why it was left alone
};

// Removes the file as recover_file() does, but without a report, after `tell` has received its
// content. If `tell` throws, the file stays. Threads: one, the only one of the process.
[[nodiscard]] Discarded discard_file(const std::string& path,
                                     const std::function<void(const Discarded&)>& tell);

// The owner of a live file, if it is known and the file can be trusted.
struct LiveFileOwner {
  std::int64_t pid = 0;  // 0: not known
  bool is_alive = false;
  bool is_near = false;  // the pid is valid in this pid namespace
};
[[nodiscard]] LiveFileOwner owner_of_live_file(const std::string& path);

// Returns whether the file begins like a live file; false if it cannot be read.
[[nodiscard]] bool is_live_file(const std::string& path);

}  // namespace vramscope
