#include "weft/grammar/engine/thinking_budget.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "weft/grammar/defaults.h"

namespace weft::grammar {
namespace {

/// Finds texts in a stream of bytes (Aho and Corasick, "Efficient string matching", 1975).
class StreamSearch {
 public:
  explicit StreamSearch(std::span<const std::string> texts) : nodes_(1) {
    for (const std::string& text : texts) add(text);
    // Shorter beginnings come first, because `back` leads to them.
    std::vector<std::uint16_t> order{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint16_t from = order[i];
      for (const auto& [c, to] : nodes_[from].next) {
        nodes_[to].back = from == 0 ? 0 : after(nodes_[from].back, c);
        nodes_[to].ends = nodes_[to].ends || nodes_[nodes_[to].back].ends;
        order.push_back(to);
      }
    }
  }
  /// Returns the state after one more byte: the longest beginning of a text with which the bytes
  /// end; 0: none.
  [[nodiscard]] std::uint16_t after(std::uint16_t matched, char c) const {
    for (;;) {
      const auto& next = nodes_[matched].next;
      if (const auto to = next.find(c); to != next.end()) return to->second;
      if (matched == 0) return 0;
      matched = nodes_[matched].back;
    }
  }
  /// Whether the byte continues a text.
  [[nodiscard]] bool goes_on(std::uint16_t matched, char c) const {
    return nodes_[matched].next.contains(c);
  }
  /// Whether a text is complete in this state.
  [[nodiscard]] bool found(std::uint16_t matched) const { return nodes_[matched].ends; }

 private:
  struct Node {
    std::map<char, std::uint16_t> next{};
    std::uint16_t back = 0;
    bool ends = false;
  };

  void add(const std::string& text) {
    std::uint16_t at = 0;
    for (const char c : text) {
      const auto [to, is_new] =
          nodes_[at].next.try_emplace(c, static_cast<std::uint16_t>(nodes_.size()));
      at = to->second;
      if (is_new) nodes_.emplace_back();
    }
    if (at != 0) nodes_[at].ends = true;
  }

  std::vector<Node> nodes_;
};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Returns how many bytes a character needs after its first byte.
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
        opens(std::span(&budget.open, 1)),
        closes(std::span(&budget.close, 1)),
        renewals(budget.renewals),
        all(trie->words(), ~std::uint32_t{0}) {}

  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override;
  void end() const noexcept override {
    if (inner) inner->end();
  }
  [[nodiscard]] bool gave_up() const noexcept override { return inner && inner->gave_up(); }

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
  const StreamSearch renewals;
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

  [[nodiscard]] bool is_known(std::span<const TokenId> next) const noexcept override {
    return !inner_ || inner_->is_known(next);
  }

  void rest() noexcept override {
    if (inner_) inner_->rest();
  }

  [[nodiscard]] std::unique_ptr<ConstraintState> clone() const override {
    return std::make_unique<BudgetState>(*this, inner_ ? inner_->clone() : nullptr);
  }

 private:
  enum class Phase : std::uint8_t { kBefore, kThought, kAfter };
  struct Place {
    std::int32_t used = 0;      // tokens of thoughts so far
    std::uint16_t matched = 0;  // matched bytes of the tag that is searched
    std::uint16_t renewed = 0;  // matched bytes of texts after which a thought may begin
    std::uint16_t forced = 0;   // tokens of the ending that have come
    std::uint8_t behind = 0;    // bytes that the current character lacks
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
      if (of_->closes.found(now_.matched)) end_thought();
      return;
    }
    if (now_.phase == Phase::kBefore) look_for_thought(c);
    if (now_.phase == Phase::kThought) return;
    now_.renewed = of_->renewals.after(now_.renewed, c);
    if (of_->renewals.found(now_.renewed)) {
      now_.phase = Phase::kBefore;
      now_.matched = now_.renewed = 0;
    }
  }

  void look_for_thought(char c) noexcept {
    const bool had_begun = now_.matched != 0;
    const bool goes_on = of_->opens.goes_on(now_.matched, c) || (!had_begun && is_blank(c));
    now_.matched = of_->opens.after(now_.matched, c);
    if (of_->opens.found(now_.matched)) {
      now_.phase = Phase::kThought;
      now_.matched = 0;
    } else if (!goes_on && !of_->budget.anywhere) {
      now_.phase = Phase::kAfter;
    }
  }

  /// Another thought may follow at once.
  void end_thought() noexcept {
    now_.phase = Phase::kBefore;
    now_.matched = now_.renewed = now_.forced = 0;
    now_.behind = 0;
  }

  const std::shared_ptr<const BudgetConstraint> of_;
  const std::unique_ptr<ConstraintState> inner_;
  Place now_;
  std::array<Place, defaults::kMaxRollback> before_{};  // a ring of earlier places
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
