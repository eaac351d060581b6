#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/kernels/attention/kv_layer.h"
#include "weft/kernels/gradients/packed_attention.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/rows.h"
#include "weft/train/step/dropout.h"
#include "weft/train/step/float_pool.h"
#include "weft/train/step/trained_model.h"

namespace weft {

/// The rows that a tape's ops are computed over.
struct TapeRows {
  std::int64_t count = 0;
  std::span<const TokenId> ids = {};       ///< [T]; none where the ops are those of the head
  std::span<const PackedSpan> spans = {};  ///< likewise
  Dropout dropout = {};                    ///< of the pairs' inputs
};

/// Which values depend on a pair, by buffer: of others no gradient is computed.
[[nodiscard]] std::vector<char> values_to_train(const TrainedModel& model);

/// Computes some ops of the program forwards, keeps what their gradients need, and goes backwards.
/// Owner only. Bits do not depend on the number of threads.
class OpTape {
 public:
  /// Borrows both. Values are kept in the model's FloatPool, in places for `most_rows` rows.
  OpTape(TrainedModel& model, const std::vector<char>& to_train, std::int64_t most_rows);

  /// Forgets all values and gradients. The rows' spans are borrowed.
  void begin(const TapeRows& rows);
  void clear();
  /// Forgets all values but those of `id`.
  void keep_only(BufferId id);

  void forward(std::size_t begin, std::size_t end);
  /// Ops from the last to the first. Gradients of pairs are added to the pairs' if `adds`; those of
  /// values are used up.
  void backward(std::size_t begin, std::size_t end, bool adds);

  /// [T, width] of a value; take_value() leaves none.
  [[nodiscard]] Rows value(BufferId id);
  [[nodiscard]] Floats take_value(BufferId id);
  void set_value(BufferId id, Floats numbers);
  [[nodiscard]] Rows gradient(BufferId id);  ///< zeros until something is added
  [[nodiscard]] Floats take_gradient(BufferId id);
  void set_gradient(BufferId id, Floats numbers);

 private:
  class Forward;
  class Backward;

  [[nodiscard]] std::int64_t width_of(BufferId id) const;
  [[nodiscard]] bool trains(BufferId id) const;
  [[nodiscard]] Rows table_of(Floats& numbers, std::int64_t width) const;
  [[nodiscard]] PackedAttentionParams attention_of(std::size_t at, BufferId qkv);
  [[nodiscard]] RotaryParams rotary_of(const RotaryOp& op);
  void find_positions();

  TrainedModel& model_;
  const std::vector<char>& to_train_;
  std::int64_t most_rows_;
  TapeRows rows_;
  bool adds_ = true;  ///< whether a way back adds gradients of pairs
  std::vector<std::int32_t> positions_, long_positions_, types_;
  std::vector<SequenceSpan> sequence_spans_;
  std::vector<Floats> values_, gradients_;  ///< by buffer
  std::vector<Floats> sums_;                ///< by op: of a bent product, before that
};

}  // namespace weft
