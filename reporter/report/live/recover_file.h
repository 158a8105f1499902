// recover_file() makes the report that a process could not write from the live file that it left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vramscope {

struct RecoveryWish {
  int signal = 0;  // that ended the process; 0: nobody knows
  // When the process ended, in nanoseconds since 1970 and not earlier than it did; 0: nobody knows.
  std::uint64_t ended_ns = 0;
  bool alive_too = false;   // of a process that goes on: of a copy, marked "moving"
  std::string output = {};  // where the report goes, a file or a folder; "": under its usual name
  std::string usual = {};   // that name, from who can be trusted; "": what the live file says
  bool is_named = false;    // by the user: then one that was copied or renamed counts, and stays
};

struct Recovery {
  enum class Result : std::uint8_t {
    recovered,  // the report is written under its usual name
    alive,      // the process still runs, or that cannot be told, and nothing was done
    taken,      // somebody else recovers it, or has done so
    empty,      // its process ended before there was anything to tell, or just begins
    foreign,    // it is not proved to be a live file of ours, and was left alone; problem says why
    finished,   // its process needed it no more, and could not remove it; `report` is its last one
    failed      // no report can be made of it; problem says why, and the file stays
  };
  Result result = Result::failed;
  std::int64_t pid = 0;      // 0: the file does not say
  std::string report = {};   // path
  std::string program = {};  // its name, without folders
  std::string problem = {};  // one line with the file's path, as all of the tool's
  std::string reason = {};   // the same without the path
  std::string stays = {};    // why the live file was left there although there is a report; "": it
                             // was not, or its process runs
};

// Reads the file in a process of its own, so that a damaged or hostile one harms nobody. The file
// of a dead process is removed, if it is proved to be ours (live_proof.h), once its report is
// written: under its usual name, or in the current folder when the usual one has gone. Whoever took
// over a program that gave up its rights can have the live file say any name: one that does not end
// in ".json" is taken from nobody else. Threads: one, the only one of the process.
[[nodiscard]] Recovery recover_file(const std::string& path, const RecoveryWish& wish);

// What a live file holds that is thrown away.
struct Discarded {
  Recovery::Result result = Recovery::Result::failed;  // recovered: it was removed
  std::int64_t pid = 0;
  std::string program = {};      // its name, without folders; "": it cannot be read
  std::uint64_t live_bytes = 0;  // requested, of all kinds of memory
  std::uint64_t file_bytes = 0;  // that the file takes
  std::string unreadable = {};   // why what it holds cannot be read
  std::string reason = {};       // why it was left alone
};

// Removes the file as recover_file() does, without a report, once `tell` has been told what it
// holds. `tell` may throw: then it stays. Threads: one, the only one of the process.
[[nodiscard]] Discarded discard_file(const std::string& path,
                                     const std::function<void(const Discarded&)>& tell);

// Whose file it is, where it can be told and the file can be trusted.
struct LiveFileOwner {
  std::int64_t pid = 0;  // 0: nobody's
  bool is_alive = false;
  bool is_near = false;  // the number of the process means the same here
};
[[nodiscard]] LiveFileOwner owner_of_live_file(const std::string& path);

// Whether the file begins as a live file does; false when it cannot be read.
[[nodiscard]] bool is_live_file(const std::string& path);

}  // namespace vramscope
