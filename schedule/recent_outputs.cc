#include "weft/schedule/recent_outputs.h"

#include <algorithm>
#include <utility>

#include "weft/sampling/drafters/draft_text.h"

namespace weft {
namespace {

std::int64_t tokens_of(const DraftTexts& texts) {
  std::int64_t sum = 0;
  for (const auto& text : texts) sum += std::ssize(text->tokens());
  return sum;
}

}  // namespace

/// Returns the scope's entry, in front now; null if there is none.
RecentOutputs::Entry* RecentOutputs::find(const PrefixScope& scope) {
  const auto found = std::ranges::find(entries_, scope, &Entry::scope);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front();
}

void RecentOutputs::add(const PrefixScope& scope, std::span<const TokenId> output) {
  if (most_ == 0 || output.size() < kLeastTokens) return;
  DraftTexts texts;
  texts.reserve(kMostOutputs);
  texts.push_back(std::make_shared<const DraftText>(
      output.first(std::min(output.size(), kMostTokens)), vocabulary_));
  Entry* entry = find(scope);
  if (entry == nullptr) {
    entry = &entries_.emplace_front(Entry{scope, std::make_shared<const DraftTexts>()});
  }
  const DraftTexts& before = *entry->texts;
  const std::size_t kept = std::min(before.size(), kMostOutputs - 1);
  texts.insert(texts.end(), before.begin(), before.begin() + static_cast<std::ptrdiff_t>(kept));
  auto now = std::make_shared<const DraftTexts>(std::move(texts));
  tokens_ += tokens_of(*now) - tokens_of(before);
  entry->texts = std::move(now);
  make_room();
}

/// Gives up the scopes used longest ago, until the bounds hold.
void RecentOutputs::make_room() {
  while (!entries_.empty() && (tokens_ > most_ || entries_.size() > kMostScopes)) {
    tokens_ -= tokens_of(*entries_.back().texts);
    entries_.pop_back();
  }
}

std::shared_ptr<const DraftTexts> RecentOutputs::of(const PrefixScope& scope) {
  const Entry* const entry = find(scope);
  return entry == nullptr ? nullptr : entry->texts;
}

}  // namespace weft
