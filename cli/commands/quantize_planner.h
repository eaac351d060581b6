#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/commands/quantize_types.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/open_model.h"
#include "weft/model/quantize/mix_plan.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/quantize_tensors.h"

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

/// The value of a flag, or the end of the verb with the flag's name.
template <class T>
T of_flag(const std::string& flag, Result<T>&& value) {
  if (!value) fail(kQuantizeVerb, flag + ": " + value.error().detail);
  return *std::move(value);
}

/// Reads the values of --tensor, or ends the verb.
[[nodiscard]] std::vector<TypeRule> type_rules(const QuantizeArguments& arguments);

[[nodiscard]] bool is_gguf_name(const std::filesystem::path& path);

/// general.file_type of a file of a mix or of one type; nothing where llama.cpp has no number.
[[nodiscard]] std::optional<std::uint32_t> file_type_of(const QuantizeType& type);

/// A model with the names and shapes that its tensors are written with.
struct WrittenModel {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
  std::vector<GgufPair> metadata;            ///< of a GGUF file
  std::shared_ptr<const Checkpoint> source;  ///< where the numbers are read
};

/// Says what becomes of a model's tensors. Where that cannot be, it ends the verb. What it is made
/// of outlives it.
class TypePlanner {
 public:
  TypePlanner(const QuantizeArguments& arguments, const OpenedModel& opened,
              const WrittenModel& model);

  /// Of the tensors as they are written; nothing where none was asked for.
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
  std::optional<GgufNames> names_;  ///< of a folder's tensors
};

}  // namespace weft::cli
