#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/host/rotary_table.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/model/open_model.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/step/float_pool.h"

namespace weft {

/// The most tokens whose losses are computed at once, so that logits never stand whole.
inline constexpr std::int64_t kLossRows = 256;

/// A loaded model whose weights are frozen, and the pairs that are trained; with the threads and
/// the memory that its ops compute with. Owner only.
class TrainedModel {
 public:
  struct Options {
    int threads = 0;             ///< 0: all processors
    std::int64_t tokens = 2048;  ///< of a micro-batch, and so of a sequence
  };

  /// Loads the weights. `program` is compiled from the model's checkpoint. Errors of
  /// HostWeights::load() and of hash_of(); kOutOfMemory; kBadSetting where `tokens` is more than
  /// the model's context.
  [[nodiscard]] static Result<TrainedModel> load(const OpenedModel& model, TrainingProgram program,
                                                 LowRankPairs pairs, const Options& options,
                                                 const LoadProgress& progress = {});

  [[nodiscard]] const TrainingProgram& training() const noexcept { return training_; }
  [[nodiscard]] const Program& program() const noexcept { return training_.program; }
  [[nodiscard]] const HostWeights& weights() const noexcept { return *weights_; }
  [[nodiscard]] const RotaryTable& rotary(RotaryId id) const {
    return rotary_[static_cast<std::size_t>(id)];
  }
  /// The sines of the opposite angles, of the table's shape.
  [[nodiscard]] const float* opposite_sines(RotaryId id) const {
    return opposite_sines_[static_cast<std::size_t>(id)].data();
  }
  [[nodiscard]] LowRankPairs& pairs() noexcept { return pairs_; }
  [[nodiscard]] const LowRankPairs& pairs() const noexcept { return pairs_; }
  /// hash_of() the checkpoint.
  [[nodiscard]] std::uint64_t base_hash() const noexcept { return base_hash_; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return options_.tokens; }

  [[nodiscard]] ThreadTeam& team() noexcept { return *team_; }
  /// Of the calling thread, aligned to a page; for any op, and for a row of any value.
  [[nodiscard]] std::span<std::byte> workspace(Share share) const noexcept {
    return workspaces_.bytes().subspan(static_cast<std::size_t>(share.thread) * workspace_bytes_,
                                       workspace_bytes_);
  }
  /// Memory for some decoded rows of a matrix: at least one row of the widest.
  [[nodiscard]] std::span<float> decoded() noexcept { return decoded_; }
  /// Numbers first, first + 1, ... of rows to be decoded; the next call writes over them.
  [[nodiscard]] std::span<const TokenId> row_ids(std::int64_t first, std::int64_t count);

  /// Memory for the values of a step.
  [[nodiscard]] FloatPool& floats() noexcept { return *floats_; }
  [[nodiscard]] const FloatPool& floats() const noexcept { return *floats_; }

  /// Calls work(Share) for pieces of one op on all threads.
  template <class Work>
  void in_pieces(Work&& work) {
    // Several pieces for each thread, so that none waits long for the last one.
    team_->run_pieces(team_->size() == 1 ? 1 : 4 * team_->size(), work);
  }

 private:
  TrainedModel() = default;
  [[nodiscard]] Result<void> take_memory();

  TrainingProgram training_;
  LowRankPairs pairs_;
  Options options_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::uint64_t base_hash_ = 0;
  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<HostWeights> weights_;
  std::vector<RotaryTable> rotary_;
  std::vector<std::vector<float>> opposite_sines_;  ///< by RotaryId
  HostMemory workspaces_;
  std::size_t workspace_bytes_ = 0;
  std::vector<float> decoded_;
  std::vector<TokenId> row_ids_;
  std::unique_ptr<FloatPool> floats_ = std::make_unique<FloatPool>();  // stays when the model moves
};

}  // namespace weft
