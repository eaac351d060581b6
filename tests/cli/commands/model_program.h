#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include "weft/tests/cli/run_program.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {

/// The demo model's folder.
inline const std::filesystem::path wide_model = source_path("examples/demo_model/model");

inline std::string shell_word(const std::filesystem::path& path) {
  return '"' + path.string() + "\" ";
}

/// Runs `weft quantize`; `before` stands before it on the shell's line.
inline ProgramRun quantize(const std::filesystem::path& model, const std::filesystem::path& out,
                           const std::string& options, const std::string& before = {}) {
  return run_weft("quantize " + shell_word(model) + shell_word(out) + options, before);
}

/// Returns the lines that `weft inspect` prints of a model's tensors.
inline std::string tensors_in(const std::filesystem::path& model) {
  return run_weft("inspect " + shell_word(model) + "--no-program --tensors").output;
}

inline std::ptrdiff_t entries_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

}  // namespace weft::test
