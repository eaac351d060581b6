#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/gpu/model_device.h"
#include "weft/model/open_model.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// Which model a verb works on, and how it is run.
struct ModelOptions {
  std::string path;
  std::string spec;            ///< a file; empty: found by the checkpoint
  std::string device = "cpu";  ///< as `weft devices` names it
  int threads = 0;
};

/// Adds MODEL, --spec and, for verbs that compute, --device, by default `options.device`, and
/// --threads.
void add_model_options(CLI::App& command, ModelOptions& options, bool computes);

/// Loads it for one sequence of up to `context` tokens, with a progress bar on a terminal. Keys and
/// values are as kv_dtype_for() says. Errors of load_model_device(); those of the device's name say
/// --device.
[[nodiscard]] Result<std::unique_ptr<ModelDevice>> load_alone(const OpenedModel& model,
                                                              const ModelOptions& options,
                                                              std::int64_t context);

/// Says that the flag --device asked for what there is not.
[[nodiscard]] Error device_flag_error(const Error& error, const std::string& device);

/// What a model is called after its path: the folder's name, or the file's without extension.
[[nodiscard]] std::string model_name(std::filesystem::path path);

/// `text`, or all of standard input when it is "-".
[[nodiscard]] std::string text_argument(const std::string& text);

}  // namespace weft::cli
