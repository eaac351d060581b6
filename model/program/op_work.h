#pragma once

#include <cstdint>

#include "weft/model/program/program.h"

namespace weft {

/// The work of an op, on any device. It is counted for one row of the op's buffer: a token with its
/// choices of experts, or an output. An op states its kind of work beside its spec
/// (OpTraits::work); the numbers follow from its operands. StepCosts, which cuts ops into pieces,
/// and StepWork, with which `weft bench step` compares, are sums of it.
struct OpWork {
  WorkKind kind = WorkKind::kPass;
  bool by_output = false;     ///< its rows are outputs
  std::int64_t numbers = 0;   ///< numbers of its buffer in a row
  std::int64_t products = 0;  ///< multiplications with weights for a row
  /// Multiplications with keys and values, for a row and each key that it sees.
  std::int64_t key_products = 0;
  KvGroup keys = KvGroup::kSelf;  ///< the KV cache that key_products counts
  KvLayerPlan kv;                 ///< the sizes of a key and its value in that cache
  std::int32_t window = 0;        ///< the most keys that a row sees, as in AttentionSpec
  std::int32_t chunk = 0;
  std::int64_t weight_bytes = 0;  ///< bytes of all its matrices
  std::int64_t vector_bytes = 0;  ///< bytes of all its vectors, without those in table_bytes
  std::int64_t table_bytes = 0;   ///< bytes of its tables for a row
  std::int64_t chosen = 1;        ///< experts of the layer that a token chooses
  /// The number of experts whose matrices the op has; 0: each row is multiplied with all matrices.
  std::int64_t experts = 0;
  /// The number of experts from which it chooses for later products; 0: it does not choose.
  std::int64_t routed = 0;

  /// Returns the first key that a row at `position` sees of its own sequence.
  [[nodiscard]] std::int64_t first_key(std::int64_t position) const noexcept;
};

/// Returns the work of `op`, an op of the program.
[[nodiscard]] OpWork work_of(const Program& program, const Op& op);

}  // namespace weft
