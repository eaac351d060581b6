#pragma once

#include <cstdint>

#include "weft/kernels/rows.h"
#include "weft/train/step/dropout.h"
#include "weft/train/step/trained_model.h"

namespace weft {

/// out = in W^T + bias, W being a frozen matrix [N, K] of the program. A matrix of floats is
/// multiplied by linear(), with the bits of inference; the blocks of an encoding are decoded to
/// float32 first, some rows at a time.
void multiply_frozen(TrainedModel& model, MatrixId id, VectorId bias, const ConstRows& in,
                     const Rows& out);

/// in_gradient += out_gradient W, by rows of W that are decoded some at a time.
void multiply_frozen_turned(TrainedModel& model, MatrixId id, const ConstRows& out_gradient,
                            const Rows& in_gradient);

/// The products of the low-rank pairs of a matrix: out += scale * B (A drop(in)).
void add_pairs(TrainedModel& model, MatrixId id, const ConstRows& in, const Rows& out,
               const Dropout& dropout);

/// Which gradients add_pair_gradients() adds.
struct PairGradients {
  bool of_pairs = true;
  Rows of_input{};    ///< data null: none
  Dropout dropout{};  ///< as on the way forward
};

/// Adds the gradients of A and B to the pairs', and that of the input to `wanted.of_input`.
void add_pair_gradients(TrainedModel& model, MatrixId id, const ConstRows& in,
                        const ConstRows& out_gradient, const PairGradients& wanted);

}  // namespace weft
