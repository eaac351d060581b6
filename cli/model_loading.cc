#include "weft/cli/model_loading.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <vector>

#include "weft/cli/progress_bar.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/ranks/settle_partition.h"
#include "weft/model/adapters/adapter.h"

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
  command
      .add_option("--adapter", options.adapter,
                  "Merge this adapter into the weights while they are loaded: a PEFT folder, or a "
                  "GGUF file (docs/adapters.md)")
      ->type_name("PATH");
  command
      .add_option("--weights", options.weights,
                  "Type that floating-point weights get while they are loaded, as weft quantize "
                  "--type names it")
      ->type_name("TYPE");
  auto* const device =
      command
          .add_option("--device", options.device, "Where the model runs, as weft devices names it")
          ->capture_default_str();
  command
      .add_option("--partition", options.device,
                  "Several devices, and how they share the model, or auto (docs/scale.md)")
      ->excludes(device)
      ->type_name("DEVICES");
  command.add_option("--threads", options.threads, "Threads of the host; 0 = one for each core")
      ->check(CLI::Range(0, kMaxThreads));
  std::vector<std::string> names;
  for (const KvDType& each : kKvDTypes) names.emplace_back(each.name);
  const auto choose = [&options](const std::string& name) {
    options.kv_dtype = std::ranges::find(kKvDTypes, name, &KvDType::name)->dtype;
  };
  command
      .add_option_function<std::string>(
          "--kv-dtype", choose,
          "What keys and values are kept as; default: f32 on the host, on a GPU as weights")
      ->check(CLI::IsMember(names));
  command.add_flag("--rounds-rows", options.rounds_rows,
                   "Round what FP8 weights are multiplied by to FP8 too, in products of more than "
                   "16 rows on GPUs of compute capability 9.0");
}

Result<OpenedModel> open_asked(const ModelOptions& options) {
  auto opened = open_model(options.path, options.spec, options.weights, options.adapter);
  if (opened && opened->adapter != nullptr) {
    for (const std::string& warning : opened->adapter->warnings)
      std::cerr << "weft: " << warning << '\n';
  }
  return opened;
}

Error device_flag_error(const Error& error, const std::string& device) {
  const bool of_name =
      error.code == DeviceErrc::kNoGpuSupport || error.code == DeviceErrc::kNoSuchDevice;
  return of_name ? Error{error.code, "--device " + device} : error;
}

Result<std::unique_ptr<ModelDevice>> load_alone(const OpenedModel& model,
                                                const ModelOptions& options, std::int64_t context,
                                                std::int32_t outputs) {
  const auto name = settled_device(
      model, options.device, {.rows = 1, .context = std::min(context, model.program->context)},
      options.kv_dtype);
  if (!name) return name.error();
  DeviceOptions wanted = SequenceRunner::options_for(*model.program, context, outputs);
  wanted.threads = options.threads;
  wanted.kv_dtype = options.kv_dtype.value_or(kv_dtype_for(*name, *model.program));
  wanted.rounds_rows = options.rounds_rows;
  ProgressBar bar("loading");
  auto device =
      load_model_device(model, *name, wanted,
                        [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); });
  if (!device) return device_flag_error(device.error(), options.device);
  return *std::move(device);
}

Result<std::string> settled_device(const OpenedModel& model, const std::string& device,
                                   const CapacityWishes& capacity, std::optional<DType> kv_dtype,
                                   bool has_tuning) {
  auto choice = settle_partition(model, device, capacity, kv_dtype, has_tuning);
  if (!choice) return choice.error();
  for (const std::string& reason : choice->reasons) std::cerr << reason << '\n';
  return std::move(choice->partition);
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
