#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/program/program_part.h"
#include "weft/model/program/stack_writer.h"

namespace weft {

/// Compiles the attention blocks of a stack's layers to ops, for this rank's heads. Owner only;
/// borrows all arguments.
class AttentionCompiler {
 public:
  AttentionCompiler(StackWriter& out, const StackBlock& stack)
      : out_(out),
        model_(out.model()),
        program_(out.program()),
        weights_(out.weights()),
        stack_(stack) {}

  /// Computes the frequencies of the stack's rotary embeddings. Call it first.
  [[nodiscard]] Result<void> plan_rotary();

  /// Lets the layer's tokens attend to earlier tokens, or to all if the stack is not causal.
  void attend(const AttentionBlock& block, const ResidualBlock& residual, BufferId input);
  /// Skips a layer without attention, which has no keys and values.
  void pass() { cache_layers_.push_back(kAbsent); }
  /// Lets the layer's tokens attend to the encoder's tokens.
  void attend_to_encoder(const AttentionBlock& block, const ResidualBlock& residual);

 private:
  HeadNormPlan head_norm(std::string_view what, const NormBlock& block,
                         const AttentionBlock& attention, std::int32_t heads, const Extent& kept);
  RotaryOp rotary(const AttentionBlock& block, const HeadShare& heads, BufferId qkv);
  [[nodiscard]] std::int32_t cache_layer() const;
  std::int32_t cache_of(const AttentionBlock& block, const KvLayerPlan& plan);
  AttentionOp attention_op(const AttentionBlock& block, const Extent& heads, BufferId queries,
                           BufferId out);
  void check_relative(const AttentionOp& op, const AttentionBlock& block);
  [[nodiscard]] BufferId gate_heads(const AttentionBlock& block, const Extent& heads,
                                    BufferId input, BufferId mixed);
  void project(std::string_view what, const AttentionBlock& block,
               const std::optional<HeadShare>& shared, const SublayerExit& exit, BufferId in);
  void add_cache_layer(std::vector<KvLayerPlan>& cache, const KvLayerPlan& plan);

  StackWriter& out_;
  const Architecture& model_;
  Program& program_;
  WeightPlanner& weights_;
  const StackBlock& stack_;
  std::vector<RotaryId> rotary_tables_;
  std::vector<std::int32_t> cache_layers_;  // by layer, from this rank's first layer on
};

/// Returns this rank's heads of the block; none if the rank computes all of them.
[[nodiscard]] std::optional<HeadShare> share_of(const StackWriter& out, const AttentionBlock& block,
                                                const ResidualBlock& residual);

/// Returns this rank's heads of the block: all of them if they are not shared.
[[nodiscard]] HeadShare heads_of(const AttentionBlock& block,
                                 const std::optional<HeadShare>& share);

/// Returns the outputs that this rank keeps of the product that computes queries, keys and values.
[[nodiscard]] KeptPart kept_of(const AttentionBlock& block, const std::optional<HeadShare>& share,
                               bool queries, bool keys_and_values);

}  // namespace weft
