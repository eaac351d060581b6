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

/// Runs one sequence alone on a device, without actors: for the commands that look at models and
/// for the tests of models. Owns pages 0, 1, ... of the device. Owner only; borrows the device.
class SequenceRunner {
 public:
  /// Called with results of consecutive tokens, in order; the rows are valid for the call.
  using Sink = std::function<void(ConstRows)>;

  /// Tokens of a step whose logits can be asked for: few, since a row of logits is large.
  static constexpr std::int32_t kStepOutputs = 64;

  explicit SequenceRunner(ModelDevice& device);

  /// Options for a device that a runner needs for sequences of `context` tokens, every one of whose
  /// logits may be asked for, of at most `outputs` tokens in a step (of an encoder: of all).
  [[nodiscard]] static DeviceOptions options_for(const Program& program, std::int64_t context,
                                                 std::int32_t outputs = kStepOutputs);

  /// Reads the encoder's input; before the first feed() of an encoder-decoder model.
  [[nodiscard]] Result<void> encode(std::span<const TokenId> ids);

  /// Appends tokens to the sequence. `sink` gets the logits after each of them, or with `last_only`
  /// after the last. An encoder-only model takes its whole sequence in one call, and gives the
  /// logits of each token, or hidden states where it has no head. `whole` is how long the sequence
  /// is going to be, where that matters (LongRoPE); 0 = as long as it is now.
  /// DeviceErrc::kOutOfRange naming the token or the length.
  [[nodiscard]] Result<void> feed(std::span<const TokenId> ids, const Sink& sink, bool last_only,
                                  std::int64_t whole = 0);

  /// Computes with an adapter from now on, unmerged; the sequence begins again. The device has a
  /// place (DeviceOptions::adapter_places). Errors of ModelDevice::prepare_adapter().
  [[nodiscard]] Result<void> use(const Adapter& adapter);

  /// Forgets the tokens from position `length` on, which is at most length(): the next ones take
  /// their place.
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
