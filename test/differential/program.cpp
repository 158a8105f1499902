// The program of a sequence: its processes, its lines in turn, its end.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/program.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "test/differential/patience.h"
#include "test/differential/reports.h"
#include "test/differential/threads.h"
#include "test/differential/turn.h"

namespace vramscope::differential {

namespace {

constexpr unsigned kMostSeconds = 20;  // of a program that hangs; most take milliseconds

const Verbs& verbs() {
  static const Verbs& all = *new Verbs([] {
    Verbs made;
    add_memory_verbs(made);
    add_query_verbs(made);
    add_host_verbs(made);
    add_copy_verbs(made);
    add_stream_verbs(made);
    add_context_verbs(made);
    add_graph_verbs(made);
    add_pool_verbs(made);
    add_virtual_verbs(made);
    add_life_verbs(made);
    add_sharing_verbs(made);
    add_room_verbs(made);
    add_race_verbs(made);
    return made;
  }());
  return all;
}

void print(std::size_t number, const std::string& text) {
  const std::string line = std::to_string(number) + " " + text + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

std::string run_line(World& world, const Line& line) {
  Turn turn{world, line, {}};
  const auto verb = verbs().find(line.verb);
  if (verb == verbs().end()) return "no such verb";
  try {
    verb->second(turn);
  } catch (const std::exception&) {
    return "no such words";
  }
  if (world.asks_once && turn.out == "2") say_room(turn);
  if (line.verb == "init" && turn.out == "0" && !world.initialised) {
    world.initialised = true;
    forget_counted_calls();  // recorded from here on
  }
  return turn.out;
}

// Names of memories begin with a letter and go on with digits; all exist before threads do.
void name_memories(World& world, const Sequence& sequence, int process) {
  for (const Line& line : sequence.lines) {
    if (line.process != process) continue;
    for (const std::string& word : line.words) {
      const bool is_name = word.size() > 1 && word.find_first_of("ahrmviy") == 0 &&
                           word.find_first_not_of("0123456789", 1) == word.npos;
      if (is_name) world.memories[word];
    }
  }
}

// Another process of the sequence, which runs the lines that it is sent and answers each.
class Companion {
 public:
  Companion(const Sequence& sequence, const Setting& setting, int number) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    const pid_t child = fork();
    if (child != 0) {
      close(ends[1]);
      socket_ = ends[0];
      return;
    }
    close(ends[0]);
    alarm_within(kMostSeconds);
    World world;
    world.profiled = !setting.mode.empty();
    world.mode = setting.mode;
    world.folder = setting.folder;
    name_memories(world, sequence, number);
    serve(world, ends[1]);
    write_known_before_end(world);
    std::exit(0);
  }

  [[nodiscard]] std::string ask(const Line& line) const {
    const std::string text = text_of(line);
    std::array<char, 4096> answer{};
    if (socket_ < 0 || send(socket_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return "gone";
    const ssize_t got = recv(socket_, answer.data(), answer.size(), 0);
    return got > 0 ? std::string(answer.data(), static_cast<std::size_t>(got)) : "gone";
  }

 private:
  static void serve(World& world, int socket) {
    std::array<char, 4096> text{};
    for (ssize_t got; (got = recv(socket, text.data(), text.size(), 0)) > 0;) {
      const Sequence one = read_sequence(std::string(text.data(), static_cast<std::size_t>(got)));
      std::string answer = run_line(world, one.lines.at(0));
      if (answer.empty()) answer = "nothing";
      if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  int socket_ = -1;
};

[[noreturn]] void end_by(const std::string& how) {
  if (how == "exit") std::exit(5);
  if (how == "_exit") _exit(5);
  if (how == "_Exit") std::_Exit(5);
  if (how == "quick_exit") std::quick_exit(5);
  if (how == "abort") std::abort();
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "exec") execl("/proc/self/exe", "differential_child", "--hello", nullptr);
  std::exit(6);
}

// end return|exit|_exit|_Exit|quick_exit|abort|kill|exec: the rest is not reached. Not `return`
// while other threads are at work.
int end_program(World& world, const Line& line) {
  write_known_before_end(world);
  int status = 0;
  const std::string& how = line.words.at(0);
  run_alone({line.thread, [&] {
               if (how == "return") {
                 status = 4;
               } else {
                 end_by(how);
               }
             }});
  return status;
}

void run_group(World& world, const Sequence& sequence, std::size_t first, std::size_t last) {
  std::vector<std::string> results(last - first);
  std::vector<Job> jobs;
  bool reports = false;
  note_threads_together();
  world.together = true;
  for (std::size_t i = first; i < last; ++i) {
    const Line& line = sequence.lines[i];
    std::string& result = results[i - first];
    world.records |= line.verb == "record";
    if (line.verb == "end") {
      jobs.push_back({line.thread, [&world, &line] {
                        write_nothing_known_before_end(world);
                        end_by(line.words.at(0));
                      }});
    } else if (line.verb == "report") {
      if (reports || !world.initialised || !may_ask_for_report())
        continue;  // several at once may give one report
      reports = true;
      jobs.push_back({line.thread, [&world] { ask_for_report_soon(world); }});
    } else {
      jobs.push_back({line.thread, [&] { result = run_line(world, line); }});
    }
  }
  run_together(jobs);
  world.together = world.records = false;
  world.note_peaks();
  if (reports && world.profiled) wait_for_reports(world);
  for (std::size_t i = first; i < last; ++i) {
    print(i, sequence.lines[i].verb == "report" ? "asked for" : results[i - first]);
  }
}

}  // namespace

int run_program(const Sequence& sequence, const Setting& setting) {
  alarm_within(kMostSeconds);
  make_shelves();
  World& world = *new World;  // threads may use it until the very end
  world.profiled = !setting.mode.empty();
  world.mode = setting.mode;
  world.folder = setting.folder;
  world.runs_out = sequence.simulator.find("capacity") != std::string::npos;
  name_memories(world, sequence, 0);
  std::vector<Companion> companions;
  int processes = 0;
  for (const Line& line : sequence.lines) processes = std::max(processes, line.process);
  for (int i = 1; i <= processes; ++i) companions.emplace_back(sequence, setting, i);

  for (std::size_t i = 0; i < sequence.lines.size(); ++i) {
    const Line& line = sequence.lines[i];
    if (line.verb == "end" && !line.together) return end_program(world, line);
    if (line.process != 0) {
      const auto& companion = companions[static_cast<std::size_t>(line.process) - 1];
      print(i, settle_shared(world) ? companion.ask(line) : "skipped: busy");
    } else if (line.together) {
      std::size_t last = i;
      while (last < sequence.lines.size() && sequence.lines[last].together) ++last;
      run_group(world, sequence, i, last);
      i = last - 1;
    } else {
      std::string result;
      run_alone({line.thread, [&] { result = run_line(world, line); }});
      print(i, result);
    }
  }
  write_known_before_end(world);
  return 0;
}

}  // namespace vramscope::differential
