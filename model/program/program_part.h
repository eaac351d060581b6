#pragma once

#include <cstdint>
#include <optional>

#include "weft/kernels/rotary/rotary_spec.h"

namespace weft {

/// A range of indices: [first, first + count).
struct Extent {
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t end() const noexcept { return first + count; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// The part of a model that one rank computes. Ranks may share layers (tensor parallel:
/// Megatron-LM, Shoeybi et al. 2019, section 3). Each then has some of a layer's heads and inner
/// columns, and some of the vocabulary, and adds a part of a sum to the stream. Experts are cut
/// into columns like any MLP, or distributed whole (expert parallel: GShard, Lepikhin et al. 2021;
/// here every rank has every token, so nothing is sent to experts). Ranks with different layers are
/// the stages of a pipeline, which pass on the stream.
struct ProgramPart {
  std::int32_t rank = 0;         ///< index among the ranks that share its layers
  std::int32_t ranks = 1;        ///< number of ranks that share its layers
  std::int32_t first_layer = 0;  ///< first layer of the decoder
  std::int32_t layers = -1;      ///< -1: all
  bool whole_experts = false;  ///< in layers with experts: whole experts instead of columns of each
  std::int32_t rank_before = -1;  ///< index of the rank in the previous stage that sends the stream

  [[nodiscard]] bool is_whole() const noexcept { return ranks == 1 && layers < 0; }
  /// Whether this rank has the parts that only the model's first stage has: embedding, encoder.
  [[nodiscard]] bool is_first_stage() const noexcept { return first_layer == 0; }
  /// Whether it has the last of `all` layers, and so the head.
  [[nodiscard]] bool is_last_stage(std::int64_t all) const noexcept {
    return layers < 0 || first_layer + layers == all;
  }
  [[nodiscard]] Extent layers_of(std::int64_t all) const noexcept {
    return {first_layer, layers < 0 ? all - first_layer : layers};
  }
};

/// Returns the rank's run of `count` items; the runs of ranks differ by at most `grain`. None if
/// some rank would get no item, or if the grain (0: cannot be cut) does not divide the count.
[[nodiscard]] std::optional<Extent> share_of(std::int64_t count, std::int64_t grain,
                                             const ProgramPart& part);

/// The heads of a rank.
struct HeadShare {
  Extent heads;
  Extent kv_heads;  ///< KV heads that its queries read; other ranks may have them too
};

/// Divides the heads: queries stay with the KV heads that they read. Runs of heads begin and end at
/// multiples of `grain` numbers, as blocks of the output's weights do. None if that is impossible.
[[nodiscard]] std::optional<HeadShare> share_heads(const HeadShape& shape, std::int64_t grain,
                                                   const ProgramPart& part);

}  // namespace weft
