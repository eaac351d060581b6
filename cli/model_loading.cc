#include "weft/cli/model_loading.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>

#include "weft/cli/progress_bar.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/sequence_runner.h"

namespace weft::cli {
namespace {

constexpr int kMaxThreads = 1024;

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options, bool computes) {
  command
      .add_option("MODEL", options.path,
                  "A folder in Hugging Face layout, a GGUF file, or a llama2.c file")
      ->required();
  command.add_option("--spec", options.spec, "Read the model by this spec (docs/model-specs.md)")
      ->type_name("FILE");
  if (!computes) return;
  command.add_option("--device", options.device, "Where the model runs, as weft devices names it")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads of the host; 0 = one for each core")
      ->check(CLI::Range(0, kMaxThreads));
}

Error device_flag_error(const Error& error, const std::string& device) {
  const bool of_name =
      error.code == DeviceErrc::kNoGpuSupport || error.code == DeviceErrc::kNoSuchDevice;
  return of_name ? Error{error.code, "--device " + device} : error;
}

Result<std::unique_ptr<ModelDevice>> load_alone(const OpenedModel& model,
                                                const ModelOptions& options, std::int64_t context) {
  DeviceOptions wanted = SequenceRunner::options_for(*model.program, context);
  wanted.threads = options.threads;
  wanted.kv_dtype = kv_dtype_for(options.device, *model.program);
  ProgressBar bar("loading");
  auto device =
      load_model_device(model, options.device, wanted,
                        [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); });
  if (!device) return device_flag_error(device.error(), options.device);
  return *std::move(device);
}

std::string model_name(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return path.has_extension() ? path.stem().string() : path.filename().string();
}

std::string text_argument(const std::string& text) {
  if (text != "-") return text;
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

}  // namespace weft::cli
