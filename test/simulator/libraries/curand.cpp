// The stand-in for cuRAND: generators, and the numbers that one for the host writes.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <random>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// curandStatus_t
constexpr int kNotInitialized = 101;
constexpr int kAllocationFailed = 102;
constexpr int kTypeError = 103;
constexpr int kOutOfRange = 104;
constexpr int kVersion = VRAMSCOPE_LIBRARY_VERSION;
constexpr int kLastPseudorandom = 199;  // of curandRngType_t; quasirandom ones follow

struct Generator {
  bool for_host = false;
  bool pseudorandom = true;
  std::mt19937_64 numbers;
};

std::atomic_flag said_modelled;

int make(Generator** made, int type, bool for_host) {
  if (made == nullptr || type < 100) return kTypeError;
  say_modelled(said_modelled,
               "cuRAND is a stand-in on the simulated device: its memory is modelled (no generator "
               "takes any), its kernels are not executed");
  *made = new (std::nothrow) Generator{for_host, type <= kLastPseudorandom, {}};
  return *made == nullptr ? kAllocationFailed : kSuccess;
}

// Numbers of the device are a kernel's work. Those of the host are written, since the program goes
// on with them: they are of the distribution that it asks for, and not NVIDIA's sequence.
template <typename Value, typename Distribution>
int write(Generator* generator, Value* into, std::size_t count, Distribution distribution) {
  if (generator == nullptr) return kNotInitialized;
  if (!generator->for_host) return kSuccess;
  for (std::size_t i = 0; i < count; ++i)
    into[i] = static_cast<Value>(distribution(generator->numbers));
  return kSuccess;
}

// (0, 1], as documented.
template <typename Value>
auto uniform() {
  return [below_one = std::uniform_real_distribution<Value>()](auto& numbers) mutable {
    return Value{1} - below_one(numbers);
  };
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int curandCreateGenerator(Generator** made, int type) { return make(made, type, false); }
int curandCreateGeneratorHost(Generator** made, int type) { return make(made, type, true); }
int curandDestroyGenerator(Generator* generator) {
  if (generator == nullptr) return kNotInitialized;
  delete generator;
  return kSuccess;
}

int curandSetPseudoRandomGeneratorSeed(Generator* generator, unsigned long long seed) {
  if (generator == nullptr) return kNotInitialized;
  if (!generator->pseudorandom) return kTypeError;
  generator->numbers.seed(seed);
  return kSuccess;
}

int curandGenerate(Generator* generator, unsigned* into, std::size_t count) {
  return write(generator, into, count, [](auto& numbers) { return numbers() >> 32; });
}
int curandGenerateLongLong(Generator* generator, unsigned long long* into, std::size_t count) {
  return write(generator, into, count, [](auto& numbers) { return numbers(); });
}
int curandGenerateUniform(Generator* generator, float* into, std::size_t count) {
  return write(generator, into, count, uniform<float>());
}
int curandGenerateUniformDouble(Generator* generator, double* into, std::size_t count) {
  return write(generator, into, count, uniform<double>());
}
int curandGenerateNormal(Generator* generator, float* into, std::size_t count, float mean,
                         float deviation) {
  return write(generator, into, count, std::normal_distribution<float>(mean, deviation));
}
int curandGenerateNormalDouble(Generator* generator, double* into, std::size_t count, double mean,
                               double deviation) {
  return write(generator, into, count, std::normal_distribution<double>(mean, deviation));
}
int curandGenerateLogNormal(Generator* generator, float* into, std::size_t count, float mean,
                            float deviation) {
  return write(generator, into, count, std::lognormal_distribution<float>(mean, deviation));
}
int curandGenerateLogNormalDouble(Generator* generator, double* into, std::size_t count,
                                  double mean, double deviation) {
  return write(generator, into, count, std::lognormal_distribution<double>(mean, deviation));
}
int curandGeneratePoisson(Generator* generator, unsigned* into, std::size_t count, double lambda) {
  if (!(lambda > 0)) return kOutOfRange;
  return write(generator, into, count, std::poisson_distribution<unsigned>(lambda));
}
int curandGeneratePoissonMethod(Generator* generator, unsigned* into, std::size_t count,
                                double lambda, int) {
  return curandGeneratePoisson(generator, into, count, lambda);
}

int curandCreatePoissonDistribution(double, void** made) {
  return make_opaque(made, kOutOfRange, kAllocationFailed);
}
int curandDestroyDistribution(Opaque* distribution) {
  delete distribution;
  return kSuccess;
}

int curandGetVersion(int* version) {
  if (version == nullptr) return kOutOfRange;
  *version = kVersion;
  return kSuccess;
}
int curandGetProperty(int which, int* value) {
  if (value == nullptr || which < 0 || which > 2) return kOutOfRange;
  constexpr int kParts[] = {kVersion / 1000, kVersion % 1000 / 100, kVersion % 100};
  *value = kParts[which];
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
