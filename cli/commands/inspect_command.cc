#include <CLI/CLI.hpp>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/commands/inspect_adapter.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/size_text.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/settle_partition.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/tensor_names.h"

namespace weft::cli {
namespace {

constexpr const char* kInspectVerb = "inspect";
// The number of unknown tensors that are listed; further ones are only counted.
constexpr std::size_t kListed = 20;

struct InspectOptions {
  ModelOptions model;
  std::string partition;
  bool no_program = false;
  bool tensors = false;
};

void line(const char* label, const std::string& text) {
  std::cout << std::left << std::setw(14) << label << text << '\n';
}

/// Bytes by type, as "q4_k 1.5 MiB, f32 12 KiB".
std::string dtypes_text(const std::map<DType, std::int64_t>& bytes) {
  std::string text;
  for (const auto& [dtype, size] : bytes) {
    text.append(text.empty() ? "" : ", ").append(to_string(dtype)).append(" ");
    text.append(size_text(size));
  }
  return text;
}

/// Returns the bytes of the program's matrices by type, as the host holds them.
std::map<DType, std::int64_t> held_bytes(const Program& program) {
  std::map<DType, std::int64_t> bytes;
  for (const MatrixPlan& matrix : program.matrices) {
    if (matrix.runs.empty()) bytes[matrix.dtype] += matrix.bytes();
    for (const WeightRun& run : matrix.runs) {
      bytes[run.dtype] += bytes_of(run.dtype, run.outputs * matrix.inputs).value_or(0);
    }
  }
  return bytes;
}

std::map<DType, std::int64_t> file_bytes(const Checkpoint& checkpoint) {
  std::map<DType, std::int64_t> bytes;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    bytes[tensor.dtype] += static_cast<std::int64_t>(tensor.size);
  }
  return bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text.append(text.empty() ? "[" : ", ").append(std::to_string(extent));
  }
  return text.empty() ? "[]" : text + "]";
}

void print_tensors(const Checkpoint& checkpoint) {
  constexpr int kTypeWidth = 9;
  constexpr int kSizeWidth = 11;
  std::cout << "\ntensors: type, size, name and shape\n";
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    std::cout << "  " << std::left << std::setw(kTypeWidth) << to_string(tensor.dtype)
              << std::setw(kSizeWidth) << size_text(static_cast<std::int64_t>(tensor.size))
              << tensor.name << ' ' << shape_text(tensor.shape) << '\n';
  }
}

/// Returns a token's KV size, as "2 KiB a token in f32, 1 KiB in bf16, ...".
std::string kv_text(const Program& program) {
  std::string text;
  for (const KvDType& each : kKvDTypes) {
    if (each.dtype == DType::kF16) continue;  // the same size as bf16
    text.append(text.empty() ? "" : ", ").append(size_text(program.kv_bytes_per_token(each.dtype)));
    text.append(each.dtype == DType::kF32 ? " a token in " : " in ").append(each.name);
  }
  return text;
}

/// Writes each kind of KV heads once: "4 KV heads of 256, 1 of 512".
std::string kv_heads_text(const Program& program) {
  std::string text;
  std::vector<std::string> kinds;
  for (const KvLayerPlan& kv : program.self_kv) {
    const std::string size = " of " + std::to_string(kv.head_size);
    const std::string kind = std::to_string(kv.kv_heads) + size;
    if (std::ranges::find(kinds, kind) != kinds.end()) continue;
    text += kinds.empty() ? std::to_string(kv.kv_heads) + " KV heads" + size : ", " + kind;
    kinds.push_back(kind);
  }
  return text;
}

void print_sizes(const OpenedModel& model) {
  const Program& program = *model.program;
  line("family", program.family + " (" + model.spec + ")");
  line("format", std::string(to_string(model.checkpoint->format())) + ", " +
                     std::to_string(model.checkpoint->tensors().size()) + " tensors (" +
                     dtypes_text(file_bytes(*model.checkpoint)) + ")");
  line("in files", size_text(static_cast<std::int64_t>(model.checkpoint->stored_bytes())));
  line("parameters", std::to_string(program.parameters));
  line("vocabulary", std::to_string(program.vocabulary));
  line("hidden", std::to_string(program.hidden));
  const std::string window =
      program.window > 0 ? ", a token sees the last " + std::to_string(program.window) : "";
  line("context", std::to_string(program.context) + " tokens" + window);
  if (!program.self_kv.empty()) {
    line("layers", std::to_string(program.layers) + ", " + kv_heads_text(program));
  }
  line("weights",
       size_text(program.weight_bytes()) + " (" + dtypes_text(held_bytes(program)) + ")");
  line("KV cache", kv_text(program));
  line("buffers", size_text(program.decode.floats_per_token * std::int64_t{sizeof(float)}) +
                      " a token of a step, " +
                      size_text(program.decode.floats_per_output * std::int64_t{sizeof(float)}) +
                      " a row of logits");
}

void print_unused(const Program& program) {
  const auto& unused = program.unused_tensors;
  if (unused.empty()) {
    line("unknown", "no tensor");
    return;
  }
  line("unknown", std::to_string(unused.size()) + " tensors that the spec does not use:");
  for (std::size_t i = 0; i < std::min(unused.size(), kListed); ++i) {
    std::cout << "  " << unused[i] << '\n';
  }
  if (unused.size() > kListed) std::cout << "  and " << unused.size() - kListed << " more\n";
}

/// Prints the tensors that the spec knows and does not need: those of what sees or hears.
void print_left_out(const OpenedModel& model) {
  std::map<std::string, std::int64_t> counts;
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  for (const CheckpointTensor& tensor : model.checkpoint->tensors()) {
    const std::string* pattern = matching_pattern(tensor.name, model.architecture->ignored_tensors);
    if (pattern == nullptr) continue;
    ++counts[*pattern];
    ++tensors;
    bytes += static_cast<std::int64_t>(tensor.size);
  }
  if (counts.empty()) return;
  std::string text = std::to_string(tensors) + " tensors, " + size_text(bytes) + ":";
  for (const auto& [pattern, count] : counts) {
    text.append(" ").append(pattern).append(" ").append(std::to_string(count)).append(",");
  }
  text.pop_back();
  line("left out", text);
}

/// Returns the part of the model that a rank has, as "layers 0..15, 16 of 32 heads, ...".
std::string part_text(const Program& whole, const Program& part) {
  const auto first = static_cast<std::size_t>(part.part.first_layer);
  const auto last = static_cast<std::int64_t>(first) + part.layers - 1;
  std::string text = "layers " + std::to_string(first) + ".." + std::to_string(last);
  if (!part.self_kv.empty() && part.part.ranks > 1) {
    const std::int32_t own = part.self_kv.front().kv_heads;
    const std::int32_t all = whole.self_kv[std::min(first, whole.self_kv.size() - 1)].kv_heads;
    text += ", " + std::to_string(own) + " of " + std::to_string(all) + " KV heads";
  }
  return text + ", weights " + size_text(part.weight_bytes()) + ", KV cache " +
         size_text(part.kv_bytes_per_token(DType::kF32)) + " a token in f32";
}

void print_parts(const OpenedModel& model, const std::string& text, bool with_ops) {
  const PartitionChoice choice = value_or_fail(kInspectVerb, settle_partition(model, text, {}));
  for (const std::string& reason : choice.reasons) std::cout << reason << '\n';
  const Partition partition = value_or_fail(kInspectVerb, parse_partition(choice.partition));
  const auto programs = value_or_fail(kInspectVerb, compile_parts(model, partition));
  std::size_t rank = 0;
  for (const Partition::Stage& stage : partition.stages) {
    for (const std::string& device : stage.devices) {
      const Program& part = *programs[rank];
      line(("rank " + std::to_string(rank)).c_str(),
           device + ": " + part_text(*model.program, part));
      if (with_ops) std::cout << describe(part) << '\n';
      ++rank;
    }
  }
}

void run_inspect(const InspectOptions& options) {
  if (is_only_adapter(options.model.path)) return inspect_adapter(kInspectVerb, options.model.path);
  const OpenedModel model = value_or_fail(kInspectVerb, open_asked(options.model));
  if (!options.partition.empty()) {
    return print_parts(model, options.partition, !options.no_program);
  }
  print_sizes(model);
  print_left_out(model);
  print_unused(*model.program);
  tell_adapters_beside(options.model.path);
  if (options.tensors) print_tensors(*model.checkpoint);
  if (!options.no_program) std::cout << '\n' << describe(*model.program);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "inspect", "Show what a model or an adapter is made of and what it needs, unloaded");
  auto options = std::make_shared<InspectOptions>();
  add_model_options(*command, options->model, false);
  command
      ->add_option(
          "--partition", options->partition,
          "Show the part of each rank when several devices share the model; auto: chooses them, "
          "and says why (docs/scale.md)")
      ->type_name("DEVICES");
  command->add_flag("--no-program", options->no_program, "Leave the list of ops out");
  command->add_flag("--tensors", options->tensors,
                    "List every tensor with its type and the bytes that it takes");
  command->callback([options] { run_inspect(*options); });
}

}  // namespace weft::cli
