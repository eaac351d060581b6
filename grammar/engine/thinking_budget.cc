#include "weft/grammar/engine/thinking_budget.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "weft/grammar/defaults.h"

namespace weft::grammar {
namespace {

/// Finds a text in a stream of bytes (Knuth, Morris and Pratt, "Fast pattern matching in strings",
/// 1977). Immutable.
class StreamSearch {
 public:
  explicit StreamSearch(std::string text) : text_(std::move(text)), back_(text_.size() + 1, 0) {
    for (std::size_t i = 1; i < text_.size(); ++i) back_[i + 1] = after(back_[i], text_[i]);
  }
  /// How much of it the bytes so far end with, after one more.
  [[nodiscard]] std::uint16_t after(std::uint16_t matched, char c) const {
    while (matched > 0 && (matched == text_.size() || text_[matched] != c))
      matched = back_[matched];
    return static_cast<std::uint16_t>(text_[matched] == c ? matched + 1 : 0);
  }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

 private:
  std::string text_;
  std::vector<std::uint16_t> back_;
};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Bytes that a character still needs behind its first one.
std::uint8_t bytes_behind(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
}

class BudgetConstraint final : public TokenConstraint,
                               public std::enable_shared_from_this<BudgetConstraint> {
 public:
  BudgetConstraint(std::shared_ptr<const TokenConstraint> within,
                   std::shared_ptr<const TokenTrie> vocabulary, ThinkingBudget limit)
      : inner(std::move(within)),
        trie(std::move(vocabulary)),
        budget(std::move(limit)),
        opens(budget.open),
        closes(budget.close),
        all(trie->words(), ~std::uint32_t{0}) {}

  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override;

  [[nodiscard]] std::string_view text_of(TokenId token) const {
    for (const auto& [id, text] : budget.special) {
      if (id == token) return text;
    }
    return trie->has(token) ? trie->bytes(token) : std::string_view();
  }

  const std::shared_ptr<const TokenConstraint> inner;
  const std::shared_ptr<const TokenTrie> trie;
  const ThinkingBudget budget;
  const StreamSearch opens;
  const StreamSearch closes;
  const std::vector<std::uint32_t> all;
};

class BudgetState final : public ConstraintState {
 public:
  explicit BudgetState(std::shared_ptr<const BudgetConstraint> of)
      : of_(std::move(of)), inner_(of_->inner ? of_->inner->begin() : nullptr) {
    now_.phase = of_->budget.in_thought ? Phase::kThought : Phase::kBefore;
  }
  BudgetState(const BudgetState& other, std::unique_ptr<ConstraintState> inner)
      : of_(other.of_),
        inner_(std::move(inner)),
        now_(other.now_),
        before_(other.before_),
        next_(other.next_),
        kept_(other.kept_) {}

  void advance(std::span<const TokenId> tokens) noexcept override {
    if (inner_) inner_->advance(tokens);
    for (const TokenId token : tokens) {
      before_[next_] = now_;
      next_ = (next_ + 1) % before_.size();
      kept_ = std::min(kept_ + 1, before_.size());
      take(token);
    }
  }

  bool roll_back(std::size_t tokens) noexcept override {
    if (tokens > kept_ || (inner_ && !inner_->roll_back(tokens))) return false;
    if (tokens == 0) return true;
    next_ = (next_ + before_.size() - tokens) % before_.size();
    kept_ -= tokens;
    now_ = before_[next_];
    return true;
  }

  [[nodiscard]] AllowedTokens allowed() noexcept override {
    AllowedTokens allowed;
    if (inner_) {
      allowed = inner_->allowed();
    } else {
      allowed.bits = of_->all;
      allowed.count = static_cast<std::uint32_t>(of_->trie->vocabulary());
      allowed.may_end = true;
    }
    if (!is_used_up() || now_.behind > 0) return allowed;
    AllowedTokens ending;
    ending.tokens = std::span(of_->budget.ending).subspan(now_.forced, 1);
    ending.count = 1;
    return ending;
  }

  [[nodiscard]] std::unique_ptr<ConstraintState> clone() const override {
    return std::make_unique<BudgetState>(*this, inner_ ? inner_->clone() : nullptr);
  }

 private:
  enum class Phase : std::uint8_t { kBefore, kThought, kAfter };
  struct Place {
    std::int32_t used = 0;      // tokens of thoughts
    std::uint16_t matched = 0;  // bytes of the tag that is looked for
    std::uint16_t forced = 0;   // tokens of the ending that have come
    std::uint8_t behind = 0;    // bytes that a character lacks
    Phase phase = Phase::kBefore;
  };

  [[nodiscard]] bool is_used_up() const noexcept {
    return now_.phase == Phase::kThought && now_.used >= of_->budget.tokens;
  }

  void take(TokenId token) noexcept {
    const std::vector<TokenId>& ending = of_->budget.ending;
    if (is_used_up() && now_.behind == 0 && token == ending[now_.forced]) {
      if (++now_.forced == ending.size()) end_thought();
      return;
    }
    if (now_.phase == Phase::kThought) ++now_.used;
    for (const char c : of_->text_of(token)) take(c);
  }

  void take(char c) noexcept {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      now_.behind = bytes_behind(c);
    } else if (now_.behind > 0) {
      --now_.behind;
    }
    if (now_.phase == Phase::kThought) {
      now_.matched = of_->closes.after(now_.matched, c);
      if (now_.matched == of_->closes.size()) end_thought();
    } else if (now_.phase == Phase::kBefore) {
      const std::uint16_t matched = now_.matched;
      now_.matched = of_->opens.after(matched, c);
      const bool goes_on = now_.matched == matched + 1 || (matched == 0 && is_blank(c));
      if (now_.matched == of_->opens.size()) {
        now_.phase = Phase::kThought;
        now_.matched = 0;
      } else if (!goes_on && !of_->budget.anywhere) {
        now_.phase = Phase::kAfter;
      }
    }
  }

  void end_thought() noexcept {
    now_.phase = of_->budget.anywhere ? Phase::kBefore : Phase::kAfter;
    now_.matched = now_.forced = 0;
    now_.behind = 0;
  }

  const std::shared_ptr<const BudgetConstraint> of_;
  const std::unique_ptr<ConstraintState> inner_;
  Place now_;
  std::array<Place, defaults::kMaxRollback> before_{};  // a ring
  std::size_t next_ = 0;
  std::size_t kept_ = 0;
};

std::unique_ptr<ConstraintState> BudgetConstraint::begin() const {
  return std::make_unique<BudgetState>(shared_from_this());
}

}  // namespace

std::shared_ptr<const TokenConstraint> with_budget(std::shared_ptr<const TokenConstraint> inner,
                                                   std::shared_ptr<const TokenTrie> trie,
                                                   ThinkingBudget budget) {
  return std::make_shared<const BudgetConstraint>(std::move(inner), std::move(trie),
                                                  std::move(budget));
}

}  // namespace weft::grammar
