#include "weft/schedule/memory/kv_memory.h"

#include <algorithm>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

namespace {

/// A node without a page takes some hundred bytes, a page some hundred thousand. Beside as many as
/// there are pages, one sequence of any length is to keep its path.
std::int32_t most_hollow(const DeviceLimits& limits) {
  return limits.window > 0 ? limits.pages + limits.host_pages + limits.pages_per_row() : 0;
}

PrefixCacheSizes cache_sizes(const DeviceLimits& limits, KvLayout layout, bool keeps) {
  const bool has_pages = layout == KvLayout::kPages;
  return {.pages = has_pages ? limits.pages : 0,
          .page_tokens = limits.page_tokens,
          .keeps = keeps && limits.keeps_kv && has_pages,
          .places = limits.host_pages,
          .hollow = most_hollow(limits),
          .snapshot_pages = limits.snapshot_pages};
}

}  // namespace

KvMemory::KvMemory(const PlanClock& clock, const DeviceLimits& limits, KvLayout layout, bool keeps)
    : limits_(limits),
      layout_(layout),
      pages_(clock, cache_sizes(limits, layout, keeps), &copies_),
      encoder_outputs_(clock, limits.cross_pages, limits.page_tokens, keeps),
      states_(clock, limits, pages_, copies_),
      prefixes_(clock, limits, pages_, states_),
      finder_(clock, limits, pages_, prefixes_, states_, copies_),
      held_(static_cast<std::size_t>(pages_.size())),
      cross_held_(static_cast<std::size_t>(limits.cross_pages)) {
  const auto rows = static_cast<std::size_t>(limits.rows);
  const auto row_pages = static_cast<std::size_t>(limits.pages_per_row());
  copies_.reserve(limits.host_pages > 0 ? rows + 2 * row_pages : rows);
  if (limits.has_state() && limits.guesses > 0) internal_error("a device with state guesses");
  if (!slabs()) return;
  const std::size_t pages = rows * row_pages;
  if (std::cmp_less(limits.pages, pages)) internal_error("rows lack their slabs");
  slab_copies_.reserve(pages);
}

PrefixStats KvMemory::prefix_stats() const noexcept {
  PrefixStats stats;
  pages_.add_to(stats);
  prefixes_.add_to(stats);
  finder_.add_to(stats);
  stats.restored = states_.restored();
  stats.add_outputs(encoder_outputs_.stats());
  return stats;
}

std::int64_t KvMemory::most_pages(const GroupSpec& spec) const {
  const auto prompt = static_cast<std::int64_t>(spec.prompt.size());
  const std::int64_t each = limits_.kv_pages_for(spec.most_kept_tokens());
  const std::int64_t shared = prompt / limits_.page_tokens;
  return std::min(spec.sequences * each - (spec.sequences - 1) * shared,
                  spec.sequences * held_pages_for(spec.most_kept_tokens()));
}

std::int64_t KvMemory::held_pages_for(std::int64_t tokens) const noexcept {
  return slabs() ? limits_.kv_pages_for(tokens) : limits_.held_pages_for(tokens);
}

std::int64_t KvMemory::pages_to_begin(const Group& group) const {
  const std::int64_t shared = group.prompt_tokens() / limits_.page_tokens;
  std::int64_t pages = shared;
  std::int64_t held = 0;
  for (const Sequence& sequence : group.sequences) {
    if (sequence.ended()) continue;
    pages += limits_.kv_pages_for(sequence.progress.known() + 1) - shared;
    held += held_pages_for(sequence.progress.known() + 1);
  }
  return std::min({pages, held, most_pages(group.spec)});
}

std::int64_t KvMemory::cross_pages_to_begin(const Group& group) const {
  const std::vector<TokenId>& input = group.spec.encoder_input;
  if (input.empty() || encoder_outputs_.is_in_use(encoder_key(group))) return 0;
  return limits_.pages_for(static_cast<std::int64_t>(input.size()));
}

EncoderKey KvMemory::encoder_key(const Group& group) const {
  const std::vector<TokenId>& input = group.spec.encoder_input;
  if (!group.encoder_hash) {
    group.encoder_hash = encoder_outputs_.hash(group.prefix_scope, input);
  }
  return {group.prefix_scope, input, *group.encoder_hash};
}

std::int64_t KvMemory::pages_held_by(std::span<Group* const> groups, RequestClass cls) const {
  if (slabs()) return 0;
  std::int64_t pages = 0;
  const auto each_page = [&](auto&& call) {
    for (const Group* group : groups) {
      if (group->cls != cls) continue;
      for (const Sequence& sequence : group->sequences) {
        for (const PageId page : sequence.table.held())
          call(page, held_[static_cast<std::size_t>(page)]);
      }
    }
  };
  // A page that others have as well stays theirs.
  each_page([&](PageId page, std::int32_t& held) {
    if (++held == pages_.references(page)) ++pages;
  });
  each_page([](PageId /*page*/, std::int32_t& held) { held = 0; });
  return pages;
}

std::int64_t KvMemory::cross_pages_held_by(std::span<Group* const> groups, RequestClass cls) {
  std::int64_t pages = 0;
  const auto each_output = [&](auto&& call) {
    for (const Group* group : groups) {
      if (group->cls != cls || group->cross_pages.empty()) continue;
      call(*group, cross_held_[static_cast<std::size_t>(group->cross_pages.front())]);
    }
  };
  each_output([&](const Group& group, std::int32_t& held) {
    const bool all = ++held == encoder_outputs_.users(group.cross_pages.front());
    pages += all ? std::ssize(group.cross_pages) : 0;
  });
  each_output([](const Group& /*group*/, std::int32_t& held) { held = 0; });
  return pages;
}

std::int32_t KvMemory::begin_encoder(Group& group) {
  const std::vector<TokenId>& input = group.spec.encoder_input;
  group.encoded = input.empty();
  if (input.empty()) return 0;
  const auto taken = encoder_outputs_.take(encoder_key(group), group.cross_pages);
  if (taken == EncoderOutputs::Taken::kNoRoom) {
    internal_error("an encoder's pages that were counted are not there");
  }
  group.encoded = taken == EncoderOutputs::Taken::kFound;
  return group.encoded ? static_cast<std::int32_t>(input.size()) : 0;
}

void KvMemory::note_encoded(Group& group) {
  group.encoded = true;
  encoder_outputs_.note_computed(group.cross_pages, encoder_key(group));
}

bool KvMemory::is_encoded(const Group& group) const {
  return group.spec.encoder_input.empty() || encoder_outputs_.is_sure(group.cross_pages);
}

std::int32_t KvMemory::tokens_to_hold(const Sequence& sequence, std::int32_t tokens) const {
  const std::int64_t pages = sequence.table.gone + held_pages_for(tokens);
  return static_cast<std::int32_t>(std::min<std::int64_t>(tokens, pages * limits_.page_tokens));
}

void KvMemory::slide(Sequence& sequence) {
  if (slabs() || limits_.window == 0) return;
  const std::int64_t most = std::ssize(sequence.table.pages);
  const auto first = static_cast<std::int32_t>(
      std::min(limits_.first_page_needed(sequence.progress.surely_planned()), most));
  if (first <= sequence.table.gone) return;
  const auto count = static_cast<std::size_t>(first - sequence.table.gone);
  pages_.release(sequence.table.held().first(count));
  std::fill_n(sequence.table.pages.begin() + sequence.table.gone, count, kNoPage);
  sequence.table.gone = first;
}

bool KvMemory::extend(Sequence& sequence, std::int32_t tokens) {
  const auto wanted = static_cast<std::size_t>(limits_.kv_pages_for(tokens));
  if (sequence.table.pages.size() >= wanted) return true;
  if (slabs()) {
    extend_in_slab(sequence, wanted);
    return true;
  }
  return pages_.take(static_cast<std::int32_t>(wanted - sequence.table.pages.size()),
                     sequence.table.pages);
}

void KvMemory::extend_in_slab(Sequence& sequence, std::size_t pages) const {
  const std::int32_t first = sequence.row * limits_.pages_per_row();
  while (sequence.table.pages.size() < pages) {
    sequence.table.pages.push_back(first + static_cast<std::int32_t>(sequence.table.pages.size()));
  }
}

bool KvMemory::make_writable(Sequence& sequence, std::size_t index) {
  if (slabs() || index >= sequence.table.pages.size()) return true;
  const PageId shared = sequence.table.pages[index];
  if (pages_.is_unshared(shared)) return true;
  // The copy is taken behind the table's end, where there is room, and replaces the original.
  if (!pages_.take(1, sequence.table.pages)) return false;
  const PageId own = sequence.table.pages.back();
  sequence.table.pages.pop_back();
  sequence.table.pages[index] = own;
  sequence.table.resend_from(index);
  copies_.push_back({shared, own});
  pages_.release({&shared, 1});
  return true;
}

std::int32_t KvMemory::fork(const Sequence& from, Sequence& to) {
  if (slabs()) {
    extend_in_slab(to, static_cast<std::size_t>(limits_.pages_for(to.progress.planned())));
    return static_cast<std::int32_t>(to.table.pages.size());
  }
  to.table.pages.assign(from.table.pages.begin(), from.table.pages.end());
  to.table.findable = from.table.findable;
  to.table.gone = from.table.gone;
  pages_.share(to.table.held());
  return 0;
}

void KvMemory::trim(Sequence& sequence) {
  std::vector<PageId>& pages = sequence.table.pages;
  const auto wanted = static_cast<std::size_t>(limits_.kv_pages_for(sequence.progress.planned()));
  if (slabs() || pages.size() <= wanted) return;
  pages_.release(std::span(pages).subspan(wanted));
  pages.resize(wanted);
  sequence.table.resend_from(wanted);
}

void KvMemory::reserve(Group& group) {
  group.reserved = most_pages(group.spec);
  reserved_ += group.reserved;
}

void KvMemory::release(Group& group, Sequence& sequence) {
  if (!slabs()) {
    states_.give(sequence);
    prefixes_.leave(group, sequence);
    const SequencePath::Before before = prefixes_.paths().before_window(sequence);
    pages_.release(sequence.table.held());
    pages_.nodes().leave_path(before.last, before.used);
    states_.release(sequence);
  }
  sequence.table.clear();
}

void KvMemory::release(Group& group) {
  prefixes_.forget_computed(group);
  encoder_outputs_.release(group.cross_pages);
  group.cross_pages.clear();
  reserved_ -= std::exchange(group.reserved, 0);
}

void KvMemory::follow_row(Sequence& sequence) {
  if (!slabs()) return;
  const std::int32_t first = sequence.row * limits_.pages_per_row();
  const auto used = static_cast<std::size_t>(limits_.pages_for(sequence.progress.planned()));
  for (std::size_t i = 0; i < sequence.table.pages.size(); ++i) {
    const PageId page = first + static_cast<std::int32_t>(i);
    if (i < used) slab_copies_.push_back({sequence.table.pages[i], page});
    sequence.table.pages[i] = page;
  }
  sequence.table.resend_from(0);
}

void KvMemory::write_copies(Plan& plan) {
  plan.slab_copies.insert(plan.slab_copies.end(), slab_copies_.begin(), slab_copies_.end());
  states_.write_restores(plan);
  plan.copies.insert(plan.copies.end(), copies_.begin(), copies_.end());
  slab_copies_.clear();
  copies_.clear();
}

void KvMemory::check(std::span<Group* const> groups) const {
  std::int64_t reserved = 0;
  std::int32_t with_output = 0;
  for (const Group* group : groups) {
    reserved += group->reserved;
    with_output += group->cross_pages.empty() ? 0 : 1;
  }
  if (reserved != reserved_) internal_error("reserved pages are miscounted");
  encoder_outputs_.check(with_output);
  if (slabs()) {
    check_slabs(groups);
  } else {
    check_references(groups);
  }
}

void KvMemory::check_slabs(std::span<Group* const> groups) const {
  for (const Group* group : groups) {
    for (const Sequence& sequence : group->sequences) {
      PageId own = sequence.row * limits_.pages_per_row();
      for (const PageId page : sequence.table.pages) {
        if (page != own++) internal_error("a sequence has a page of another's slab");
      }
    }
  }
}

void KvMemory::check_references(std::span<Group* const> groups) const {
  std::vector<std::int32_t> references(static_cast<std::size_t>(pages_.size()));
  for (const Group* group : groups) {
    for (const Sequence& sequence : group->sequences) {
      for (const PageId page : sequence.table.held()) ++references[static_cast<std::size_t>(page)];
      const auto gone = std::span(sequence.table.pages)
                            .first(sequence.table.pages.size() - sequence.table.held().size());
      if (std::ranges::count(gone, kNoPage) != std::ssize(gone)) {
        internal_error("a sequence has a page before its window");
      }
      prefixes_.check(*group, sequence);
    }
  }
  for (PageId page = 0; page < pages_.size(); ++page) {
    const std::int32_t counted = references[static_cast<std::size_t>(page)];
    if (counted != pages_.references(page)) internal_error("a page's references are miscounted");
  }
  if (std::ranges::count(references, 0) != pages_.free()) internal_error("a page is lost");
  pages_.check();
}

}  // namespace weft
