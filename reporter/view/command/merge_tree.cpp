// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/merge_tree.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "reporter/view/command/verb.h"
#include "reporter/view/system/executable.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostParts = 65536;

std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " " + shell_word(word);
  return line;
}

// Each rank merges the part of its number. `rank`: an expression of the shell.
std::string by_ranks(const std::string& launch, const std::string& rank, const TreeOf& of,
                     const std::string& folder) {
  return launch + " -n " + std::to_string(of.parts) + " sh -c 'exec vramscope merge --part \"" +
         rank + "/" + std::to_string(of.parts) + "\" -o \"$0/" + rank + ".json\" \"$@\"' " +
         shell_word(folder) + shell_words(of.files) + "\n";
}

std::string by_processors(const TreeOf& of, const std::string& folder) {
  return "seq 0 " + std::to_string(of.parts - 1) + " | xargs -P \"$(nproc)\" -I '{}' " +
         "vramscope merge --part '{}'/" + std::to_string(of.parts) + " -o " +
         shell_word(folder + "/{}.json") + shell_words(of.files) + "\n";
}

std::string first_step(const TreeOf& of, const std::string& folder) {
  if (std::getenv("SLURM_JOB_ID") != nullptr && !find_executable("srun").path.empty()) {
    return by_ranks("srun", "$SLURM_PROCID", of, folder);
  }
  if (!find_executable("mpirun").path.empty()) {
    // Open MPI refuses to run as root otherwise; MPICH does not read them.
    const std::string as_root =
        geteuid() == 0 ? "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " : "";
    return by_ranks(as_root + "mpirun", "${OMPI_COMM_WORLD_RANK-$PMI_RANK}", of, folder);
  }
  return by_processors(of, folder);
}

}  // namespace

std::string merge_tree(const TreeOf& of) {
  const std::string folder = of.output + ".parts";
  return "mkdir -p " + shell_word(folder) + "\n" + first_step(of, folder) + "vramscope merge -o " +
         shell_word(of.output) + " " + shell_word(folder) + "\n";
}

bool read_part(const std::string& word, Part& part) {
  std::size_t first = 0;
  std::size_t of = 0;
  const char* const end = word.data() + word.size();
  const auto slash = std::from_chars(word.data(), end, first);
  if (slash.ec != std::errc() || slash.ptr == end || *slash.ptr != '/') return false;
  const auto rest = std::from_chars(slash.ptr + 1, end, of);
  if (rest.ec != std::errc() || rest.ptr != end || first >= of || of > kMostParts) return false;
  part = {.first = first, .of = of};
  return true;
}

std::string no_part(const std::string& word) {
  Part part;
  return read_part(word, part) ? ""
                               : "'" + word +
                                     "' is no part such as 0/32, the first of 32, or 31/32, "
                                     "the last";
}

}  // namespace vramscope
