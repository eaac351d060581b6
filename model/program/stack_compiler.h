#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/program/program.h"
#include "weft/model/program/program_part.h"
#include "weft/model/program/weight_planner.h"
#include "weft/model/spec/architecture.h"

namespace weft {

/// Turns the blocks of one stack into ops, of the whole stack or of what a rank has of it. What the
/// ranks share is summed up (AllReduceOp) where a sublayer ends; bias and residual are the first
/// rank's to add. Owner only; borrows all it is given.
class StackCompiler {
 public:
  StackCompiler(const Architecture& model, const StackBlock& stack, const std::string& prefix,
                KvGroup group, Program& program, OpList& list, WeightPlanner& weights)
      : model_(model),
        stack_(stack),
        prefix_(prefix),
        group_(group),
        program_(program),
        list_(list),
        weights_(weights) {}

  /// The stack's layers `layers`, the embedding before the first and the final norm after the last.
  [[nodiscard]] Result<void> run(const Extent& layers);

  /// Nothing but a stream, which another stage has computed.
  void receive();

  [[nodiscard]] BufferId stream() const { return stream_; }

  BufferId buffer(std::string_view name, std::int64_t width, RowKind rows = RowKind::kTokens,
                  std::int64_t rows_per_token = 1);

  void emit(Op op) { list_.ops.push_back(std::move(op)); }

  /// Normalizes `in` into `out`; nothing when the block is not there.
  void norm(const std::string& name, const NormBlock& block, std::int64_t width, BufferId in,
            BufferId out, BufferId residual = kAbsent, float scale = 1, float sum_scale = 1);

  /// The heads of the block that are this rank's; none where it computes all of them.
  [[nodiscard]] std::optional<HeadShare> share(const AttentionBlock& block,
                                               const ResidualBlock& residual);

  [[nodiscard]] static LinearOp plain(const WeightPlanner::Linear& weight, BufferId in,
                                      BufferId out);

 private:
  /// Where a sublayer's last op writes and what it adds, and what follows it.
  struct Exit {
    BufferId out = kAbsent;
    BufferId residual = kAbsent;
    float scale = 1;
    bool is_part = false;  ///< the ranks' are to be summed up
  };

  /// How wide a rank's inner part of an MLP is, and what it keeps of its two matrices.
  struct InnerShare {
    std::int64_t width = 0;
    KeptPart up, down;
  };

  [[nodiscard]] std::string name(std::string_view what) const {
    return prefix_ + std::to_string(layer_) + "." + std::string(what);
  }
  [[nodiscard]] bool is_first_rank() const { return program_.part.rank == 0; }

  void embed();
  void embed_for_layers();
  void embed_apart(EmbedOp op, const EmbeddingBlock& block, bool projects, bool is_part);
  void types(EmbedOp& op, const EmbeddingBlock& block);
  void positions(EmbedOp& op);
  void sum_up(BufferId values) { emit(AllReduceOp{values}); }

  BufferId entry(const std::string& name, const ResidualBlock& block);
  [[nodiscard]] Exit exit_of(const ResidualBlock& block, BufferId input, bool is_part);
  void leave(const std::string& name, const ResidualBlock& block, const Exit& exit, BufferId input);

  [[nodiscard]] Result<void> layer(const LayerBlock& layer);
  [[nodiscard]] bool sums_once(const LayerBlock& layer);

  HeadNormPlan head_norm(const std::string& what, const NormBlock& block,
                         const AttentionBlock& attention, std::int32_t heads, const Extent& kept);
  RotaryOp rotary(const AttentionBlock& block, const HeadShare& heads, BufferId qkv);
  [[nodiscard]] std::int32_t cache_layer() const;
  std::int32_t cache_of(const AttentionBlock& block, const KvLayerPlan& plan);
  AttentionOp attention_op(const AttentionBlock& block, const Extent& heads, BufferId queries,
                           BufferId out);
  void check_relative(const AttentionOp& op, const AttentionBlock& block);
  void attention(const AttentionBlock& block, const ResidualBlock& residual, BufferId input);
  void gate_heads(const AttentionBlock& block, const Extent& heads, BufferId input, BufferId mixed);
  void cross(const AttentionBlock& block, const ResidualBlock& residual);
  void project(const std::string& what, const AttentionBlock& block,
               const std::optional<HeadShare>& shared, const ResidualBlock& residual, BufferId in,
               BufferId entry);
  void add_cache_layer(std::vector<KvLayerPlan>& cache, const KvLayerPlan& plan);

  /// The inner columns of the block that are this rank's; none where it computes all of them.
  [[nodiscard]] std::optional<Extent> share(const GatedMlpBlock& block, std::int64_t grain) const;
  [[nodiscard]] std::optional<Extent> share(const MlpBlock& block, const ResidualBlock& residual);
  /// The experts of the block that are this rank's, where each rank has whole ones; none where they
  /// are not dealt out.
  [[nodiscard]] std::optional<ExpertRun> own_experts(const MlpBlock& block,
                                                     const ResidualBlock& residual);
  /// Whether the ranks share the expert that all tokens have too, where there is one.
  [[nodiscard]] bool shares_expert_beside(const MlpBlock& block);
  [[nodiscard]] std::int64_t expert_grain(const MlpBlock& block);
  [[nodiscard]] InnerShare inner_share(const GatedMlpBlock& block,
                                       const std::optional<Extent>& columns) const;
  LinearOp up(const std::string& what, const MlpBlock& mlp, const GatedMlpBlock& block,
              const KeptPart& kept, BufferId in, BufferId out);
  LinearOp down(const std::string& what, const GatedMlpBlock& block, const KeptPart& kept,
                BufferId in, BufferId out);
  void mlp(const MlpBlock& block, const ResidualBlock& residual, BufferId input);
  void experts(const MlpBlock& block, const ResidualBlock& residual, BufferId input);
  void route(const ExpertsBlock& routed, BufferId input, float scale);
  void shared_expert(const MlpBlock& block, const Exit& exit, BufferId input);
  BufferId normed(const std::string& what, const NormBlock& block, BufferId otherwise);
  void norm_apart(const ExpertsBlock& routed, BufferId routed_sum, BufferId shared,
                  const Exit& exit);
  void layer_input(const LayerInputBlock& block);

  const Architecture& model_;
  const StackBlock& stack_;
  std::string prefix_;
  KvGroup group_;
  Program& program_;
  OpList& list_;
  WeightPlanner& weights_;
  std::vector<RotaryId> rotary_tables_;
  std::size_t layer_ = 0;
  std::size_t first_layer_ = 0;
  BufferId stream_ = kAbsent;
  BufferId embedded_ = kAbsent;             // what the stream began with, where layers read it
  std::vector<std::int32_t> cache_layers_;  // by layer from the first one here
  bool sums_later_ = false;      // the sublayer's sum is made together with the next one's
  bool stream_is_part_ = false;  // of a sum that is not made yet: each rank adds to its own
};

/// The heads of the block that a rank has: all of them where they are not shared.
[[nodiscard]] HeadShare heads_of(const AttentionBlock& block,
                                 const std::optional<HeadShare>& share);

/// Which outputs of the product that makes queries, keys and values are a rank's.
[[nodiscard]] KeptPart kept_of(const AttentionBlock& block, const std::optional<HeadShare>& share,
                               bool queries, bool keys_and_values);

}  // namespace weft
