#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// The model's numbers for one token. Borrowed for the call.
struct TokenActivations {
  std::int32_t position = 0;  ///< of the token in its sequence
  TokenId token = kNoToken;
  /// [H], after the last layer and its final norm: the head's input.
  std::span<const float> hidden_state{};
  /// [V], of the next token; of an encoder, of the token itself. Before penalties, temperature and
  /// masks. Empty unless wanted.
  std::span<const float> logits{};
};

/// An application's own look into a sequence: sees the model's numbers for each token of the prompt
/// and of the output, except the last, which is not fed to the model.
///
/// read() runs between two steps, on the executor's thread, in the order of the positions: all rows
/// wait for it, so it is to copy what it needs and not to block. Logits of a whole prompt cost one
/// product with the head for each token. On a GPU the numbers are copied to the host first. A
/// sequence that was interrupted is computed, and read, again from its first token. After an end
/// token or a stop string one more token may be read, whose step had begun. What read() throws ends
/// its own request, with EngineErrc::kReaderFailed and the exception's text. The engine may keep
/// the reader until another request takes its row.
class ActivationReader {
 public:
  ActivationReader() = default;
  ActivationReader(const ActivationReader&) = delete;
  ActivationReader& operator=(const ActivationReader&) = delete;
  virtual ~ActivationReader() = default;

  /// Whether read() gets logits. Constant.
  [[nodiscard]] virtual bool wants_logits() const noexcept { return false; }

  /// Tokens at this position and behind it are not read, and their logits not computed for it.
  /// Constant from the first step on. A reader of no more than the prompt may have several outputs.
  [[nodiscard]] virtual std::int32_t end_position() const noexcept {
    return std::numeric_limits<std::int32_t>::max();
  }
  /// Tokens before this position are not read either. Where it is the prompt's last token, the KV
  /// cache may have the others, which are not computed then. Constant.
  [[nodiscard]] virtual std::int32_t first_position() const noexcept { return 0; }

  virtual void read(const TokenActivations& token) = 0;
};

}  // namespace weft
