#pragma once

#include <cstddef>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// The sequence that a row's logits belong to.
struct LogitContext {
  std::span<const TokenId> tokens{};  ///< the sequence's tokens so far, prompt first
  std::size_t prompt_tokens = 0;      ///< how many of `tokens` are the prompt
};

/// An application's hook into the choice of tokens: it may change a sequence's logits before any
/// other step of the sampler.
///
/// process() runs inside the step, on the device's threads, concurrently for all rows of the
/// request, and again for the same token after an interruption. So it must be thread-safe, depend
/// on its arguments alone, and not block. All rows wait for it: its time, divided by the threads of
/// the host device, is added to the time between tokens of every request of the step. With a GPU
/// the row's logits (4 bytes for each token of the vocabulary) are first copied to the host, which
/// chooses the row's token. An exception ends its request with EngineErrc::kProcessorFailed and the
/// exception's text.
class LogitProcessor {
 public:
  LogitProcessor() = default;
  LogitProcessor(const LogitProcessor&) = delete;
  LogitProcessor& operator=(const LogitProcessor&) = delete;
  virtual ~LogitProcessor() = default;

  /// `logits` [V]: set a logit to -inf to exclude its token. NaN counts as -inf.
  virtual void process(const LogitContext& context, std::span<float> logits) = 0;
};

}  // namespace weft
