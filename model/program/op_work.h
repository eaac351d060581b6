#pragma once

#include <cstdint>

#include "weft/model/program/program.h"

namespace weft {

/// The work of computing an op, on any device. It is counted for one row of the op's buffer: a
/// token with its choices of experts, or an output. An op states its kind of work beside its spec
/// (OpTraits::work), and the numbers follow from its operands. StepCosts, which cuts ops into
/// pieces, and StepWork, which `weft bench step` compares with, are sums of it.
struct OpWork {
  WorkKind kind = WorkKind::kPass;
  bool by_output = false;         ///< its rows are outputs
  std::int64_t numbers = 0;       ///< of its buffer, a row
  std::int64_t products = 0;      ///< multiplications with weights, a row
  std::int64_t key_products = 0;  ///< multiplications with keys and values, a row and key it sees
  KvGroup keys = KvGroup::kSelf;  ///< the KV cache that key_products counts
  KvLayerPlan kv;                 ///< what a key and its value have in that cache
  std::int32_t window = 0;        ///< a row sees only so many keys, as AttentionSpec has it
  std::int32_t chunk = 0;
  std::int64_t weight_bytes = 0;  ///< of all its matrices
  std::int64_t vector_bytes = 0;  ///< of all its vectors, but those that table_bytes counts
  std::int64_t table_bytes = 0;   ///< of its tables, a row
  std::int64_t chosen = 1;        ///< of all experts of the layer, for a token
  /// How many experts' matrices the op has; 0: each row is multiplied with all matrices.
  std::int64_t experts = 0;
  /// The number of experts from which it chooses for later products; 0: it does not choose.
  std::int64_t routed = 0;

  /// The first key that a row at `position` sees of its own sequence.
  [[nodiscard]] std::int64_t first_key(std::int64_t position) const noexcept;
};

/// `op` is one of the program.
[[nodiscard]] OpWork work_of(const Program& program, const Op& op);

}  // namespace weft
