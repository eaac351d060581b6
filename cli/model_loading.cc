#include "weft/cli/model_loading.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>

#include "weft/cli/progress_bar.h"
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
  command.add_option("--threads", options.threads, "Threads; 0 = one for each core")
      ->check(CLI::Range(0, kMaxThreads));
}

Result<std::unique_ptr<HostDevice>> load_alone(const OpenedModel& model,
                                               const ModelOptions& options, std::int64_t context) {
  HostOptions host = SequenceRunner::options_for(*model.program, context);
  host.threads = options.threads;
  ProgressBar bar("loading");
  return HostDevice::load(model.checkpoint, model.program, host,
                          [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); });
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
