#pragma once

#include <cstdint>

#include "weft/model/program/program.h"

namespace weft {

/// What computing an op takes, on whichever device. Counted for one row of its buffer: a token with
/// its choices of experts, or an output. An op states its kind of work beside its spec
/// (OpTraits::work), and the numbers follow from its operands.
struct OpWork {
  WorkKind kind = WorkKind::kPass;
  bool by_output = false;         ///< its rows are outputs
  std::int64_t numbers = 0;       ///< of its buffer, a row
  std::int64_t products = 0;      ///< multiplications with weights, a row
  std::int64_t key_products = 0;  ///< multiplications with keys and values, a row and key it sees
  KvGroup keys = KvGroup::kSelf;  ///< the KV cache that key_products counts
  std::int64_t weight_bytes = 0;  ///< of all its matrices
  std::int64_t chosen = 1;        ///< of all experts of the layer, for a token
  /// How many experts' matrices the op has; 0: each row is multiplied with all matrices.
  std::int64_t experts = 0;
};

/// `op` is one of the program.
[[nodiscard]] OpWork work_of(const Program& program, const Op& op);

}  // namespace weft
