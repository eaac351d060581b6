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

/// Where a sublayer's last op writes, and what that op adds.
struct SublayerExit {
  BufferId out = kAbsent;
  BufferId residual = kAbsent;
  float scale = 1;
  bool is_part = false;  ///< `out` is BufferPlan::is_part
};

/// The program to which the compilers of a stack's blocks write ops and buffers. It has the
/// residual stream, which each sublayer reads and adds to. One op writes each buffer: an op that
/// changes a value writes next() of it. If ranks share a sublayer, its result is marked as a part,
/// and only the first rank adds a bias. Owner only; borrows all arguments.
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

  /// Sets the layer whose blocks are compiled, which is also the first one of this program.
  void begin_layers(std::size_t first) noexcept { layer_ = first_layer_ = first; }
  void next_layer() noexcept { ++layer_; }
  [[nodiscard]] std::size_t layer() const noexcept { return layer_; }
  [[nodiscard]] std::size_t first_layer() const noexcept { return first_layer_; }

  /// Returns the name of a part of the stack, such as "encoder.final_norm", or of the current
  /// layer.
  [[nodiscard]] std::string of_stack(std::string_view what) const {
    return prefix_ + std::string(what);
  }
  [[nodiscard]] std::string of_layer(std::string_view what) const {
    return prefix_ + std::to_string(layer_) + "." + std::string(what);
  }

  BufferId buffer(std::string_view name, std::int64_t width, RowKind rows = RowKind::kTokens,
                  std::int64_t rows_per_token = 1);
  /// Returns a buffer of the same name and shape, for the value that an op makes of `value`.
  [[nodiscard]] BufferId next(BufferId value);
  /// Sets BufferPlan::is_part: the ranks' values are the addends of one sum.
  void mark_part(BufferId value, bool is_part);
  void emit(Op op) { list_.ops.push_back(std::move(op)); }
  /// Normalizes `in` into `out`; does nothing if the block does not exist.
  void norm(const std::string& name, const NormBlock& block, std::int64_t width, BufferId in,
            BufferId out, BufferId residual = kAbsent, float scale = 1, float sum_scale = 1);
  /// Normalizes `in` into its next() and returns that; returns `in` if the block does not exist.
  [[nodiscard]] BufferId normed(const std::string& name, const NormBlock& block, std::int64_t width,
                                BufferId in);
  [[nodiscard]] static LinearOp plain(const WeightPlanner::Linear& weight, BufferId in,
                                      BufferId out);

  /// Returns the stream's value after the ops so far.
  [[nodiscard]] BufferId stream() const noexcept { return stream_; }
  /// Begins the stream, in a buffer that the following ops fill.
  void begin_stream() { stream_ = buffer("x", model_.hidden); }
  /// Receives the stream from another stage.
  void receive();
  /// Makes `value` the stream for the following ops.
  void continue_stream(BufferId value) noexcept { stream_ = value; }
  /// Normalizes the stream; does nothing if the block does not exist.
  void norm_stream(const std::string& name, const NormBlock& block);

  /// Returns the sublayer's input: the stream, or the normalized stream.
  [[nodiscard]] BufferId entry(std::string_view name, const ResidualBlock& block);
  /// `input` is the result of entry(). leave() continues the stream.
  [[nodiscard]] SublayerExit exit(const ResidualBlock& block, BufferId input, bool is_part);
  /// Ends the layer's sublayer `name` after its last op: adds norms.
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
