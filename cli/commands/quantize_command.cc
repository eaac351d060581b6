#include <CLI/CLI.hpp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/commands/model_folder.h"
#include "weft/cli/commands/quantize_planner.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/checkpoint/safetensors_writer.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/quantize_tensors.h"
#include "weft/model/quantize/quantize_type.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMegabyte = 1e6;

/// A model of another format as GGUF.
WrittenModel as_gguf(const OpenedModel& model) {
  const auto vocabulary = value_or_fail(kQuantizeVerb, gguf_vocabulary_of(*model.checkpoint));
  if (vocabulary == nullptr) {
    std::cerr << "weft quantize: MODEL has no tokenizer, and so has OUT none\n";
  }
  if (model.program->fills_masks()) {
    std::cerr << "weft quantize: GGUF has no names for the head that fills in mask tokens: OUT has "
                 "none\n";
  }
  auto made = value_or_fail(kQuantizeVerb, make_gguf_model(*model.family, model.checkpoint,
                                                           *model.program, vocabulary.get()));
  return {std::move(made.checkpoint), std::move(made.program), std::move(made.metadata),
          std::move(made.source)};
}

/// Fails where OUT cannot be made of this MODEL.
WrittenModel written_model(const QuantizeArguments& arguments, const OpenedModel& model) {
  const bool from_gguf = model.checkpoint->format() == CheckpointFormat::kGguf;
  std::error_code ignored;
  if (is_gguf_name(arguments.out)) {
    if (!from_gguf) return as_gguf(model);
    const auto source = value_or_fail(kQuantizeVerb, open_file_source(model.checkpoint->path()));
    return {model.checkpoint, model.program, value_or_fail(kQuantizeVerb, read_gguf_pairs(source)),
            model.checkpoint};
  }
  if (!from_gguf && fs::is_directory(arguments.model.path, ignored))
    return {model.checkpoint, model.program, {}, model.checkpoint};
  fail(kQuantizeVerb, arguments.out +
                          ": a folder is made of a model in Hugging Face layout; name "
                          "a file that ends with .gguf");
}

/// The tensors with the names and shapes that they have in the checkpoint.
std::vector<TensorEntry> entries_of(const std::vector<PlannedTensor>& tensors) {
  std::vector<TensorEntry> entries;
  for (const PlannedTensor& tensor : tensors) {
    entries.push_back({tensor.source->name, tensor.dtype, tensor.source->shape});
  }
  return entries;
}

TensorLayout lay_out_as_gguf(const WrittenModel& model, const std::vector<TensorEntry>& entries,
                             const QuantizeType& type) {
  for (const TensorEntry& entry : entries) {
    if (gguf_type_of(entry.dtype)) continue;
    fail(kQuantizeVerb, std::string(to_string(entry.dtype)) + ": GGUF does not have this type");
  }
  return lay_out_gguf(metadata_after_quantizing(model.metadata, file_type_of(type)), entries);
}

/// Ends the verb; the draft of OUT removes its partial output.
[[noreturn]] void leave_interrupted(ProgressBar& bar, int signal) {
  bar.note("weft quantize: stopped; nothing was kept");
  throw CLI::RuntimeError(status_after(signal));
}

/// Writes the file of the weights. The caller has set all members of `job` but the file.
void write_weights(QuantizeJob job, const fs::path& path, ProgressBar& bar) {
  const OutputFile file = value_or_fail(kQuantizeVerb, OutputFile::create(path));
  job.file = &file;
  int signal = 0;
  job.progress = [&](std::int64_t done, std::int64_t total) {
    bar.show(done, total);
    signal = Interrupts::take_signal();
    return signal == 0;
  };
  if (!value_or_fail(kQuantizeVerb, write_tensors(job))) leave_interrupted(bar, signal);
  value_or_fail(kQuantizeVerb, file.sync());
}

/// Makes OUT whole, or nothing.
void write_model(const QuantizeArguments& arguments, const QuantizeJob& job) {
  const bool gguf = is_gguf_name(arguments.out);
  const Interrupts interrupts({SIGTERM, SIGHUP});  // made before there is anything to remove
  ProgressBar bar("quantizing");
  Draft draft = value_or_fail(
      kQuantizeVerb, Draft::make(arguments.out, gguf ? Draft::Kind::kFile : Draft::Kind::kFolder));
  const fs::path weights = gguf ? draft.place() : draft.place() / "model.safetensors";
  write_weights(job, weights, bar);
  if (!gguf) copy_companions(kQuantizeVerb, arguments.model.path, draft.place());
  if (const int signal = Interrupts::take_signal(); signal != 0) leave_interrupted(bar, signal);
  value_or_fail(kQuantizeVerb, draft.finish());
}

void print_summary(const QuantizeArguments& arguments, const std::vector<PlannedTensor>& tensors,
                   const TensorLayout& layout) {
  std::uint64_t before = 0;
  std::size_t changed = 0;
  for (const PlannedTensor& tensor : tensors) {
    before += tensor.source->size;
    if (tensor.dtype != tensor.source->dtype) ++changed;
  }
  std::cout << arguments.out << ": " << std::fixed << std::setprecision(1)
            << static_cast<double>(layout.size) / kMegabyte << " MB of "
            << static_cast<double>(before) / kMegabyte << " MB, " << changed << " of "
            << tensors.size() << " tensors in another type\n";
}

void run_quantize(const QuantizeArguments& arguments) {
  const QuantizeType type = of_flag("--type", quantize_type_named(arguments.type));
  std::vector<TypeRule> rules = type_rules(arguments);
  const OpenedModel opened =
      value_or_fail(kQuantizeVerb, open_model(arguments.model.path, arguments.model.spec));
  const WrittenModel model = written_model(arguments, opened);
  const TypePlanner planner(arguments, opened, model);
  const std::optional<ImportanceMap> importance = planner.importance();
  const auto tensors = planner.plan(type, std::move(rules), importance ? &*importance : nullptr);
  const std::vector<TensorEntry> entries = entries_of(tensors);
  const TensorLayout layout = is_gguf_name(arguments.out) ? lay_out_as_gguf(model, entries, type)
                                                          : lay_out_safetensors(entries);
  QuantizeJob job;
  job.tensors = tensors;
  job.layout = &layout;
  if (importance) job.importance = &*importance;
  job.threads = arguments.model.threads;
  write_model(arguments, job);
  print_summary(arguments, tensors, layout);
}

}  // namespace

void add_quantize_command(CLI::App& app) {
  auto* command = app.add_subcommand("quantize", "Write a model with smaller weights");
  auto arguments = std::make_shared<QuantizeArguments>();
  add_model_options(*command, arguments->model, false);
  command
      ->add_option("OUT", arguments->out,
                   "A folder to make, or a file that ends with .gguf; it must not be there")
      ->required();
  command
      ->add_option("--type", arguments->type,
                   "q4_k_m, iq4_xs, q8_0, bf16, q4_b64, ...: all of them are below")
      ->required();
  command->add_flag("--pure", arguments->pure,
                    "Every matrix in that one type, the embedding and the head too");
  command
      ->add_option("--tensor", arguments->tensors,
                   "Tensors of another type, by a shell pattern; the first that matches holds")
      ->type_name("PATTERN=TYPE");
  command
      ->add_option("--importance", arguments->importance, "An importance matrix of llama-imatrix")
      ->type_name("FILE");
  command->add_option("--threads", arguments->model.threads, "0 = one for each core")
      ->check(CLI::Range(0, 1024));
  command->footer(quantize_types_help);
  command->callback([arguments] { run_quantize(*arguments); });
}

}  // namespace weft::cli
