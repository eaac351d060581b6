#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/gpu/host_device.h"
#include "weft/model/open_model.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// Which model a verb works on, and how it is run.
struct ModelOptions {
  std::string path;
  std::string spec;  ///< a file; empty: found by the checkpoint
  int threads = 0;
};

/// Adds MODEL, --spec and, for verbs that compute, --threads.
void add_model_options(CLI::App& command, ModelOptions& options, bool computes);

/// Loads it for one sequence of up to `context` tokens, with a progress bar on a terminal.
[[nodiscard]] Result<std::unique_ptr<HostDevice>> load_alone(const OpenedModel& model,
                                                             const ModelOptions& options,
                                                             std::int64_t context);

/// What a model is called after its path: the folder's name, or the file's without extension.
[[nodiscard]] std::string model_name(std::filesystem::path path);

/// `text`, or all of standard input when it is "-".
[[nodiscard]] std::string text_argument(const std::string& text);

}  // namespace weft::cli
