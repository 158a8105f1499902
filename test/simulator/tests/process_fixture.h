// Tests with several processes, each with its own driver. The processes start before any driver
// does and talk over a socket.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {

// Fails the process that runs the body, because gtest's own checks count only in the parent.
#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      return 1;                                                                     \
    }                                                                               \
  } while (false)

// One end of a conversation between two processes.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}

  template <class Value>
  void send(const Value& value) const {
    if (write(socket_, &value, sizeof value) != ssize_t{sizeof value}) _exit(98);
  }
  // Waits for a value. Ends the process if the other one is gone.
  template <class Value>
  [[nodiscard]] Value receive() const {
    Value value;
    if (recv(socket_, &value, sizeof value, MSG_WAITALL) != ssize_t{sizeof value}) _exit(99);
    return value;
  }
  void signal() const { send('.'); }
  void await() const { (void)receive<char>(); }
  void send_file(int file) const {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = message_with(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
    if (sendmsg(socket_, &message, 0) != 1) _exit(98);
  }
  [[nodiscard]] int receive_file() const {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = message_with(control);
    if (recvmsg(socket_, &message, 0) != 1 || message.msg_controllen == 0) _exit(99);
    int file = -1;
    std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
  }

 private:
  static msghdr message_with(char (&control)[CMSG_SPACE(sizeof(int))]) {
    static char byte = '.';
    static iovec content{&byte, 1};
    msghdr message = {};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    return message;
  }

  int socket_;
};

using Body = std::function<int(const Peer&)>;

// Afterwards the first device's primary context is current.
inline CUresult start_driver() {
  CUcontext context = nullptr;
  CALL(cuInit)(0);
  CALL(cuDevicePrimaryCtxRetain)(&context, 0);
  return CALL(cuCtxSetCurrent)(context);
}

// Returns the exit status, or minus the signal.
inline int result_of_process(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs both bodies at the same time, each in a process with a driver.
struct TwoProcesses {
  pid_t first = 0;
  pid_t second = 0;

  TwoProcesses(const char* settings, const Body& first_body, const Body& second_body) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    first = run(settings, first_body, ends[0], ends[1]);
    second = run(settings, second_body, ends[1], ends[0]);
    close(ends[0]);
    close(ends[1]);
  }

  static pid_t run(const char* settings, const Body& body, int mine, int other) {
    const pid_t child = fork();
    if (child != 0) return child;
    close(other);
    setenv("VRAMSCOPE_SIM", settings, 1);
    if (start_driver() != CUDA_SUCCESS) _exit(97);
    _exit(body(Peer(mine)));
  }

  void expect_success() const {
    EXPECT_EQ(result_of_process(first), 0);
    EXPECT_EQ(result_of_process(second), 0);
  }
};

// Writes bytes of the device by synchronous copies.
template <class Value>
CUresult put(CUdeviceptr to, const Value& value) {
  return CALL(cuMemcpyHtoD_v2)(to, &value, sizeof value);
}
template <class Value>
Value get(CUdeviceptr from) {
  Value value = {};
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&value, from, sizeof value), CUDA_SUCCESS);
  return value;
}

}  // namespace vramscope::simulator
