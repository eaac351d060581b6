#include "weft/schedule/memory/files/page_saver.h"

#include <algorithm>
#include <utility>

namespace weft {

PageSaver::PageSaver(const PlanClock& clock, const std::vector<PlanCopy>& copies,
                     std::shared_ptr<PageFiles> files, std::int32_t pages, std::int32_t others)
    : clock_(clock),
      copies_(copies),
      files_(std::move(files)),
      is_first_(files_->attach()),
      keys_(static_cast<std::size_t>(pages) + static_cast<std::size_t>(others)),
      known_(static_cast<std::size_t>(pages)) {
  left_.reserve(2 * static_cast<std::size_t>(pages));
}

PageKey PageSaver::key_behind(const PrefixScope& scope, PageId parent,
                              std::span<const TokenId> tokens) {
  const PageKey before = parent == kNoPage
                             ? maker_.first(files_->identity(), scope.domain.get(), scope.traits)
                             : key(parent);
  return maker_.next(before, tokens);
}

void PageSaver::on_kept(const PrefixScope& scope, PageId parent, PageId node,
                        std::span<const TokenId> tokens) {
  keys_[static_cast<std::size_t>(node)] = key_behind(scope, parent, tokens);
}

void PageSaver::on_left(PageId page) {
  Known& known = known_[static_cast<std::size_t>(page)];
  // Entries of pages that were forgotten meanwhile may fill the list: then it is not saved now.
  if (known.is_listed || left_.size() == left_.capacity()) return;
  known.is_listed = true;
  left_.push_back({page, clock_.newest() + (copies_.empty() ? 0 : 1), known.serial});
}

void PageSaver::on_forgotten(PageId page) {
  Known& known = known_[static_cast<std::size_t>(page)];
  ++known.serial;
  known.is_listed = false;
  files_->withdraw(page);
}

void PageSaver::advance() {
  const auto ready =
      std::ranges::find_if(left_, [this](const Left& one) { return one.after > clock_.over(); });
  for (auto one = left_.begin(); one != ready; ++one) {
    Known& known = known_[static_cast<std::size_t>(one->page)];
    if (known.serial != one->serial) continue;
    known.is_listed = false;
    if (!files_->contains(key(one->page))) files_->save(one->page, key(one->page));
  }
  left_.erase(left_.begin(), ready);
}

}  // namespace weft
