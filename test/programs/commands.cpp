// Takes device memory, gives it back and asks how much is free as lines on standard input say, so
// that a test plays several such programs against each other.
// SPDX-License-Identifier: Apache-2.0
//
// take MIB    prints the code of the call
// give        frees what was taken last and prints the code
// free        prints how many MiB are free
#include <iostream>
#include <string>

#include "test/programs/driver.h"

int main() {
  start();
  std::vector<CUdeviceptr> taken;
  std::string word;
  std::cout << "ready" << std::endl;
  while (std::cin >> word) {
    if (word == "take") {
      std::size_t mib = 0;
      std::cin >> mib;
      CUdeviceptr block = 0;
      const CUresult code = cuMemAlloc(&block, mib * kMiB);
      if (code == CUDA_SUCCESS) taken.push_back(block);
      std::cout << code << std::endl;
    } else if (word == "give") {
      std::cout << cuMemFree(taken.back()) << std::endl;
      taken.pop_back();
    } else {
      std::size_t free = 0, total = 0;
      MUST(cuMemGetInfo(&free, &total));
      std::cout << free / kMiB << std::endl;
    }
  }
}
