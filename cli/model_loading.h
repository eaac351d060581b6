#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/model/open_model.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// The model that a verb works on, and the settings of its run.
struct ModelOptions {
  std::string path;
  std::string spec;            ///< a spec file; empty: chosen by the checkpoint
  std::string weights;         ///< the type that floating-point weights get; empty: their own
  std::string device = "cpu";  ///< a name from `weft devices`, or a partition
  int threads = 0;
  std::optional<DType> kv_dtype;  ///< empty: kv_dtype_for() the device
};

/// Adds MODEL and --spec. For verbs that compute it also adds --weights, --device, --partition,
/// --threads and --kv-dtype.
/// The value that `options.device` has before is the default of --device.
void add_model_options(CLI::App& command, ModelOptions& options, bool computes);

/// Opens the model as the options say. Errors of open_model().
[[nodiscard]] Result<OpenedModel> open_asked(const ModelOptions& options);

/// Loads the model for one sequence of up to `context` tokens, with a progress bar on a terminal; a
/// step gives the logits of at most `outputs` tokens. Errors of load_model_device(); errors about
/// the device's name mention --device.
[[nodiscard]] Result<std::unique_ptr<ModelDevice>> load_alone(
    const OpenedModel& model, const ModelOptions& options, std::int64_t context,
    std::int32_t outputs = SequenceRunner::kStepOutputs);

/// Returns the device or partition for a model that is to run on `device`: for "auto" the chosen
/// one, with the reasons on standard error. Errors of settle_partition().
[[nodiscard]] Result<std::string> settled_device(const OpenedModel& model,
                                                 const std::string& device,
                                                 const CapacityWishes& capacity,
                                                 std::optional<DType> kv_dtype = {},
                                                 bool has_tuning = false);

/// Adds to an error that the flag --device asked for a device that does not exist.
[[nodiscard]] Error device_flag_error(const Error& error, const std::string& device);

/// Returns a model's name by its path: the folder's name, or the file's without
/// extension.
[[nodiscard]] std::string model_name(std::filesystem::path path);

/// Returns `text`, or all of standard input when `text` is "-".
[[nodiscard]] std::string text_argument(const std::string& text);

}  // namespace weft::cli
