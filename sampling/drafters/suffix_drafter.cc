#include "weft/sampling/drafters/suffix_drafter.h"

#include <algorithm>

namespace weft {

using sampling::TokenHistory;

namespace {

/// Returns how many tokens up to `place` are those up to the newest one, at most `most`.
std::size_t same_before(std::span<const TokenId> tokens, std::size_t place, std::size_t most) {
  const std::size_t newest = tokens.size() - 1;
  std::size_t same = 1;  // that at `place` is
  while (same < most && same <= place && tokens[place - same] == tokens[newest - same]) ++same;
  return same;
}

/// A token, and how many places go on with it.
struct Vote {
  TokenId token = kNoToken;
  std::size_t count = 0;
};

/// Returns the token that most voices name; of several the one named first.
Vote most_named(std::span<const TokenId> voices) {
  Vote best;
  for (const TokenId token : voices) {
    const auto count = static_cast<std::size_t>(std::ranges::count(voices, token));
    if (count > best.count) best = {token, count};
  }
  return best;
}

}  // namespace

SuffixDrafter::SuffixDrafter(std::size_t slots, std::size_t vocabulary, std::size_t max_context) {
  slots_.reserve(slots);
  while (slots_.size() < slots) slots_.push_back({TokenHistory(vocabulary, max_context)});
}

void SuffixDrafter::start(std::int32_t slot, std::span<const TokenId> tokens) {
  Slot& one = at(slot);
  one.history.clear(0, 0);
  one.needs = kLeastMatch;
  one.guessed_at = 0;
  observe(slot, tokens);
}

void SuffixDrafter::observe(std::int32_t slot, std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) at(slot).history.push(token);
}

void SuffixDrafter::fork(std::int32_t from, std::int32_t to) {
  if (from == to) return;
  at(to).history.copy(at(from).history);
  at(to).needs = at(from).needs;
  at(to).guessed_at = 0;
}

/// Looks at what became of the newest guesses.
void SuffixDrafter::learn(Slot& slot) {
  const std::span<const TokenId> tokens = slot.history.tokens();
  if (slot.guessed_at == 0 || slot.guessed_at >= tokens.size()) return;
  const bool is_right = tokens[slot.guessed_at] == slot.guessed;
  slot.needs =
      is_right ? std::max(slot.needs - 1, kLeastMatch) : std::min(slot.needs + 1, kMostNeeded);
  slot.guessed_at = 0;
}

SuffixDrafter::Places SuffixDrafter::find(const Slot& slot) {
  const std::span<const TokenId> tokens = slot.history.tokens();
  Places found;
  found.matched = slot.needs;
  std::int32_t place = slot.history.previous(tokens.size() - 1);
  for (std::size_t i = 0; i < kMostPlaces && place != TokenHistory::kNowhere; ++i) {
    const auto here = static_cast<std::size_t>(place);
    const std::size_t same = same_before(tokens, here, kLongestMatch);
    if (same > found.matched) {
      found.count = 0;
      found.matched = same;
    }
    if (same == found.matched) found.after[found.count++] = here + 1;
    if (found.count == kMostVotes) break;
    place = slot.history.previous(here);
  }
  return found;
}

std::size_t SuffixDrafter::guess(std::int32_t slot, std::span<TokenId> guesses) {
  Slot& one = at(slot);
  learn(one);
  const std::span<const TokenId> tokens = one.history.tokens();
  if (tokens.empty()) return 0;
  Places places = find(one);
  std::size_t count = 0;
  double goes_along = 1;  // the share of the places
  while (places.count > 0 && count < std::min(guesses.size(), places.matched)) {
    std::array<TokenId, kMostVotes> named{};
    for (std::size_t i = 0; i < places.count; ++i) {
      // A text that repeats itself goes on with what is guessed.
      const std::size_t next = places.after[i] + count;
      named[i] = next < tokens.size() ? tokens[next] : guesses[next - tokens.size()];
    }
    const Vote vote = most_named(std::span(named).first(places.count));
    goes_along *= static_cast<double>(vote.count) / static_cast<double>(places.count);
    if (goes_along < 0.5) break;
    guesses[count++] = vote.token;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < places.count; ++i) {
      if (named[i] == vote.token) places.after[kept++] = places.after[i];
    }
    places.count = kept;
  }
  if (count > 0) {
    one.guessed_at = tokens.size();
    one.guessed = guesses.front();
  }
  return count;
}

}  // namespace weft
