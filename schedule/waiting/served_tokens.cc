#include "weft/schedule/waiting/served_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error/checked.h"
#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

/// A power of two, so that a double holds it and its multiples exactly.
constexpr std::int64_t kUnitsOfToken = 1024;
constexpr double kMostWeight = 1 << 20;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t units_of(double weight) {
  const bool in_range = weight >= 0 && weight <= kMostWeight;  // false for NaN
  if (!in_range) internal_error("a token's weight out of range");
  return std::llround(weight * static_cast<double>(kUnitsOfToken));
}

}  // namespace

ServedTokens::ServedTokens(double prompt_weight, double output_weight, std::size_t remembered)
    : prompt_weight_(units_of(prompt_weight)),
      output_weight_(units_of(output_weight)),
      limit_(remembered),
      clients_(2 * remembered),
      active_(2 * remembered) {
  if (prompt_weight_ == 0 && output_weight_ == 0) internal_error("tokens that weigh nothing");
}

void ServedTokens::arrive(ClientId client) {
  const Slot slot = find_or_insert(client);
  Client& found = clients_[slot];
  if (found.waiting++ > 0) return;
  found.counter = std::max(found.counter, newcomer_level());
  recall(slot);
  active_.insert(slot, found.counter);
}

void ServedTokens::leave(ClientId client) {
  const Slot slot = clients_.find(client);
  if (slot == kNoSlot || clients_[slot].waiting == 0) internal_error("a client left that was away");
  if (--clients_[slot].waiting > 0) return;
  active_.erase(slot);
  last_left_ = slot;
  remember(slot);
  forget_surplus();
}

void ServedTokens::charge_prompt(ClientId client, std::int64_t tokens) {
  charge(client, tokens, prompt_weight_);
}

void ServedTokens::charge_output(ClientId client, std::int64_t tokens) {
  charge(client, tokens, output_weight_);
}

double ServedTokens::counter(ClientId client) const {
  const Slot slot = clients_.find(client);
  const std::int64_t units = slot == kNoSlot ? newcomer_level() : clients_[slot].counter;
  return static_cast<double>(units) / static_cast<double>(kUnitsOfToken);
}

std::int64_t ServedTokens::newcomer_level() const {
  const auto counter_of = [this](Slot slot) { return clients_[slot].counter; };
  if (!active_.empty()) return counter_of(active_.top(counter_of));
  return last_left_ == kNoSlot ? last_left_level_ : counter_of(last_left_);
}

/// An unknown client is added as a client that has left.
Slot ServedTokens::find_or_insert(ClientId client) {
  Slot slot = clients_.find(client);
  if (slot != kNoSlot) return slot;
  slot = clients_.insert(client, {.counter = newcomer_level()});
  remember(slot);
  return slot;
}

void ServedTokens::charge(ClientId client, std::int64_t tokens, std::int64_t weight) {
  if (tokens < 0) internal_error("a charge of less than nothing");
  const Slot slot = find_or_insert(client);
  Client& found = clients_[slot];
  found.counter =
      checked_add(found.counter, checked_multiply(tokens, weight).value_or(kMost)).value_or(kMost);
  if (found.waiting > 0) return;
  recall(slot);  // and back, as the most recently used
  remember(slot);
  forget_surplus();
}

void ServedTokens::remember(Slot slot) {
  clients_[slot].older = newest_;
  clients_[slot].newer = kNoSlot;
  (newest_ == kNoSlot ? oldest_ : clients_[newest_].newer) = slot;
  newest_ = slot;
  ++remembered_;
}

void ServedTokens::recall(Slot slot) {
  const Client& found = clients_[slot];
  (found.older == kNoSlot ? oldest_ : clients_[found.older].newer) = found.newer;
  (found.newer == kNoSlot ? newest_ : clients_[found.newer].older) = found.older;
  --remembered_;
}

void ServedTokens::forget_surplus() {
  while (remembered_ > limit_) {
    const Slot slot = oldest_;
    if (slot == last_left_) {
      last_left_level_ = clients_[slot].counter;
      last_left_ = kNoSlot;
    }
    recall(slot);
    clients_.erase(slot);
  }
}

}  // namespace weft
