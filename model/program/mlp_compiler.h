#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/model/program/program_part.h"
#include "weft/model/program/stack_writer.h"

namespace weft {

/// Compiles the MLP of a layer, or its experts, to ops, for this rank's columns or experts. Owner
/// only; borrows all arguments.
class MlpCompiler {
 public:
  explicit MlpCompiler(StackWriter& out)
      : out_(out), model_(out.model()), program_(out.program()), weights_(out.weights()) {}

  void compile(const MlpBlock& block, const ResidualBlock& residual, BufferId input);

 private:
  /// The width of a rank's inner part of an MLP, and the parts of the two matrices that the rank
  /// keeps.
  struct InnerShare {
    std::int64_t width = 0;
    KeptPart up, down;
  };

  /// Returns this rank's inner columns of the block; none if the rank computes all of them.
  [[nodiscard]] std::optional<Extent> share(const GatedMlpBlock& block, std::int64_t grain) const;
  [[nodiscard]] std::optional<Extent> share(const MlpBlock& block, const ResidualBlock& residual);
  /// Returns this rank's experts of the block if each rank has whole experts; otherwise none.
  [[nodiscard]] std::optional<ExpertRun> own_experts(const MlpBlock& block,
                                                     const ResidualBlock& residual);
  /// Whether the ranks also share the columns of the shared expert, if there is one.
  [[nodiscard]] bool shares_expert_beside(const MlpBlock& block);
  [[nodiscard]] std::int64_t expert_grain(const MlpBlock& block);
  [[nodiscard]] InnerShare inner_share(const GatedMlpBlock& block,
                                       const std::optional<Extent>& columns) const;
  LinearOp up(const std::string& what, const MlpBlock& mlp, const GatedMlpBlock& block,
              const KeptPart& kept, BufferId in, BufferId out);
  LinearOp down(const std::string& what, const GatedMlpBlock& block, const KeptPart& kept,
                BufferId in, BufferId out);
  void dense(const MlpBlock& block, const ResidualBlock& residual, BufferId input);
  void experts(const MlpBlock& block, const ResidualBlock& residual, BufferId input);
  void route(const ExpertsBlock& routed, BufferId input, float scale);
  /// Writes the shared expert's output to `exit.out`, with `exit.residual` added.
  void shared_expert(const MlpBlock& block, const SublayerExit& exit, BufferId input);
  [[nodiscard]] BufferId norm_of_stream(std::string_view what, const NormBlock& block,
                                        BufferId otherwise);
  [[nodiscard]] BufferId add_shared(const MlpBlock& block, CombineOp combine,
                                    const SublayerExit& exit, BufferId input);
  [[nodiscard]] BufferId norm_apart(const MlpBlock& block, CombineOp combine,
                                    const SublayerExit& exit, bool is_part, BufferId input);

  StackWriter& out_;
  const Architecture& model_;
  Program& program_;
  WeightPlanner& weights_;
};

}  // namespace weft
