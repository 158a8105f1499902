// A process gives device memory to another one, started before CUDA was: both see the same bytes.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "test/programs/driver.h"

namespace {

constexpr std::size_t kBytes = 32 * kMiB;

// What the other process found, in the order in which it did it.
struct Answer {
  std::array<CUresult, 4> codes;  // open, read, write, close
  std::array<unsigned char, 3> bytes;
};

template <class T>
void send(int pipe, const T& value) {
  if (write(pipe, &value, sizeof value) != sizeof value) std::exit(4);
}
template <class T>
bool receive(int pipe, T& value) {
  return read(pipe, &value, sizeof value) == sizeof value;
}

constexpr std::size_t kLooks[] = {0, kBytes / 2 + 1, kBytes - 1};

std::array<unsigned char, 3> look(CUdeviceptr block, CUresult& code) {
  std::array<unsigned char, 3> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const CUresult copied = cuMemcpyDtoH(&bytes[i], block + kLooks[i], 1);
    if (copied != CUDA_SUCCESS) code = copied;
  }
  return bytes;
}

// Opens each handle, reads, adds one to the pattern and closes.
int other_process(int from, int to) {
  start();
  CUipcMemHandle handle;
  while (receive(from, handle)) {
    Answer answer{};
    CUdeviceptr block = 0;
    answer.codes[0] = cuIpcOpenMemHandle(&block, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (answer.codes[0] == CUDA_SUCCESS) {
      answer.bytes = look(block, answer.codes[1]);
      const auto next = static_cast<unsigned char>(answer.bytes[0] + 1);
      answer.codes[2] = cuMemsetD8(block, next, kBytes);
      cuCtxSynchronize();
      answer.codes[3] = cuIpcCloseMemHandle(block);
    }
    send(to, answer);
  }
  return 0;
}

void share(const char* name, CUdeviceptr block, CUdeviceptr pointer, int to, int from) {
  CUipcMemHandle handle{};
  Answer answer{};
  const CUresult code = cuIpcGetMemHandle(&handle, pointer);
  show(name, code);
  if (code != CUDA_SUCCESS) return;
  send(to, handle);
  if (!receive(from, answer)) return;
  std::printf("  there: open %d, read %d, write %d, close %d, bytes %d %d %d\n", answer.codes[0],
              answer.codes[1], answer.codes[2], answer.codes[3], answer.bytes[0], answer.bytes[1],
              answer.bytes[2]);
  CUresult looked = CUDA_SUCCESS;
  const auto bytes = look(block, looked);
  std::printf("  here: read %d, bytes %d %d %d\n", looked, bytes[0], bytes[1], bytes[2]);
}

}  // namespace

int main() {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    close(there[1]);
    close(back[0]);
    return other_process(there[0], back[1]);
  }
  close(there[0]);
  close(back[1]);
  start();
  const CUdeviceptr block = allocate(kBytes);
  MUST(cuMemsetD8(block, 0x11, kBytes));
  MUST(cuCtxSynchronize());
  share("a block", block, block, there[1], back[0]);
  share("the same by a pointer inside", block, block + 3 * kMiB, there[1], back[0]);
  show("free", cuMemFree(block));
  const CUdeviceptr next = allocate(kBytes);  // perhaps at the same address
  MUST(cuMemsetD8(next, 0x21, kBytes));
  MUST(cuCtxSynchronize());
  share("the next block", next, next, there[1], back[0]);
  show("free", cuMemFree(next));
  close(there[1]);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("the other process ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}
