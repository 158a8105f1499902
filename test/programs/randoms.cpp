// Draws numbers by cuRAND, on the device and on the host.
// SPDX-License-Identifier: Apache-2.0
// The declarations are those that matter.
#include <cstddef>
#include <cstdio>

extern "C" {
int curandCreateGenerator(void** made, int type);
int curandCreateGeneratorHost(void** made, int type);
int curandDestroyGenerator(void* generator);
int curandSetPseudoRandomGeneratorSeed(void* generator, unsigned long long seed);
int curandGenerateUniform(void* generator, float* into, std::size_t count);
int curandGenerateNormalDouble(void* generator, double* into, std::size_t count, double mean,
                               double deviation);
int curandGetScrambleConstants32(unsigned** constants);
int curandGetVersion(int* version);
}

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

int main() {
  void* device = nullptr;
  void* host = nullptr;
  say("generator", curandCreateGenerator(&device, 100));
  say("generator", curandCreateGeneratorHost(&host, 161));
  say("no place for a generator", curandCreateGenerator(nullptr, 100));
  say("seed", curandSetPseudoRandomGeneratorSeed(host, 7));
  float drawn[1000] = {};
  say("device", curandGenerateUniform(device, drawn, 1000));
  std::printf("not written: %g\n", static_cast<double>(drawn[0]));
  say("host", curandGenerateUniform(host, drawn, 1000));
  int within = 0;
  for (const float one : drawn) within += one > 0 && one <= 1;
  std::printf("within (0, 1]: %d, two differ: %d\n", within,
              drawn[0] < drawn[1] || drawn[0] > drawn[1]);
  double normal[1000] = {};
  say("host", curandGenerateNormalDouble(host, normal, 1000, 50, 1));
  double sum = 0;
  for (const double one : normal) sum += one;
  std::printf("mean near 50: %d\n", sum > 49000 && sum < 51000);
  unsigned* constants = nullptr;
  say("not modelled", curandGetScrambleConstants32(&constants));
  int version = 0;
  say("version", curandGetVersion(&version));
  std::printf("major version: %d\n", version / 1000);
  say("end", curandDestroyGenerator(device) + curandDestroyGenerator(host));
}
