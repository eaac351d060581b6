#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/commands/model_folder.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/core/io/output.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/checkpoint/safetensors_writer.h"
#include "weft/model/quantize/quantize_tensors.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMergeVerb = "merge";
constexpr double kMergedMegabyte = 1e6;

struct MergeArguments {
  ModelOptions model;
  std::string out;
};

/// Fails where the base cannot be written as a folder of plain numbers.
void check_base(const MergeArguments& arguments, const OpenedModel& model) {
  std::error_code ignored;
  if (!fs::is_directory(arguments.model.path, ignored) ||
      model.checkpoint->format() == CheckpointFormat::kGguf)
    fail(kMergeVerb, arguments.model.path +
                         ": is no folder in Hugging Face layout; --adapter merges into a GGUF file "
                         "while it is loaded");
  for (const CheckpointTensor& tensor : model.checkpoint->tensors()) {
    if (is_encoded(tensor.dtype))
      fail(kMergeVerb, arguments.model.path + ": " + tensor.name + " is encoded as " +
                           std::string(to_string(tensor.dtype)) +
                           "; merge into the model that was quantized, then weft quantize OUT");
  }
}

/// Writes the merged weights. Returns the signal that ended it, or 0.
int write_merged_weights(const std::vector<PlannedTensor>& tensors, const TensorLayout& layout,
                         int threads, const fs::path& path, ProgressBar& bar) {
  const OutputFile file = value_or_fail(kMergeVerb, OutputFile::create(path));
  QuantizeJob job;
  job.tensors = tensors;
  job.layout = &layout;
  job.file = &file;
  job.threads = threads;
  int signal = 0;
  job.progress = [&bar, &signal](std::int64_t done, std::int64_t total) {
    bar.show(done, total);
    signal = Interrupts::take_signal();
    return signal == 0;
  };
  if (value_or_fail(kMergeVerb, write_tensors(job))) value_or_fail(kMergeVerb, file.sync());
  return signal;
}

/// Makes OUT whole, or nothing.
void write_merged(const MergeArguments& arguments, const std::vector<PlannedTensor>& tensors,
                  const TensorLayout& layout) {
  const Interrupts interrupts({SIGTERM, SIGHUP});  // before there is something to remove
  ProgressBar bar("merging");
  Draft draft = value_or_fail(kMergeVerb, Draft::make(arguments.out, Draft::Kind::kFolder));
  int signal = write_merged_weights(tensors, layout, arguments.model.threads,
                                    draft.place() / "model.safetensors", bar);
  if (signal == 0) {
    copy_companions(kMergeVerb, arguments.model.path, draft.place());
    signal = Interrupts::take_signal();
  }
  if (signal != 0) {
    bar.note("weft merge: stopped; nothing was kept");
    throw CLI::RuntimeError(status_after(signal));
  }
  value_or_fail(kMergeVerb, draft.finish());
}

void run_merge(const MergeArguments& arguments) {
  const OpenedModel model = value_or_fail(kMergeVerb, open_asked(arguments.model));
  check_base(arguments, model);
  std::vector<PlannedTensor> tensors;
  std::vector<TensorEntry> entries;
  for (const CheckpointTensor& tensor : model.checkpoint->tensors()) {
    tensors.push_back({&tensor, tensor.dtype});
    entries.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  const TensorLayout layout = lay_out_safetensors(entries);
  write_merged(arguments, tensors, layout);
  const Adapter& adapter = *model.adapter;
  const std::size_t replaced = adapter.whole.size() + adapter.rows.size() + adapter.biases.size();
  std::cout << arguments.out << ": " << std::fixed << std::setprecision(1)
            << static_cast<double>(layout.size) / kMergedMegabyte << " MB, "
            << adapter.targets.size() << " low-rank pairs and " << replaced
            << " other changes merged\n";
}

}  // namespace

void add_merge_command(CLI::App& app) {
  auto* command = app.add_subcommand("merge", "Write a model with an adapter merged into it");
  auto arguments = std::make_shared<MergeArguments>();
  command->add_option("BASE", arguments->model.path, "The model, a folder in Hugging Face layout")
      ->required();
  command
      ->add_option("ADAPTER", arguments->model.adapter,
                   "A PEFT folder, with adapter_config.json (docs/adapters.md)")
      ->required();
  command->add_option("OUT", arguments->out, "A folder to make; it must not be there")->required();
  command
      ->add_option("--spec", arguments->model.spec,
                   "Read the model by this spec (docs/model-specs.md)")
      ->type_name("FILE");
  command->add_option("--threads", arguments->model.threads, "0 = one for each core")
      ->check(CLI::Range(0, 1024));
  command->callback([arguments] { run_merge(*arguments); });
}

}  // namespace weft::cli
