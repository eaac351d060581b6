// Merges stacks of a state that differ only in the counts of their repetitions. `(a{1,80}b?){1,60}`
// may have 4800 pairs of counts after some letters. A pair whose ranges contain those of another
// pair allows all texts that the other allows.

#include <algorithm>
#include <ranges>

#include "weft/grammar/engine/lazy_automaton.h"

namespace weft::grammar {

/// Whether cells of one repetition can differ in their counts. Once begun, `x{1,2}` and `x*` have
/// only one possible count.
bool LazyAutomaton::is_counter(const Cell& one) const {
  const Node& node = grammar_.nodes[one.node];
  if (node.kind != NodeKind::kRepeat) return false;
  return node.most == kNoBound ? node.least > 1 : node.most > 2;
}

LazyAutomaton::Shape LazyAutomaton::shape_of(const Cell& one) const {
  const Shape& below = shapes_[one.next];
  const bool counts = is_counter(one);
  std::uint64_t hash = mixed(below.hash, one.node);
  if (!counts) hash = mixed(mixed(hash, one.a), one.b);
  return {hash, below.counters + (counts ? 1U : 0U)};
}

/// Replaces the stacks in found_ by fewer stacks that allow the same texts.
void LazyAutomaton::merge_found() {
  const auto counted =
      std::ranges::partition(found_, [&](std::uint32_t one) { return shapes_[one].counters == 0; });
  if (counted.size() < 2) return;
  std::ranges::sort(counted, [&](std::uint32_t a, std::uint32_t b) {
    return shapes_[a].hash != shapes_[b].hash ? shapes_[a].hash < shapes_[b].hash : a < b;
  });
  merged_.clear();
  for (auto first = counted.begin(); first != counted.end();) {
    const auto end = std::find_if(first, counted.end(), [&](std::uint32_t one) {
      return shapes_[one].hash != shapes_[*first].hash;
    });
    merge_shape({first, end});
    first = end;
  }
  found_.erase(counted.begin(), counted.end());
  found_.insert(found_.end(), merged_.begin(), merged_.end());
}

/// Merges stacks with equal hashes, and adds the result to merged_.
void LazyAutomaton::merge_shape(std::span<const std::uint32_t> stacks) {
  const std::uint32_t like = stacks.front();
  boxes_.dimensions = shapes_[like].counters;
  boxes_.ranges.clear();
  const bool are_alike = stacks.size() > 1 && std::ranges::all_of(stacks, [&](std::uint32_t one) {
                           return add_box(one, like);
                         });
  if (are_alike) allowance_->spend(merge_work(boxes_));
  if (!are_alike || !merge_boxes(boxes_)) {
    merged_.insert(merged_.end(), stacks.begin(), stacks.end());
    return;
  }
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    merged_.push_back(with_counts(like, std::span(boxes_.box(i), boxes_.dimensions)));
  }
}

/// Adds the counts of a stack to boxes_, from its top down; returns false where it differs from the
/// stack `like` in more than counts.
bool LazyAutomaton::add_box(std::uint32_t stack, std::uint32_t like) {
  while (shapes_[stack].counters > 0) {
    allowance_->spend(1);
    const Cell& one = cells_[stack];
    const Cell& other = cells_[like];
    const bool counts = is_counter(one);
    if (one.node != other.node || (!counts && (one.a != other.a || one.b != other.b))) return false;
    if (counts) boxes_.ranges.push_back({one.a, one.b});
    stack = one.next;
    like = other.next;
  }
  return stack == like;
}

/// Returns the stack with other counts, given from its top down.
std::uint32_t LazyAutomaton::with_counts(std::uint32_t stack, std::span<const CountRange> counts) {
  std::vector<std::uint32_t> path;
  for (; shapes_[stack].counters > 0; stack = cells_[stack].next) path.push_back(stack);
  std::uint32_t made = stack;
  for (const std::uint32_t one : path | std::views::reverse) {
    Cell copy = cells_[one];
    if (is_counter(copy)) {
      copy.a = counts.back().least;
      copy.b = counts.back().most;
      counts = counts.first(counts.size() - 1);
    }
    copy.next = made;
    made = cell(copy);
  }
  return made;
}

}  // namespace weft::grammar
