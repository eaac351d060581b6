#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/architecture.h"

namespace weft {

/// A parameter with the matrices of all experts of a module, as in transformers' memory. The
/// checkpoint has it as one stack, or as separate matrices of each expert.
struct ExpertParameter {
  /// Tensors with some of the parameter's outputs.
  struct Piece {
    std::vector<const CheckpointTensor*> tensors;  ///< one for each expert, or one stack
    std::int64_t first = 0;  ///< index of the first of the parameter's outputs
    std::int64_t outputs = 0;
  };

  std::string name;  ///< "model.layers.0.mlp.experts.gate_up_proj"
  std::int64_t experts = 0;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<Piece> pieces;
};

/// Finds a base's tensors by an adapter's names for them, and returns how the program reads them.
/// Borrows base and architecture. Immutable; thread-safe.
class BaseTensors {
 public:
  BaseTensors(const Checkpoint& base, const Program& program, const Architecture& model);

  /// Returns the tensor of this name, with any of the file's prefixes; null: there is none.
  [[nodiscard]] const CheckpointTensor* find(const std::string& name) const;
  /// Returns the parameter of a module's experts; nothing if the base has none.
  [[nodiscard]] std::optional<ExpertParameter> find_parameter(const std::string& module,
                                                              std::string_view parameter) const;

  /// Whether the program computes with a tensor.
  [[nodiscard]] bool is_read(const CheckpointTensor& tensor) const;
  /// Whether the tensor stores its matrix as [inputs, outputs].
  [[nodiscard]] bool is_transposed(const CheckpointTensor& tensor) const;
  /// Whether the tensor is both the embedding and the head.
  [[nodiscard]] bool is_tied(const CheckpointTensor& tensor) const;

 private:
  struct Use {
    bool transposed = false;
    bool table = false;   ///< the program looks up its rows
    bool matrix = false;  ///< the program multiplies by it
  };

  void note_tables(const OpList& list);
  [[nodiscard]] Use use_of(const CheckpointTensor& tensor) const;
  [[nodiscard]] std::optional<ExpertParameter> stack_of(const std::string& name) const;
  [[nodiscard]] std::optional<ExpertParameter> experts_of(const std::string& module,
                                                          std::string_view parameter_name) const;
  [[nodiscard]] const CheckpointTensor* expert_tensor(const TensorNames& names,
                                                      std::int64_t expert) const;

  const Checkpoint& base_;
  const Architecture& model_;
  std::map<const CheckpointTensor*, Use> uses_;
};

}  // namespace weft
