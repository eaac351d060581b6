#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/sequence_traits.h"

namespace weft {

struct Adapter;

/// Runs one sequence alone on a device, without actors, for commands that look at models and for
/// tests of models. Uses pages 0, 1, ... of the device. Owner only; borrows the device.
class SequenceRunner {
 public:
  /// Called with results of consecutive tokens, in order; the rows are valid for the call.
  using Sink = std::function<void(ConstRows)>;

  /// The most tokens of a step whose logits can be requested: few, since a row of logits is large.
  static constexpr std::int32_t kStepOutputs = 64;

  explicit SequenceRunner(ModelDevice& device);

  /// Returns options for a device that a runner needs for sequences of `context` tokens. The logits
  /// of every token can be requested, of at most `outputs` tokens in a step (of an encoder: of
  /// all).
  [[nodiscard]] static DeviceOptions options_for(const Program& program, std::int64_t context,
                                                 std::int32_t outputs = kStepOutputs);

  /// Reads the encoder's input. Call it before the first feed() of an encoder-decoder model.
  [[nodiscard]] Result<void> encode(std::span<const TokenId> ids);

  /// Appends tokens to the sequence. `sink` gets the logits of each token, or with `last_only` of
  /// the last token. An encoder-only model takes its whole sequence in one call. `sink` then gets
  /// the logits of each token, or hidden states if the model has no head. `whole` is the length
  /// that the sequence will have, if that matters (LongRoPE); 0 = its present length.
  /// DeviceErrc::kOutOfRange naming the token or the length.
  [[nodiscard]] Result<void> feed(std::span<const TokenId> ids, const Sink& sink, bool last_only,
                                  std::int64_t whole = 0);

  /// Computes with an adapter from now on, without merging it; the sequence begins again. The
  /// device needs a place (DeviceOptions::adapter_places). Errors of
  /// ModelDevice::prepare_adapter().
  [[nodiscard]] Result<void> use(const Adapter& adapter);

  /// Forgets the tokens from position `length` on, which is at most length(); the next tokens
  /// replace them.
  void rewind(std::int64_t length) { length_ = length; }
  /// Forgets the sequence.
  void reset() { length_ = 0; }

  [[nodiscard]] std::int64_t length() const noexcept { return length_; }

 private:
  [[nodiscard]] Result<void> check(std::span<const TokenId> ids, std::int64_t start) const;
  [[nodiscard]] SequenceTraits traits(std::int64_t length) const;

  ModelDevice& device_;
  std::vector<std::int32_t> pages_;
  std::vector<std::int32_t> outputs_;
  std::int64_t length_ = 0;
  std::int64_t encoded_ = 0;
  AdapterId adapter_;
};

}  // namespace weft
