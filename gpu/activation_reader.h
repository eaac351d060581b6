#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// The model's numbers for one token. Borrowed for the call.
struct TokenActivations {
  std::int32_t position = 0;  ///< the token's position in its sequence
  TokenId token = kNoToken;
  /// [H] after the last layer and its final norm: the input of the head.
  std::span<const float> hidden_state{};
  /// [V] for the next token; for an encoder, of the token itself. They are the logits before
  /// penalties, temperature and masks. Empty unless the reader wants logits.
  std::span<const float> logits{};
};

/// An application's own reader of a sequence. It sees the model's numbers for each token of the
/// prompt and of the output, except the last token, which is not fed to the model.
///
/// read() runs between two steps, on the executor's thread, in the order of the positions. All rows
/// wait for it, so it should copy what it needs and not block. Logits of a whole prompt cost one
/// product with the head for each token. On a GPU the numbers are copied to the host first. A
/// sequence that was interrupted is computed and read again from its first token. After an end
/// token or a stop string, read() may get one more token, whose step had already begun. An
/// exception of read() ends its own request, with EngineErrc::kReaderFailed and the exception's
/// text. The engine may keep the reader until another request takes its row.
class ActivationReader {
 public:
  ActivationReader() = default;
  ActivationReader(const ActivationReader&) = delete;
  ActivationReader& operator=(const ActivationReader&) = delete;
  virtual ~ActivationReader() = default;

  /// Whether read() gets logits. Constant.
  [[nodiscard]] virtual bool wants_logits() const noexcept { return false; }

  /// Tokens from this position on are not read, and their logits are not computed for the reader.
  /// Constant from the first step on. A reader of at most the prompt may belong to a request with
  /// several outputs.
  [[nodiscard]] virtual std::int32_t end_position() const noexcept {
    return std::numeric_limits<std::int32_t>::max();
  }
  /// Tokens before this position are not read. If it is the position of the prompt's last token,
  /// the other tokens may come from the KV cache instead of being computed. Constant.
  [[nodiscard]] virtual std::int32_t first_position() const noexcept { return 0; }

  virtual void read(const TokenActivations& token) = 0;
};

}  // namespace weft
