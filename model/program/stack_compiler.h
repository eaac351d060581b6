#pragma once

#include "weft/core/error/error.h"
#include "weft/model/program/attention_compiler.h"
#include "weft/model/program/embedding_compiler.h"
#include "weft/model/program/mlp_compiler.h"
#include "weft/model/program/program_part.h"
#include "weft/model/program/stack_writer.h"

namespace weft {

/// Compiles a stack to ops, block by block: the whole stack, or this rank's part of it. Owner only;
/// borrows all arguments.
class StackCompiler {
 public:
  StackCompiler(StackWriter& out, const StackBlock& stack)
      : out_(out), stack_(stack), embedding_(out, stack), attention_(out, stack), mlp_(out) {}

  /// Compiles the stack's layers `layers`, the embedding before the first and the final norm after
  /// the last.
  [[nodiscard]] Result<void> run(const Extent& layers);

 private:
  [[nodiscard]] Result<void> layer(const LayerBlock& layer);
  [[nodiscard]] Result<void> parallel_layer(const LayerBlock& layer);
  void mix(const LayerBlock& layer, BufferId input);
  void attend_to_encoder(const LayerBlock& layer);
  void gate_by_input(const LayerInputBlock& block);

  StackWriter& out_;
  const StackBlock& stack_;
  EmbeddingCompiler embedding_;
  AttentionCompiler attention_;
  MlpCompiler mlp_;
  BufferId embedded_ = kAbsent;  // the stream's first value, if layers read it
};

}  // namespace weft
