#pragma once

#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/model/program/program.h"

namespace weft::measure {

/// The least work of a step.
struct StepWork {
  double bytes = 0;       ///< bytes read: the weights once, keys and values, rows of the embedding
  double operations = 0;  ///< multiplications and additions, each counted once, of products and
                          ///< attention

  StepWork& operator+=(const StepWork& other) noexcept;
};

/// Returns the work of the next token of `batch` sequences, each of which attends to `context`
/// tokens, including its own. With experts, it counts the weights that evenly distributed choices
/// would hit.
[[nodiscard]] StepWork decode_work(const Program& program, DType kv_dtype, std::int32_t batch,
                                   std::int32_t context);

/// Returns the work of a prompt of `tokens`, with a choice after its last token, in steps of at
/// most `step_tokens`.
[[nodiscard]] StepWork prefill_work(const Program& program, DType kv_dtype, std::int32_t tokens,
                                    std::int32_t step_tokens);

}  // namespace weft::measure
