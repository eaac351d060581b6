#pragma once

#include "weft/model/program/stack_writer.h"

namespace weft {

/// Compiles a stack's embedding to ops, with which the residual stream begins. Owner only; borrows
/// all arguments.
class EmbeddingCompiler {
 public:
  EmbeddingCompiler(StackWriter& out, const StackBlock& stack)
      : out_(out),
        model_(out.model()),
        program_(out.program()),
        weights_(out.weights()),
        stack_(stack) {}

  /// Computes the stream from tokens, their types and positions.
  void embed();

  /// Looks up the tokens' rows again, for the layers that read them (LayerInputBlock): the stream
  /// changes in place, and each stage of a pipeline looks them up. Returns kAbsent if no layer
  /// reads them.
  [[nodiscard]] BufferId embed_for_layers();

 private:
  void embed_apart(EmbedOp op, const EmbeddingBlock& block, bool projects);
  void types(EmbedOp& op, const EmbeddingBlock& block);
  void positions(EmbedOp& op);

  StackWriter& out_;
  const Architecture& model_;
  Program& program_;
  WeightPlanner& weights_;
  const StackBlock& stack_;
};

}  // namespace weft
