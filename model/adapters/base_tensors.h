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

/// A parameter of a module that holds all experts, as transformers has it in memory. The
/// checkpoint has it as one stack, or each expert's matrices by themselves.
struct ExpertParameter {
  /// Tensors that take some of the parameter's outputs.
  struct Piece {
    std::vector<const CheckpointTensor*> tensors;  ///< one for each expert, or one stack
    std::int64_t first = 0;                        ///< of the parameter's outputs
    std::int64_t outputs = 0;
  };

  std::string name;  ///< "model.layers.0.mlp.experts.gate_up_proj"
  std::int64_t experts = 0;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<Piece> pieces;
};

/// Finds a base's tensors by the names that an adapter has for them, and says how the program
/// reads them. Borrows base and architecture. Immutable; thread-safe.
class BaseTensors {
 public:
  BaseTensors(const Checkpoint& base, const Program& program, const Architecture& model);

  /// The tensor of this name, whatever prefixes the file has; null: there is none.
  [[nodiscard]] const CheckpointTensor* find(const std::string& name) const;
  /// The parameter of a module's experts; nothing where the base has no such.
  [[nodiscard]] std::optional<ExpertParameter> find_parameter(const std::string& module,
                                                              std::string_view parameter) const;

  /// Whether the program computes with a tensor.
  [[nodiscard]] bool is_read(const CheckpointTensor& tensor) const;
  /// Whether the tensor has its matrix as [inputs, outputs].
  [[nodiscard]] bool is_transposed(const CheckpointTensor& tensor) const;
  /// Whether the tensor is the embedding and the head.
  [[nodiscard]] bool is_tied(const CheckpointTensor& tensor) const;

 private:
  struct Use {
    bool transposed = false;
    bool table = false;   ///< its rows are looked up
    bool matrix = false;  ///< it is multiplied by
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
