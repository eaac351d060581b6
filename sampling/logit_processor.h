#pragma once

#include <cstddef>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// What a row's logits belong to.
struct LogitContext {
  std::span<const TokenId> tokens{};  ///< of the sequence so far, prompt first
  std::size_t prompt_tokens = 0;      ///< of those
};

/// An application's own say in which tokens are chosen: sees the logits of a sequence, which it may
/// change, before any other step of the sampler.
///
/// process() runs inside the step, on the device's threads, for every row of the request at once
/// and again for the same token when the sequence was interrupted: it is to be thread-safe, to
/// depend on its arguments alone, and not to block. All rows wait for it: what it takes is added to
/// the time between any two tokens of all requests of the step, divided by the threads of the host
/// device. On a GPU the row's logits (4 bytes for each token of the vocabulary) are copied to the
/// host first, and the row is chosen there. What it throws ends its own request, with
/// EngineErrc::kProcessorFailed and the exception's text.
class LogitProcessor {
 public:
  LogitProcessor() = default;
  LogitProcessor(const LogitProcessor&) = delete;
  LogitProcessor& operator=(const LogitProcessor&) = delete;
  virtual ~LogitProcessor() = default;

  /// `logits` [V], -inf for what must not be chosen. NaN counts as that.
  virtual void process(const LogitContext& context, std::span<float> logits) = 0;
};

}  // namespace weft
