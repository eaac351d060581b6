#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// The tokens that may come next: given by `bits`, or by `tokens` if `bits` is empty.
struct AllowedTokens {
  std::span<const std::uint32_t> bits{};  ///< bit i % 32 of word i / 32: token i is allowed
  std::span<const TokenId> tokens{};      ///< ascending, at most kMaxListedTokens
  bool may_end = false;                   ///< whether a token that ends the output is allowed
  std::uint32_t count = 0;                ///< the number of allowed tokens, without end tokens
};

/// More tokens than this are given as bits.
inline constexpr std::size_t kMaxListedTokens = 512;

/// A sequence's position in its constraint. One thread at a time may use it, not always the same
/// one; states of several sequences may be used concurrently.
class ConstraintState {
 public:
  ConstraintState() = default;
  ConstraintState(const ConstraintState&) = delete;
  ConstraintState& operator=(const ConstraintState&) = delete;
  virtual ~ConstraintState() = default;

  /// Adds the output's next tokens. After a token that was not allowed, no token is; after a token
  /// that ends the output, allowed() is not called.
  virtual void advance(std::span<const TokenId> tokens) noexcept = 0;
  /// Takes back the last `tokens` tokens; returns false if the implementation cannot take back that
  /// many.
  virtual bool roll_back(std::size_t tokens) noexcept = 0;
  /// Returns the tokens that may come next, valid until the next call. The implementation says how
  /// long it takes; a second call takes no time.
  [[nodiscard]] virtual AllowedTokens allowed() noexcept = 0;
  /// Whether advance() by these tokens and then allowed() surely take less than a
  /// microsecond. Otherwise another thread (MaskWorkers) calls them while the logits are
  /// computed.
  [[nodiscard]] virtual bool is_known(std::span<const TokenId> /*next*/) const noexcept {
    return false;
  }
  /// The caller no longer needs the result of allowed(). The state may free memory that belongs to
  /// the request; the next call allocates it again.
  virtual void rest() noexcept {}
  /// Returns a copy for another sequence at the same position.
  [[nodiscard]] virtual std::unique_ptr<ConstraintState> clone() const = 0;
};

/// Follows one sequence and finds forced tokens: the tokens of a text that its constraint requires
/// next, whatever the model would choose. Owner only.
class ForcedTokens {
 public:
  ForcedTokens() = default;
  ForcedTokens(const ForcedTokens&) = delete;
  ForcedTokens& operator=(const ForcedTokens&) = delete;
  virtual ~ForcedTokens() = default;

  /// Adds the output's next tokens, chosen or forced.
  virtual void advance(std::span<const TokenId> tokens) noexcept = 0;
  /// Returns the required text's tokens, as the model's tokenizer makes them: at most
  /// kMaxForcedTokens, each allowed after the ones before it; empty if the model has a choice. Last
  /// tokens that text behind the required text could change are left out. Valid until the next
  /// call. Neither call searches for longer than a millisecond.
  [[nodiscard]] virtual std::span<const TokenId> next() noexcept = 0;
};

/// The most forced tokens at once; a longer forced text continues after the next choice. This is
/// the length of a long field name with its punctuation, and on a GPU it costs a step about as much
/// as another row.
inline constexpr std::size_t kMaxForcedTokens = 32;

/// The form that a request's outputs must have. Thread-safe.
class TokenConstraint {
 public:
  TokenConstraint() = default;
  TokenConstraint(const TokenConstraint&) = delete;
  TokenConstraint& operator=(const TokenConstraint&) = delete;
  virtual ~TokenConstraint() = default;

  [[nodiscard]] virtual std::unique_ptr<ConstraintState> begin() const = 0;
  /// Follows an output from its beginning; null if this constraint finds no forced tokens.
  [[nodiscard]] virtual std::unique_ptr<ForcedTokens> follow() const { return nullptr; }
  /// Called when the request has ended: frees memory that its states share. A state may outlive the
  /// request, since a device's row keeps it until another request takes the row, but is not used.
  virtual void end() const noexcept {}
  /// Whether a state allowed no token because finding the allowed ones would exceed its limit of
  /// work or memory.
  [[nodiscard]] virtual bool gave_up() const noexcept { return false; }
};

}  // namespace weft
