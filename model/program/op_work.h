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
  KvGroup keys = KvGroup::kSelf;  ///< which
  std::int64_t weight_bytes = 0;  ///< of all its matrices
  std::int64_t experts = 0;       ///< so many matrices, of which a row takes some; 0: it takes all
  std::int64_t chosen = 1;        ///< of all experts of the layer, for a token
};

/// `op` is one of the program.
[[nodiscard]] OpWork work_of(const Program& program, const Op& op);

}  // namespace weft
