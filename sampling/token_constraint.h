#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// The tokens that may come next. Where `bits` is empty they are those of `tokens`.
struct AllowedTokens {
  std::span<const std::uint32_t> bits{};  ///< bit i % 32 of word i / 32 for token i; rest: not
  std::span<const TokenId> tokens{};      ///< ascending, at most kMaxListedTokens
  bool may_end = false;                   ///< the output may end here, by any token that ends it
  std::uint32_t count = 0;                ///< how many there are, ends left out
};

/// A longer list is bits.
inline constexpr std::size_t kMaxListedTokens = 512;

/// Where a sequence is in what it must look like. One thread at a time, which need not always be
/// the same one; those of several sequences may be used side by side.
class ConstraintState {
 public:
  ConstraintState() = default;
  ConstraintState(const ConstraintState&) = delete;
  ConstraintState& operator=(const ConstraintState&) = delete;
  virtual ~ConstraintState() = default;

  /// The next tokens of the output. After one that was not allowed nothing is; after one that ends
  /// the output nobody asks.
  virtual void advance(std::span<const TokenId> tokens) noexcept = 0;
  /// Takes back the last so many tokens, of those that the maker says can be; false: too many.
  virtual bool roll_back(std::size_t tokens) noexcept = 0;
  /// What may come next, valid until the next call. Takes the time the maker says; asked twice, the
  /// second time none.
  [[nodiscard]] virtual AllowedTokens allowed() noexcept = 0;
  /// Whether advance() by these tokens and then allowed() are known to take less than a
  /// microsecond. What is not is left to a thread that nobody waits for while the logits are
  /// computed.
  [[nodiscard]] virtual bool is_known(std::span<const TokenId> /*next*/) const noexcept {
    return false;
  }
  /// Says that the caller is done with what allowed() returned. The state may let go of memory that
  /// belongs to the request; the next call gets it again.
  virtual void rest() noexcept {}
  /// Another sequence that has come as far.
  [[nodiscard]] virtual std::unique_ptr<ConstraintState> clone() const = 0;
};

/// Follows one sequence and says what its constraint leaves no choice about: tokens of a text that
/// has to come next whatever the model would choose. Owner only.
class ForcedTokens {
 public:
  ForcedTokens() = default;
  ForcedTokens(const ForcedTokens&) = delete;
  ForcedTokens& operator=(const ForcedTokens&) = delete;
  virtual ~ForcedTokens() = default;

  /// The next tokens of the output, chosen or put in.
  virtual void advance(std::span<const TokenId> tokens) noexcept = 0;
  /// The tokens that the model's tokenizer makes of the text that has to come next, at most
  /// kMaxForcedTokens and all allowed one after the other; empty where the model has a choice. Of
  /// the text's end those are left out that the text behind it could change. Valid until the next
  /// call. Neither call takes longer than a millisecond: what would is not looked for.
  [[nodiscard]] virtual std::span<const TokenId> next() noexcept = 0;
};

/// Text that is forced for longer goes on behind the next choice. So many tokens are a long name
/// with all that stands around it, and cost a step about as much as another row on a GPU.
inline constexpr std::size_t kMaxForcedTokens = 32;

/// What a request's outputs must look like. Thread-safe.
class TokenConstraint {
 public:
  TokenConstraint() = default;
  TokenConstraint(const TokenConstraint&) = delete;
  TokenConstraint& operator=(const TokenConstraint&) = delete;
  virtual ~TokenConstraint() = default;

  [[nodiscard]] virtual std::unique_ptr<ConstraintState> begin() const = 0;
  /// Follows an output from its beginning on; null: nothing is said of what is forced.
  [[nodiscard]] virtual std::unique_ptr<ForcedTokens> follow() const { return nullptr; }
  /// Called when the request has ended: frees what its states share. A state may live on, since a
  /// device's row keeps it until another request takes the row. Nobody uses what it allows then.
  virtual void end() const noexcept {}
  /// Whether a state allowed nothing because what it would allow was more work, or more memory,
  /// than there is for it.
  [[nodiscard]] virtual bool gave_up() const noexcept { return false; }
};

}  // namespace weft
