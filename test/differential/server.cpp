// Starts players and talks to them.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/server.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace vramscope::differential {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> environment(const Installation& installation,
                                     const Configuration& configuration,
                                     const std::string& folder) {
  const char* const path = std::getenv("PATH");
  std::vector<std::string> all = {"PATH=" + std::string(path == nullptr ? "" : path),
                                  "LD_LIBRARY_PATH=" + installation.simulator, "HOME=/"};
  for (const std::string name : {"VRAMSCOPE_FAULT", "TIME_LIMITS"}) {
    if (const char* const value = std::getenv(name.c_str())) all.push_back(name + "=" + value);
  }
  if (configuration.mode.empty()) return all;
  all.push_back("LD_PRELOAD=" + installation.library);
  all.push_back("VRAMSCOPE_MODE=" + configuration.mode);
  // Such reports would be numbered too. What they tell is gathered all the same.
  all.push_back("VRAMSCOPE_ON_OOM=none");
  all.push_back("VRAMSCOPE_OUTPUT=" + folder + "/%p.%n.json");
  // Sequences that end by a signal would leave theirs in memory.
  all.push_back("VRAMSCOPE_LIVE_FILE=" + folder + "/%p.live");
  for (const auto& [name, value] : configuration.options) all.push_back(name + "=" + value);
  return all;
}

std::vector<std::string> read_results(const std::string& text, std::size_t lines) {
  std::vector<std::string> results(lines);
  std::istringstream input(text);
  std::string line;
  while (std::getline(input, line)) {
    const std::size_t space = line.find(' ');
    if (space == line.npos || line.find_first_not_of("0123456789") != space) continue;
    const std::size_t number = std::stoull(line);
    if (number < lines) results[number] = line.substr(space + 1);
  }
  return results;
}

// "4711.2.json" belongs to process 4711.
bool read_name(const std::string& name, Written& written) {
  return std::sscanf(name.c_str(), "%d.%d.", &written.pid, &written.number) == 2;
}

std::mutex starting;  // a descriptor that is not closed in time would keep another player alive

}  // namespace

Server::Server(const Installation& installation, const Configuration& configuration,
               std::string folder)
    : folder_(std::move(folder)) {
  const std::lock_guard lock(starting);
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes for a player");
  }
  const std::vector<std::string> strings = environment(installation, configuration, folder_);
  std::vector<char*> variables;
  for (const std::string& text : strings) variables.push_back(const_cast<char*>(text.c_str()));
  variables.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execle(installation.player.c_str(), "player", "--serve", folder_.c_str(), nullptr,
           variables.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (process_ < 0) throw std::runtime_error("a player cannot be started");
}

Server::~Server() {
  close(to_);
  close(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

Run Server::run(const Sequence& sequence) {
  const std::filesystem::path folder = folder_;
  for (const auto& old : std::filesystem::directory_iterator(folder)) {
    std::filesystem::remove(old.path());
  }
  const std::string path = folder / "sequence";
  std::ofstream(path) << text_of(sequence);
  const std::string request = path + "\n";
  if (write(to_, request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
    throw std::runtime_error("a player has gone");
  }
  std::string answer;
  for (char c; answer.empty() || answer.back() != '\n'; answer += c) {
    if (read(from_, &c, 1) != 1) throw std::runtime_error("a player does not answer");
  }
  Run run;
  std::istringstream(answer) >> run.pid >> run.status;
  run.results = read_results(content_of(folder / "out"), sequence.lines.size());
  run.errors = content_of(folder / "err");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    Written written;
    const std::string name = file.path().filename();
    if (!read_name(name, written)) continue;
    written.text = content_of(file.path());
    (name.ends_with(".json") ? run.reports : run.known).push_back(std::move(written));
  }
  for (auto* list : {&run.reports, &run.known}) {
    std::sort(list->begin(), list->end(), [](const Written& a, const Written& b) {
      return std::pair(a.pid, a.number) < std::pair(b.pid, b.number);
    });
  }
  return run;
}

}  // namespace vramscope::differential
