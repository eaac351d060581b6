#include "weft/sampling/drafters/suffix_drafter.h"

#include <algorithm>

namespace weft {

using sampling::TokenHistory;

namespace {

/// Returns how many tokens of `text` up to `place` equal the newest tokens of the sequence, at most
/// `most`. The token at `place` is known to be equal.
std::size_t same_before(std::span<const TokenId> text, std::size_t place,
                        std::span<const TokenId> tokens, std::size_t most) {
  const std::size_t newest = tokens.size() - 1;
  const std::size_t longest = std::min({most, place + 1, tokens.size()});
  std::size_t same = 1;
  while (same < longest && text[place - same] == tokens[newest - same]) ++same;
  return same;
}

/// A token, and the number of places that vote for it.
struct Vote {
  TokenId token = kNoToken;
  std::size_t count = 0;
};

/// Returns the token with the most votes; on a tie the token named first.
Vote most_named(std::span<const TokenId> voices) {
  Vote best;
  for (const TokenId token : voices) {
    const auto count = static_cast<std::size_t>(std::ranges::count(voices, token));
    if (count > best.count) best = {token, count};
  }
  return best;
}

/// Adds a place whose match has `same` tokens, if no other match is longer.
template <class Places>
void vote_for(Places& places, std::size_t here, std::size_t same) {
  if (same > places.matched) {
    places.count = 0;
    places.matched = same;
  }
  if (same == places.matched) places.after[places.count++] = here + 1;
}

/// Writes at most `most` tokens for which the places in `text` vote, and returns their number.
template <class Places>
std::size_t take_votes(std::span<const TokenId> text, Places places, bool repeats,
                       std::span<TokenId> guesses) {
  std::size_t count = 0;
  double goes_along = 1;  // share of the places that still vote
  while (count < guesses.size()) {
    std::array<TokenId, SuffixDrafter::kMostVotes> named{};
    std::size_t voting = 0;
    for (std::size_t i = 0; i < places.count; ++i) {
      const std::size_t next = places.after[i] + count;
      if (next >= text.size() && !repeats) continue;
      // A text that repeats itself continues with the guesses themselves.
      named[voting] = next < text.size() ? text[next] : guesses[next - text.size()];
      places.after[voting++] = places.after[i];
    }
    if (voting == 0) break;
    const Vote vote = most_named(std::span(named).first(voting));
    goes_along *= static_cast<double>(vote.count) / static_cast<double>(voting);
    if (goes_along < 0.5) break;
    guesses[count++] = vote.token;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < voting; ++i) {
      if (named[i] == vote.token) places.after[kept++] = places.after[i];
    }
    places.count = kept;
  }
  return count;
}

}  // namespace

SuffixDrafter::Slot& SuffixDrafter::made_at(std::int32_t slot) {
  Slot& one = at(slot);
  if (!one.history) one.history.emplace(vocabulary_, max_context_);
  return one;
}

void SuffixDrafter::start(std::int32_t slot, std::span<const TokenId> tokens,
                          std::size_t prompt_tokens, const DraftSources& sources) {
  Slot& one = made_at(slot);
  one.history->clear(0, 0);
  one.prompt_tokens = prompt_tokens;
  one.prediction = sources.prediction;
  one.recent = sources.recent;
  one.needs = kLeastMatch;
  one.guessed_at = 0;
  observe(slot, tokens);
}

void SuffixDrafter::observe(std::int32_t slot, std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) at(slot).history->push(token);
}

void SuffixDrafter::fork(std::int32_t from, std::int32_t to) {
  if (from == to) return;
  const Slot& source = at(from);
  Slot& one = made_at(to);
  one.history->copy(*source.history);
  one.prompt_tokens = source.prompt_tokens;
  one.prediction = source.prediction;
  one.recent = source.recent;
  one.needs = source.needs;
  one.guessed_at = 0;
}

/// Learns from the tokens that followed the newest guesses.
void SuffixDrafter::learn(Slot& slot) {
  const std::span<const TokenId> tokens = slot.history->tokens();
  if (slot.guessed_at == 0 || slot.guessed_at >= tokens.size()) return;
  const bool is_right = tokens[slot.guessed_at] == slot.guessed;
  slot.needs =
      is_right ? std::max(slot.needs - 1, kLeastMatch) : std::min(slot.needs + 1, kMostNeeded);
  slot.guessed_at = 0;
}

SuffixDrafter::Places SuffixDrafter::find_own(const Slot& slot) {
  const std::span<const TokenId> tokens = slot.history->tokens();
  Places found;
  found.matched = slot.needs;
  std::int32_t place = slot.history->previous(tokens.size() - 1);
  for (std::size_t i = 0; i < kMostPlaces && place != TokenHistory::kNowhere; ++i) {
    const auto here = static_cast<std::size_t>(place);
    vote_for(found, here, same_before(tokens, here, tokens, kLongestMatch));
    if (found.count == kMostVotes) break;
    place = slot.history->previous(here);
  }
  return found;
}

SuffixDrafter::Places SuffixDrafter::find_predicted(const Slot& slot, const DraftText& prediction) {
  const std::span<const TokenId> tokens = slot.history->tokens();
  const std::span<const TokenId> text = prediction.tokens();
  const std::size_t output = tokens.size() - std::min(tokens.size(), slot.prompt_tokens);
  Places found;
  if (output == 0) return found;  // the prompt predicts its own continuation
  found.matched = slot.needs;
  std::int32_t place = prediction.last(tokens.back());
  for (std::size_t i = 0; i < kMostPlaces && place != DraftText::kNowhere; ++i) {
    const auto here = static_cast<std::size_t>(place);
    std::size_t same = same_before(text, here, tokens, std::min(kLongestMatch, output));
    // The output equals the prediction's beginning.
    if (same == here + 1 && same == output) same = kLongestMatch;
    vote_for(found, here, same);
    if (found.count == kMostVotes) break;
    place = prediction.previous(here);
  }
  return found;
}

SuffixDrafter::Places SuffixDrafter::find_recent(const Slot& slot, const DraftText& text) {
  const std::span<const TokenId> tokens = slot.history->tokens();
  Places found;
  found.matched = slot.needs;
  std::int32_t place = text.last(tokens.back());
  for (std::size_t i = 0; i < kMostPlaces && place != DraftText::kNowhere; ++i) {
    const auto here = static_cast<std::size_t>(place);
    vote_for(found, here, same_before(text.tokens(), here, tokens, kLongestMatch));
    if (found.count == kMostVotes) break;
    place = text.previous(here);
  }
  return found;
}

/// Guesses by the recent output with the longest match, if that is longer than `matched` tokens.
Draft SuffixDrafter::guess_recent(const Slot& slot, std::size_t matched,
                                  std::span<TokenId> guesses) {
  const std::shared_ptr<const DraftTexts> recent = slot.recent.lock();
  if (!recent) return {};
  const DraftText* longest = nullptr;
  Places places;
  for (const std::shared_ptr<const DraftText>& text : *recent) {
    const Places found = find_recent(slot, *text);
    if (found.count == 0 || found.matched <= std::max(matched, places.matched)) continue;
    longest = text.get();
    places = found;
  }
  if (longest == nullptr) return {};
  const std::size_t most = std::min(guesses.size(), places.matched);
  return {take_votes(longest->tokens(), places, false, guesses.first(most)), GuessSource::kRecent,
          places.matched};
}

Draft SuffixDrafter::guess(std::int32_t slot, std::span<TokenId> guesses) {
  Slot& one = at(slot);
  learn(one);
  const std::span<const TokenId> tokens = one.history->tokens();
  if (tokens.empty()) return {};
  const std::shared_ptr<const DraftText> prediction = one.prediction.lock();
  const Places own = find_own(one);
  const Places predicted = prediction ? find_predicted(one, *prediction) : Places();
  Draft draft;
  if (predicted.count > 0 && (own.count == 0 || predicted.matched >= own.matched)) {
    draft = {take_votes(prediction->tokens(), predicted, false, guesses), GuessSource::kPrediction,
             predicted.matched};
  }
  if (draft.count == 0) {
    draft = guess_recent(one, own.count > 0 ? own.matched : 0, guesses);
  }
  if (draft.count == 0) {
    const std::size_t most = std::min(guesses.size(), own.matched);
    draft = {take_votes(tokens, own, true, guesses.first(most)), GuessSource::kOwn, own.matched};
  }
  if (draft.count > 0) {
    one.guessed_at = tokens.size();
    one.guessed = guesses.front();
  }
  return draft;
}

}  // namespace weft
