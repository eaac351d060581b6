#include "weft/train/step/trained_model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "weft/kernels/gradients/packed_attention.h"
#include "weft/kernels/linear/linear.h"
#include "weft/train/data/content_hash.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

/// Numbers of a matrix that are decoded at once, 8 MiB: they stay in the third-level cache.
constexpr std::int64_t kDecodedNumbers = std::int64_t{2} << 20U;

}  // namespace

Result<TrainedModel> TrainedModel::load(const OpenedModel& model, TrainingProgram program,
                                        LowRankPairs pairs, const Options& options,
                                        const LoadProgress& progress) {
  TrainedModel trained;
  trained.training_ = std::move(program);
  trained.pairs_ = std::move(pairs);
  trained.options_ = options;
  trained.checkpoint_ = model.checkpoint;
  const Program& own = trained.program();
  if (options.tokens < 2 || options.tokens > own.context) {
    return Error{TrainErrc::kBadSetting,
                 "tokens: must be 2 .. " + std::to_string(own.context) + ", the model's context"};
  }
  // NOLINTNEXTLINE(readability-simplify-boolean-expr): so that NaN is refused, too
  if (!(trained.pairs_.dropout >= 0 && trained.pairs_.dropout < 1))
    return Error{TrainErrc::kBadSetting, "dropout: must be 0 or more, and less than 1"};
  const auto hash = hash_of(*model.checkpoint);
  if (!hash) return hash.error();
  trained.base_hash_ = *hash;
  trained.team_ = std::make_unique<ThreadTeam>(ThreadTeam::Options{options.threads, false});
  auto weights = HostWeights::load(own, *trained.team_, progress);
  if (!weights) return weights.error();
  trained.weights_ = std::make_unique<HostWeights>(*std::move(weights));
  for (const RotaryFrequencies& frequencies : own.rotary) {
    trained.rotary_.push_back(make_rotary_table(frequencies, options.tokens));
    std::vector<float>& opposite = trained.opposite_sines_.emplace_back();
    opposite.reserve(trained.rotary_.back().sines.size());
    for (const float sine : trained.rotary_.back().sines) opposite.push_back(-sine);
  }
  if (auto taken = trained.take_memory(); !taken) return taken.error();
  return trained;
}

Result<void> TrainedModel::take_memory() {
  workspace_bytes_ = packed_attention_workspace_bytes(options_.tokens);
  std::int64_t widest = 1;
  const std::int64_t rows = std::max(options_.tokens, kLossRows);
  for (const MatrixPlan& matrix : program().matrices) {
    widest = std::max(widest, matrix.inputs);
    workspace_bytes_ = std::max(workspace_bytes_, linear_workspace_bytes(rows, matrix.inputs));
  }
  for (const BufferPlan& buffer : program().buffers) {
    workspace_bytes_ =
        std::max(workspace_bytes_, static_cast<std::size_t>(buffer.width) * sizeof(float));
  }
  workspace_bytes_ = std::max(workspace_bytes_, static_cast<std::size_t>(widest) * sizeof(float));
  workspace_bytes_ = (workspace_bytes_ + 4095) / 4096 * 4096;
  auto memory = HostMemory::allocate(workspace_bytes_ * static_cast<std::size_t>(team_->size()));
  if (!memory) return memory.error();
  workspaces_ = *std::move(memory);
  decoded_.resize(static_cast<std::size_t>(std::max(widest, kDecodedNumbers)));
  return {};
}

std::span<const TokenId> TrainedModel::row_ids(std::int64_t first, std::int64_t count) {
  row_ids_.resize(static_cast<std::size_t>(count));
  std::iota(row_ids_.begin(), row_ids_.end(), static_cast<TokenId>(first));
  return row_ids_;
}

}  // namespace weft
