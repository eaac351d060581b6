#pragma once

#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/model/program/program.h"

namespace weft::measure {

/// The least work of a step.
struct StepWork {
  double bytes = 0;  ///< read: the weights that it uses once, keys and values, embeddings' rows
  double operations = 0;  ///< multiplications and additions, one each: of products and attention

  StepWork& operator+=(const StepWork& other) noexcept;
};

/// The work of the next token of each of `batch` sequences, each of which attends to `context`
/// tokens, its own one included. With experts, it reads the weights that even choices would hit.
[[nodiscard]] StepWork decode_work(const Program& program, DType kv_dtype, std::int32_t batch,
                                   std::int32_t context);

/// The work of a prompt of `tokens`, with a choice after its last one, in steps of at most
/// `step_tokens`.
[[nodiscard]] StepWork prefill_work(const Program& program, DType kv_dtype, std::int32_t tokens,
                                    std::int32_t step_tokens);

}  // namespace weft::measure
