#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/open_model.h"
#include "weft/model/quantize/mix_plan.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/quantize_tensors.h"
#include "weft/model/quantize/quantize_type.h"

namespace weft::cli {

inline constexpr const char* kQuantizeVerb = "quantize";

struct QuantizeArguments {
  ModelOptions model;
  std::string out;
  std::string type;
  bool pure = false;
  std::vector<std::string> tensors;
  std::string importance;
};

/// Returns the value of a flag, or ends the command with an error that names the flag.
template <class T>
T of_flag(const std::string& flag, Result<T>&& value) {
  if (!value) fail(kQuantizeVerb, flag + ": " + value.error().detail);
  return *std::move(value);
}

/// Reads the values of --tensor, or ends the command.
[[nodiscard]] std::vector<TypeRule> type_rules(const QuantizeArguments& arguments);

[[nodiscard]] bool is_gguf_name(const std::filesystem::path& path);

/// Returns the general.file_type of a mix or a type; nothing where llama.cpp has no number for it.
[[nodiscard]] std::optional<std::uint32_t> file_type_of(const QuantizeType& type);

/// A model with the tensor names and shapes of the file to write.
struct WrittenModel {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::vector<GgufPair> metadata;            ///< metadata of a GGUF file
  std::shared_ptr<const Checkpoint> source;  ///< the checkpoint that the numbers are read from
};

/// Plans the type of each tensor of a model. Where no plan is possible, it ends the command. The
/// arguments of the constructor must outlive the planner.
class TypePlanner {
 public:
  TypePlanner(const QuantizeArguments& arguments, const OpenedModel& opened,
              const WrittenModel& model);

  /// The importances, under the names that the tensors have in the output; nothing where the
  /// command names no file.
  [[nodiscard]] std::optional<ImportanceMap> importance() const;

  [[nodiscard]] std::vector<PlannedTensor> plan(const QuantizeType& type,
                                                std::vector<TypeRule> rules,
                                                const ImportanceMap* importance) const;

 private:
  [[nodiscard]] std::optional<TensorTypes> types_of(const Mix& mix,
                                                    const ImportanceMap* importance) const;

  const QuantizeArguments& arguments_;
  const OpenedModel& opened_;
  const WrittenModel& model_;
  std::optional<GgufNames> names_;  ///< GGUF names of a folder's tensors
};

}  // namespace weft::cli
