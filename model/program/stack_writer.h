#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/model/program/program.h"
#include "weft/model/program/weight_planner.h"
#include "weft/model/spec/architecture.h"

namespace weft {

/// When the ranks' parts of a sublayer's result are summed up (AllReduceOp).
enum class PartSums : std::uint8_t {
  kAtEnd,     ///< where the sublayer ends
  kWithNext,  ///< with the next sublayer's: until then the stream is each rank's own part
  kOfBoth,    ///< where the sublayer ends, together with what the one before has left
};

/// Where a sublayer's last op writes and what it adds, and what follows it.
struct SublayerExit {
  BufferId out = kAbsent;
  BufferId residual = kAbsent;
  float scale = 1;
  bool is_part = false;  ///< the ranks' results are parts of one sum
  PartSums sums = PartSums::kAtEnd;
};

/// What the compilers of a stack's blocks write: ops and buffers of a program, and the residual
/// stream, which each sublayer reads and adds to. What the ranks share is summed up where a
/// sublayer ends; bias and residual are the first rank's to add. Owner only; borrows all it is
/// given.
class StackWriter {
 public:
  StackWriter(const Architecture& model, std::string prefix, KvGroup group, Program& program,
              OpList& list, WeightPlanner& weights)
      : model_(model),
        prefix_(std::move(prefix)),
        group_(group),
        program_(program),
        list_(list),
        weights_(weights) {}

  [[nodiscard]] const Architecture& model() const noexcept { return model_; }
  [[nodiscard]] KvGroup group() const noexcept { return group_; }
  [[nodiscard]] Program& program() const noexcept { return program_; }
  [[nodiscard]] WeightPlanner& weights() const noexcept { return weights_; }
  [[nodiscard]] bool is_first_rank() const noexcept { return program_.part.rank == 0; }

  /// The layer whose blocks are compiled, and the first one of this program.
  void begin_layers(std::size_t first) noexcept { layer_ = first_layer_ = first; }
  void next_layer() noexcept { ++layer_; }
  [[nodiscard]] std::size_t layer() const noexcept { return layer_; }
  [[nodiscard]] std::size_t first_layer() const noexcept { return first_layer_; }

  /// The name of a part of the stack, as "encoder.final_norm", and of one of the layer.
  [[nodiscard]] std::string of_stack(std::string_view what) const {
    return prefix_ + std::string(what);
  }
  [[nodiscard]] std::string of_layer(std::string_view what) const {
    return prefix_ + std::to_string(layer_) + "." + std::string(what);
  }

  BufferId buffer(std::string_view name, std::int64_t width, RowKind rows = RowKind::kTokens,
                  std::int64_t rows_per_token = 1);
  void emit(Op op) { list_.ops.push_back(std::move(op)); }
  void sum_up(BufferId values) { emit(AllReduceOp{values}); }
  /// Normalizes `in` into `out`; nothing when the block is not there.
  void norm(const std::string& name, const NormBlock& block, std::int64_t width, BufferId in,
            BufferId out, BufferId residual = kAbsent, float scale = 1, float sum_scale = 1);
  [[nodiscard]] static LinearOp plain(const WeightPlanner::Linear& weight, BufferId in,
                                      BufferId out);

  [[nodiscard]] BufferId stream() const noexcept { return stream_; }
  /// The stream begins, in a buffer that the ops which follow fill.
  void begin_stream() { stream_ = buffer("x", model_.hidden); }
  /// The stream is what another stage has computed.
  void receive();

  /// What the layer's sublayer `name` reads: the stream, or the stream normalized.
  [[nodiscard]] BufferId entry(std::string_view name, const ResidualBlock& block);
  /// `input`: what entry() gave.
  [[nodiscard]] SublayerExit exit(const ResidualBlock& block, BufferId input, bool is_part,
                                  PartSums sums = PartSums::kAtEnd);
  /// What follows the last op of the layer's sublayer `name`: the ranks' sum, and norms.
  void leave(std::string_view name, const ResidualBlock& block, const SublayerExit& exit,
             BufferId input);

 private:
  const Architecture& model_;
  const std::string prefix_;
  const KvGroup group_;
  Program& program_;
  OpList& list_;
  WeightPlanner& weights_;
  std::size_t layer_ = 0;
  std::size_t first_layer_ = 0;
  BufferId stream_ = kAbsent;
};

}  // namespace weft
