#include "weft/schedule/memory/encoder_outputs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

EncoderOutputs::EncoderOutputs(const PlanClock& clock, std::int32_t pages, std::int32_t page_tokens,
                               bool keeps)
    : clock_(clock),
      keeps_(keeps),
      page_tokens_(page_tokens),
      pool_(pages),
      outputs_(static_cast<std::size_t>(pages)),
      next_(static_cast<std::size_t>(pages), kNoPage),
      idle_(pages) {
  if (!keeps) return;
  const auto count = static_cast<std::size_t>(pages);
  tokens_.resize(count * static_cast<std::size_t>(page_tokens));
  scopes_.resize(count);
  buckets_.resize(std::bit_ceil(std::max<std::size_t>(2 * count, 1)), kNoPage);
}

PrefixStats EncoderOutputs::stats() const noexcept {
  PrefixStats stats = stats_;
  stats.encoder_pages = listed_pages_;
  return stats;
}

std::span<TokenId> EncoderOutputs::tokens_of(PageId page) noexcept {
  const auto size = static_cast<std::size_t>(page_tokens_);
  return std::span(tokens_).subspan(static_cast<std::size_t>(page) * size, size);
}

bool EncoderOutputs::is_of(PageId first, std::span<const TokenId> input) const {
  if (std::cmp_not_equal(at(first).tokens, input.size())) return false;
  for (PageId page = first; page != kNoPage; page = next_[static_cast<std::size_t>(page)]) {
    const auto size = static_cast<std::size_t>(page_tokens_);
    const auto part = input.first(std::min(size, input.size()));
    const auto own = std::span(tokens_).subspan(static_cast<std::size_t>(page) * size, part.size());
    if (!std::ranges::equal(own, part)) return false;
    input = input.subspan(part.size());
  }
  return true;
}

PageId EncoderOutputs::find(const EncoderKey& key) const {
  if (listed_pages_ == 0) return kNoPage;
  const PageId first = find_listed(key);
  const bool precedes = first != kNoPage && at(first).is_computed_by(clock_.preceding());
  return precedes ? first : kNoPage;
}

PageId EncoderOutputs::find_listed(const EncoderKey& key) const {
  PageId first = buckets_[std::size_t{key.hash} & (buckets_.size() - 1)];
  for (; first != kNoPage; first = at(first).next_in_bucket) {
    if (at(first).hash != key.hash) continue;
    if (scopes_[static_cast<std::size_t>(first)] != key.scope) continue;
    if (is_of(first, key.input)) break;
  }
  return first;
}

EncoderOutputs::Taken EncoderOutputs::take(const EncoderKey& key, std::vector<PageId>& out) {
  if (key.input.empty()) internal_error("the encoder's output of no tokens");
  const PageId found = find(key);
  const Output wanted{.users = 1, .tokens = static_cast<std::int32_t>(key.input.size())};
  if (found == kNoPage && pages_of(wanted) > free()) return Taken::kNoRoom;
  if (keeps_) {
    ++stats_.lookups;
    stats_.looked_up += key.input.size();
  }
  if (found != kNoPage) {
    ++stats_.hits;
    stats_.found += key.input.size();
    share(found, out);
    return Taken::kFound;
  }
  while (pool_.free() < pages_of(wanted)) give_up_oldest();
  const std::size_t before = out.size();
  if (!pool_.take(pages_of(wanted), out)) internal_error("pages that were counted are not there");
  for (std::size_t i = before; i + 1 < out.size(); ++i) {
    next_[static_cast<std::size_t>(out[i])] = out[i + 1];
  }
  at(out[before]) = wanted;
  return Taken::kNew;
}

/// One group more has the output.
void EncoderOutputs::share(PageId first, std::vector<PageId>& out) {
  for (PageId page = first; page != kNoPage; page = next_[static_cast<std::size_t>(page)]) {
    out.push_back(page);
  }
  if (at(first).users++ > 0) return;
  idle_.remove(first);
  idle_pages_ -= pages_of(at(first));
}

void EncoderOutputs::note_computed(std::span<const PageId> pages, const EncoderKey& key) {
  const PageId first = pages.front();
  at(first).computed_in = clock_.making();
  if (!keeps_ || at(first).next_in_bucket != kUnlisted) return;
  if (find_listed(key) == kNoPage) list(first, key);
}

void EncoderOutputs::list(PageId first, const EncoderKey& key) {
  Output& output = at(first);
  output.hash = key.hash;
  output.next_in_bucket = std::exchange(bucket_of(key.hash), first);
  scopes_[static_cast<std::size_t>(first)] = key.scope;
  listed_pages_ += pages_of(output);
  std::span<const TokenId> input = key.input;
  for (PageId page = first; page != kNoPage; page = next_[static_cast<std::size_t>(page)]) {
    const auto part = input.first(std::min(tokens_of(page).size(), input.size()));
    std::ranges::copy(part, tokens_of(page).begin());
    input = input.subspan(part.size());
  }
}

void EncoderOutputs::unlist(PageId first) {
  Output& output = at(first);
  if (output.next_in_bucket == kUnlisted) return;
  PageId* link = &bucket_of(output.hash);
  while (*link != first) link = &at(*link).next_in_bucket;
  *link = std::exchange(output.next_in_bucket, kUnlisted);
  scopes_[static_cast<std::size_t>(first)] = {};
  listed_pages_ -= pages_of(output);
}

void EncoderOutputs::release(std::span<const PageId> pages) {
  if (pages.empty()) return;
  const PageId first = pages.front();
  Output& output = at(first);
  if (output.users == 0) internal_error("an encoder's output is released that nobody has");
  if (--output.users > 0) return;
  const bool is_sure = output.is_computed_by(clock_.sure());
  if (output.next_in_bucket == kUnlisted || !is_sure) return drop(first);
  idle_.add(first);
  idle_pages_ += pages_of(output);
}

/// Its pages are free.
void EncoderOutputs::drop(PageId first) {
  unlist(first);
  at(first) = {};
  for (PageId page = first; page != kNoPage;) {
    pool_.release({&page, 1});
    page = std::exchange(next_[static_cast<std::size_t>(page)], kNoPage);
  }
}

void EncoderOutputs::give_up_oldest() {
  const PageId first = idle_.oldest();
  const std::int32_t pages = pages_of(at(first));
  idle_.remove(first);
  idle_pages_ -= pages;
  stats_.given_up += static_cast<std::uint64_t>(pages);
  drop(first);
}

void EncoderOutputs::forget_all() {
  const std::uint64_t given_up = stats_.given_up;
  while (idle_.size() > 0) give_up_oldest();
  stats_.given_up = given_up;  // that was not for want of room
  if (pool_.free() != pool_.size()) internal_error("an encoder's output is forgotten that is used");
}

void EncoderOutputs::check(std::int32_t groups) const {
  std::int32_t users = 0;
  std::int32_t pages = 0;
  std::int32_t idle = 0;
  for (PageId first = 0; first < size(); ++first) {
    const Output& output = at(first);
    if (output.tokens == 0) continue;
    users += output.users;
    pages += pages_of(output);
    if ((output.users == 0) != idle_.contains(first)) {
      internal_error("an encoder's output is idle and not listed as such, or the reverse");
    }
    idle += output.users == 0 ? pages_of(output) : 0;
  }
  if (users != groups) internal_error("those that have an encoder's output are miscounted");
  if (pages + pool_.free() != pool_.size()) internal_error("a cross page is lost");
  if (idle != idle_pages_) internal_error("idle cross pages are miscounted");
}

}  // namespace weft
