#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/kernels/encoding/quantize/quantize.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/checkpoint/safetensors_writer.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/quantize/importance.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/quantize_tensors.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kQuantizeVerb = "quantize";
constexpr double kMegabyte = 1e6;
// What stands beside weights is text; larger files are weights of another kind.
constexpr std::uintmax_t kMostCopied = std::uintmax_t{64} << 20;
constexpr std::array<std::string_view, 8> kWeightEndings = {
    ".safetensors", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack"};
constexpr std::string_view kIndexEnding = ".index.json";

struct QuantizeArguments {
  ModelOptions model;
  std::string out;
  std::string type;
  std::vector<std::string> tensors;
  std::string importance;
};

DType type_named(const std::string& name, const std::string& flag) {
  const auto dtype = dtype_named(name);
  if (!dtype || !is_float(*dtype) || *dtype == DType::kF64) {
    fail(kQuantizeVerb, flag + ": there is no type " + name + " for weights");
  }
  if (is_encoded(*dtype) && !can_quantize(*dtype)) {
    fail(kQuantizeVerb, flag + ": there is no quantizer for " + name);
  }
  return *dtype;
}

QuantizeOptions quantize_options(const QuantizeArguments& arguments) {
  QuantizeOptions options;
  options.dtype = type_named(arguments.type, "--type");
  for (const std::string& rule : arguments.tensors) {
    const std::size_t at = rule.rfind('=');
    if (at == std::string::npos || at == 0) {
      fail(kQuantizeVerb, "--tensor " + rule + ": must be PATTERN=TYPE");
    }
    options.rules.push_back(
        {rule.substr(0, at), type_named(rule.substr(at + 1), "--tensor " + rule)});
  }
  return options;
}

bool is_gguf_name(const fs::path& path) { return path.extension() == ".gguf"; }

/// A model with the names and shapes that its tensors are written with.
struct WrittenModel {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::vector<GgufPair> metadata;            ///< of a GGUF file
  std::shared_ptr<const Checkpoint> source;  ///< where the numbers are read
};

/// A model of another format as GGUF.
WrittenModel as_gguf(const OpenedModel& model) {
  const auto vocabulary = value_or_fail(kQuantizeVerb, gguf_vocabulary_of(*model.checkpoint));
  if (vocabulary == nullptr) {
    std::cerr << "weft quantize: MODEL has no tokenizer, and so has OUT none\n";
  }
  auto made = value_or_fail(kQuantizeVerb, make_gguf_model(*model.family, model.checkpoint,
                                                           *model.program, vocabulary.get()));
  return {std::move(made.checkpoint), std::move(made.program), std::move(made.metadata),
          std::move(made.source)};
}

/// Fails where OUT cannot be made of such a MODEL.
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
                             DType dtype) {
  for (const TensorEntry& entry : entries) {
    if (gguf_type_of(entry.dtype)) continue;
    fail(kQuantizeVerb, std::string(to_string(entry.dtype)) + ": GGUF does not have this type");
  }
  return lay_out_gguf(metadata_after_quantizing(model.metadata, dtype), entries);
}

void check_importance(const ImportanceMap& importance, const std::vector<PlannedTensor>& tensors,
                      const std::string& file) {
  const bool any = std::ranges::any_of(tensors, [&](const PlannedTensor& tensor) {
    return importance.contains(tensor.source->name);
  });
  if (!any) fail(kQuantizeVerb, "--importance " + file + ": has none of the model's tensors");
}

/// Ends the verb; what is there goes with its draft.
[[noreturn]] void leave_interrupted(ProgressBar& bar, int signal) {
  bar.note("weft quantize: stopped; nothing was kept");
  throw CLI::RuntimeError(status_after(signal));
}

/// Writes the weights' file.
void write_weights(const QuantizeArguments& arguments, const std::vector<PlannedTensor>& tensors,
                   const TensorLayout& layout, const fs::path& path, ProgressBar& bar) {
  std::optional<ImportanceMap> importance;
  if (!arguments.importance.empty()) {
    importance = value_or_fail(kQuantizeVerb, read_importance(arguments.importance));
    check_importance(*importance, tensors, arguments.importance);
  }
  const OutputFile file = value_or_fail(kQuantizeVerb, OutputFile::create(path));
  QuantizeJob job;
  job.tensors = tensors;
  job.layout = &layout;
  job.file = &file;
  if (importance) job.importance = &*importance;
  job.threads = arguments.model.threads;
  int signal = 0;
  job.progress = [&](std::int64_t done, std::int64_t total) {
    bar.show(done, total);
    signal = Interrupts::take_signal();
    return signal == 0;
  };
  if (!value_or_fail(kQuantizeVerb, write_tensors(job))) leave_interrupted(bar, signal);
  value_or_fail(kQuantizeVerb, file.sync());
}

bool is_copied(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (!entry.is_regular_file() || name.starts_with('.') || name.ends_with(kIndexEnding))
    return false;
  return entry.file_size() <= kMostCopied &&
         std::ranges::none_of(kWeightEndings,
                              [&](std::string_view end) { return name.ends_with(end); });
}

/// Config, tokenizer and whatever else stands beside the weights.
void copy_companions(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (!is_copied(entry)) continue;
    const auto text = value_or_fail(kQuantizeVerb, read_text_file(entry.path(), kAnySize));
    const OutputFile copy =
        value_or_fail(kQuantizeVerb, OutputFile::create(to / entry.path().filename()));
    value_or_fail(kQuantizeVerb, copy.write(0, std::as_bytes(std::span(text))));
    value_or_fail(kQuantizeVerb, copy.sync());
  }
}

/// Makes OUT whole, or nothing.
void write_model(const QuantizeArguments& arguments, const std::vector<PlannedTensor>& tensors,
                 const TensorLayout& layout) {
  const bool gguf = is_gguf_name(arguments.out);
  const Interrupts interrupts({SIGTERM, SIGHUP});  // before there is something to remove
  ProgressBar bar("quantizing");
  Draft draft = value_or_fail(
      kQuantizeVerb, Draft::make(arguments.out, gguf ? Draft::Kind::kFile : Draft::Kind::kFolder));
  const fs::path weights = gguf ? draft.place() : draft.place() / "model.safetensors";
  write_weights(arguments, tensors, layout, weights, bar);
  if (!gguf) copy_companions(arguments.model.path, draft.place());
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
  QuantizeOptions options = quantize_options(arguments);
  const OpenedModel opened =
      value_or_fail(kQuantizeVerb, open_model(arguments.model.path, arguments.model.spec));
  const WrittenModel model = written_model(arguments, opened);
  options.may_stay = model.checkpoint != opened.checkpoint;
  const auto tensors =
      value_or_fail(kQuantizeVerb, plan_quantization(*model.checkpoint, *model.program, options));
  const std::vector<TensorEntry> entries = entries_of(tensors);
  const TensorLayout layout = is_gguf_name(arguments.out)
                                  ? lay_out_as_gguf(model, entries, options.dtype)
                                  : lay_out_safetensors(entries);
  write_model(arguments, tensors, layout);
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
                   "Of the layers' matrices: q4_b64, q4_k, q8_0, bf16, ... (docs/quantizing.md)")
      ->required();
  command
      ->add_option("--tensor", arguments->tensors,
                   "Tensors of another type, by a shell pattern; the first that matches holds")
      ->type_name("PATTERN=TYPE");
  command
      ->add_option("--importance", arguments->importance,
                   "An importance matrix of llama-imatrix, in GGUF")
      ->type_name("FILE");
  command->add_option("--threads", arguments->model.threads, "0 = one for each core")
      ->check(CLI::Range(0, 1024));
  command->callback([arguments] { run_quantize(*arguments); });
}

}  // namespace weft::cli
