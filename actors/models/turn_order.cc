#include "weft/actors/models/turn_order.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace weft {

std::optional<RequestClass> ModelUse::most_urgent() const noexcept {
  for (const RequestClass cls : kRequestClasses) {
    if (requests[static_cast<std::size_t>(cls)].load() > 0) return cls;
  }
  return std::nullopt;
}

std::size_t TurnOrder::add(double share, std::shared_ptr<const ModelUse> use) {
  auto place = std::ranges::find(members_, false, &Member::taken);
  if (place == members_.end()) place = members_.emplace(members_.end());
  *place = Member{.taken = true, .share = share, .use = std::move(use)};
  return static_cast<std::size_t>(place - members_.begin());
}

void TurnOrder::remove(std::size_t member) { members_[member] = Member(); }

double TurnOrder::tag_of(const Member& member) const noexcept {
  return std::max(reached_, member.finish);
}

void TurnOrder::want(std::size_t member) {
  Member& who = members_[member];
  if (who.wants) return;
  who.wants = true;
  who.start = tag_of(who);
  who.ended.reset();
}

void TurnOrder::withdraw(std::size_t member) { members_[member].wants = false; }

TurnOrder::Choice TurnOrder::choose(TimePoint now) const {
  const Member* best = nullptr;
  auto best_key = std::tuple(RequestClass::kBatch, 0.0);
  bool some_want = false;
  for (const Member& member : members_) {
    if (!member.taken) continue;
    some_want = some_want || member.wants;
    const bool comes = member.ended && now < *member.ended + kGrace;
    const auto cls = member.use->most_urgent();
    if (!member.wants && !(comes && cls)) continue;
    // A step without requests, such as one that frees pages, is short.
    const auto key =
        std::tuple(cls.value_or(RequestClass::kChat), member.wants ? member.start : tag_of(member));
    if (best == nullptr || key < best_key) {
      best = &member;
      best_key = key;
    }
  }
  if (!some_want || best == nullptr) return {};
  if (best->wants) return {.member = static_cast<std::size_t>(best - members_.data())};
  return {.again = *best->ended + kGrace};
}

void TurnOrder::begin(std::size_t member) {
  Member& who = members_[member];
  who.wants = false;
  reached_ = std::max(reached_, who.start);
}

void TurnOrder::end(std::size_t member, TimePoint now, Duration took) {
  Member& who = members_[member];
  who.finish = who.start + std::chrono::duration<double>(took).count() / who.share;
  who.ended = now;
}

}  // namespace weft
