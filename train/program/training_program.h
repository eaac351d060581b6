#pragma once

#include <cstddef>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/kernels/rotary/rotary_spec.h"
#include "weft/model/program/program.h"

namespace weft {

struct Architecture;
class Checkpoint;

/// A run of ops [begin, end) that reads of earlier ops the value `in` alone, and of which later ops
/// read the value `out` alone.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
  BufferId in = kAbsent;  ///< absent in the first segment, which begins with the tokens
  BufferId out = kAbsent;
};

/// A program made ready to be gone through backwards. One op writes each buffer. Matrices are plain
/// and of one type: a gated product has its gate's outputs before up's.
struct TrainingProgram {
  Program program;
  std::vector<char> gated;       ///< by matrix: whether its product is gated
  std::vector<HeadShape> heads;  ///< by op of `decode`: of an attention's queries, keys, values
  std::vector<Segment> layers;   ///< the ops before the head; one for each layer where it can be
  Segment head;                  ///< from the hidden states to the logits
};

/// The pass: checks that each op has a gradient here, and cuts the ops into segments. kCannotTrain
/// naming the block: experts, ALiBi, relative biases, sinks, clipped or scaled queries, norms
/// behind the rotation, keys and values of another layer, an encoder, a model without logits.
/// Errors of compile(). `checkpoint` must outlive the result.
[[nodiscard]] Result<TrainingProgram> make_training_program(const Architecture& architecture,
                                                            const Checkpoint& checkpoint);

}  // namespace weft
