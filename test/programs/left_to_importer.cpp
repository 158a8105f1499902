// Gives memory to another process and then gives it up, while that one has it open: it stays used.
// SPDX-License-Identifier: Apache-2.0
//
// left_to_importer ipc|descriptor kept|closed: what is shared how, and whether the other process
// has closed it before this one ends.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "test/programs/driver.h"

namespace {

constexpr std::size_t kBytes = 32 * kMiB;
constexpr auto kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void tell(int socket) {
  if (write(socket, ".", 1) != 1) std::exit(4);
}
void hear(int socket) {
  char byte = 0;
  if (read(socket, &byte, 1) != 1) std::exit(0);  // the other process has ended
}

struct Message {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = '.';
  iovec content{&byte, 1};
  msghdr header{};
  Message() {
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

void send_file(int socket, int file) {
  Message message;
  cmsghdr* part = CMSG_FIRSTHDR(&message.header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(part), &file, sizeof file);
  if (sendmsg(socket, &message.header, 0) != 1) std::exit(4);
}

int receive_file(int socket) {
  Message message;
  int file = -1;
  if (recvmsg(socket, &message.header, 0) != 1) std::exit(4);
  std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof file);
  return file;
}

struct Shared {
  CUdeviceptr block = 0;
  CUmemGenericAllocationHandle handle = 0;
};

Shared give_block(int socket) {
  const CUdeviceptr block = allocate(kBytes);
  CUipcMemHandle handle{};
  MUST(cuIpcGetMemHandle(&handle, block));
  if (write(socket, &handle, sizeof handle) != sizeof handle) std::exit(4);
  return {.block = block};
}

Shared give_handle(int socket) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = kPosix;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  int file = -1;
  MUST(cuMemCreate(&handle, kBytes, &wanted, 0));
  MUST(cuMemExportToShareableHandle(&file, handle, kPosix, 0));
  send_file(socket, file);
  close(file);
  return {.handle = handle};
}

void give_up(const Shared& shared) {
  if (shared.block != 0) MUST(cuMemFree(shared.block));
  if (shared.handle != 0) MUST(cuMemRelease(shared.handle));
}

int importer(int socket, bool by_ipc) {
  start();
  CUdeviceptr block = 0;
  CUmemGenericAllocationHandle handle = 0;
  if (by_ipc) {
    CUipcMemHandle from{};
    if (read(socket, &from, sizeof from) != sizeof from) return 4;
    MUST(cuIpcOpenMemHandle(&block, from, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  } else {
    const std::intptr_t file = receive_file(socket);
    MUST(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(file), kPosix));
    close(static_cast<int>(file));
  }
  tell(socket);
  hear(socket);
  if (block != 0) MUST(cuIpcCloseMemHandle(block));
  if (handle != 0) MUST(cuMemRelease(handle));
  tell(socket);
  hear(socket);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const bool by_ipc = arguments[1] == std::string_view("ipc");
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  if (fork() == 0) {
    close(sockets[0]);
    return importer(sockets[1], by_ipc);
  }
  close(sockets[1]);
  start();
  const std::size_t before = unused_bytes();
  const Shared shared = by_ipc ? give_block(sockets[0]) : give_handle(sockets[0]);
  hear(sockets[0]);
  give_up(shared);
  if (arguments[2] == std::string_view("closed")) {
    tell(sockets[0]);
    hear(sockets[0]);
  }
  usleep(20'000);  // what is free is asked at most every 10 ms
  (void)allocate(20 * kMiB);
  std::printf("used: %zu MiB\n", (before - unused_bytes()) / kMiB);
}
