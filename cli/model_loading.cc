#include "weft/cli/model_loading.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include "weft/cli/progress_bar.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/model/architecture.h"
#include "weft/model/spec.h"

namespace weft::cli {
namespace {

constexpr int kMaxThreads = 1024;

bool has_tokenizer_json(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.extension() == ".json") return true;
  return std::filesystem::exists(path / "tokenizer.json", ignored);
}

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

Result<OpenedModel> open_model(const ModelOptions& options) {
  auto checkpoint = open_checkpoint(options.path);
  if (!checkpoint) return checkpoint.error();
  const auto spec = options.spec.empty() ? find_spec(*checkpoint) : Spec::load(options.spec);
  if (!spec) return spec.error();
  OpenedModel model;
  model.spec = spec->file();
  model.checkpoint = std::make_shared<Checkpoint>(std::move(*checkpoint));
  const auto architecture = resolve_architecture(*spec, *model.checkpoint);
  if (!architecture) return architecture.error();
  auto program = compile(*architecture, *model.checkpoint);
  if (!program) return program.error();
  model.program = std::make_shared<Program>(std::move(*program));
  return model;
}

Result<std::unique_ptr<HostDevice>> load_alone(const OpenedModel& model,
                                               const ModelOptions& options, std::int64_t context) {
  HostOptions host = SequenceRunner::options_for(*model.program, context);
  host.threads = options.threads;
  ProgressBar bar("loading");
  return HostDevice::load(model.checkpoint, model.program, host,
                          [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); });
}

Result<Tokenizer> load_tokenizer(const std::string& path) {
  if (has_tokenizer_json(path)) return Tokenizer::load(path);
  const auto checkpoint = open_checkpoint(path);
  if (!checkpoint) return checkpoint.error();
  const Vocabulary* vocabulary = checkpoint->vocabulary();
  // The loader says best what is missing in a folder without tokenizer.json.
  if (vocabulary == nullptr) return Tokenizer::load(path);
  return Tokenizer::from_vocabulary(*vocabulary, path);
}

std::string text_argument(const std::string& text) {
  if (text != "-") return text;
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

}  // namespace weft::cli
