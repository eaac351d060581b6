#include "weft/text/output/stop_strings.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

constexpr std::uint8_t kNoStop = 0xFF;
constexpr std::uint16_t kRoot = 0;
static_assert(StopStrings::kMaxStrings < kNoStop);
static_assert(StopStrings::kMaxStrings * StopStrings::kMaxStringBytes < 0xFFFF,
              "states fit 16 bits");

/// A state of the automaton. It stands for the longest beginning of a stop string with which the
/// input ends. Its children are adjacent.
struct Node {
  std::uint16_t failure = kRoot;  ///< the longest other beginning with which this one ends
  std::uint16_t first_child = 0;
  std::uint16_t depth = 0;      ///< bytes of the beginning
  std::uint8_t children = 0;    ///< at most one for each stop string
  unsigned char byte = 0;       ///< the last byte of the beginning
  std::uint8_t string = 0;      ///< a stop string with this beginning
  std::uint8_t stop = kNoStop;  ///< the longest stop string with which the beginning ends
};
static_assert(sizeof(Node) <= 12);

Error bad_stop(std::size_t index, const std::string& what) {
  return {TextErrc::kBadStopString, "stop[" + std::to_string(index) + "] " + what};
}

Result<void> check(std::span<const std::string> strings) {
  if (strings.size() > StopStrings::kMaxStrings) {
    return bad_stop(StopStrings::kMaxStrings,
                    "is one too many: there are " + std::to_string(strings.size()) + ", " +
                        std::to_string(StopStrings::kMaxStrings) + " are allowed");
  }
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].empty()) return bad_stop(i, "is empty");
    if (strings[i].size() > StopStrings::kMaxStringBytes) {
      return bad_stop(i, "has " + std::to_string(strings[i].size()) + " bytes, " +
                             std::to_string(StopStrings::kMaxStringBytes) + " are allowed");
    }
    const std::size_t valid = valid_utf8_prefix(strings[i]);
    if (valid != strings[i].size()) {
      return bad_stop(i, "is not UTF-8 at byte " + std::to_string(valid));
    }
  }
  return {};
}

}  // namespace

struct StopStrings::Automaton {
  explicit Automaton(std::span<const std::string> stop_strings);

  /// Returns the state after `byte`.
  [[nodiscard]] State next(State state, unsigned char byte) const noexcept {
    for (;;) {
      if (const auto child = child_of(state, byte)) return *child;
      if (state == kRoot) return kRoot;
      state = nodes[state].failure;
    }
  }

  /// Returns the text that `state` stands for.
  [[nodiscard]] std::string_view spelled(State state) const noexcept {
    return std::string_view(strings[nodes[state].string]).substr(0, nodes[state].depth);
  }

  /// Returns how many bytes at the beginning of `text` begin no stop string.
  [[nodiscard]] std::size_t run_of_others(std::string_view text) const noexcept {
    const auto found = std::ranges::find_if(
        text, [this](char c) { return begins[static_cast<unsigned char>(c)]; });
    return static_cast<std::size_t>(found - text.begin());
  }

  std::vector<std::string> strings;
  std::vector<Node> nodes;  ///< breadth first
  std::array<bool, 256> begins{};

 private:
  /// The stop strings that share a beginning: [first, last) of the sorted strings.
  struct Group {
    std::size_t first;
    std::size_t last;
  };

  [[nodiscard]] std::optional<State> child_of(State state, unsigned char byte) const noexcept {
    const Node& node = nodes[state];
    for (State child = node.first_child; child < node.first_child + node.children; ++child) {
      if (nodes[child].byte == byte) return child;
    }
    return std::nullopt;
  }

  void add_children(State parent, Group group, std::span<const std::uint8_t> sorted,
                    std::vector<Group>& groups);
};

StopStrings::Automaton::Automaton(std::span<const std::string> stop_strings)
    : strings(stop_strings.begin(), stop_strings.end()) {
  std::vector<std::uint8_t> sorted(strings.size());
  std::iota(sorted.begin(), sorted.end(), std::uint8_t{0});
  std::ranges::stable_sort(sorted, {},
                           [this](std::uint8_t i) -> const auto& { return strings[i]; });
  std::vector<Group> groups = {{0, sorted.size()}};
  nodes.emplace_back();
  for (std::size_t state = 0; state < nodes.size(); ++state) {
    add_children(static_cast<State>(state), groups[state], sorted, groups);
  }
  nodes.shrink_to_fit();
  for (const std::string& stop : strings) begins[static_cast<unsigned char>(stop.front())] = true;
}

// In breadth-first order, the states that failures lead to have their children already.
void StopStrings::Automaton::add_children(State parent, Group group,
                                          std::span<const std::uint8_t> sorted,
                                          std::vector<Group>& groups) {
  const std::uint16_t depth = nodes[parent].depth;
  nodes[parent].first_child = static_cast<State>(nodes.size());
  std::size_t at = group.first;
  // these strings end at the parent
  while (at < group.last && strings[sorted[at]].size() == depth) ++at;
  while (at < group.last) {
    const char byte = strings[sorted[at]][depth];
    std::size_t end = at + 1;
    while (end < group.last && strings[sorted[end]][depth] == byte) ++end;
    Node child{.depth = static_cast<std::uint16_t>(depth + 1),
               .byte = static_cast<unsigned char>(byte),
               .string = sorted[at]};
    if (parent != kRoot) child.failure = next(nodes[parent].failure, child.byte);
    const bool ends_here = strings[sorted[at]].size() == child.depth;
    child.stop = ends_here ? sorted[at] : nodes[child.failure].stop;
    nodes.push_back(child);
    groups.push_back({at, end});
    ++nodes[parent].children;
    at = end;
  }
}

Result<StopStrings> StopStrings::compile(std::span<const std::string> strings) {
  if (const auto checked = check(strings); !checked) return checked.error();
  StopStrings stops;
  if (!strings.empty()) stops.automaton_ = std::make_shared<const Automaton>(strings);
  return stops;
}

std::size_t StopStrings::size() const noexcept { return empty() ? 0 : automaton_->strings.size(); }

const std::string& StopStrings::text(std::size_t index) const noexcept {
  return automaton_->strings[index];
}

std::optional<std::size_t> StopScanner::feed(std::string_view text, std::string& out) {
  if (hit_) return hit_;
  if (stops_.empty()) {
    out.append(text);
    return std::nullopt;
  }
  while (!text.empty() && !hit_) {
    if (state_ == kRoot) {
      const std::size_t run = stops_.automaton_->run_of_others(text);
      out.append(text.substr(0, run));
      text.remove_prefix(run);
      if (text.empty()) break;
    }
    advance(text.front(), out);
    text.remove_prefix(1);
  }
  return hit_;
}

// The old state and the byte spell the open text. Two parts of it stay open: the part that the new
// state spells, and the part after the candidate's beginning.
void StopScanner::advance(char byte, std::string& out) {
  const StopStrings::Automaton& automaton = *stops_.automaton_;
  const std::string_view held = automaton.spelled(state_);
  state_ = automaton.next(state_, static_cast<unsigned char>(byte));
  std::size_t open = automaton.nodes[state_].depth;
  if (candidate_) open = std::max(open, ++candidate_->span);
  const std::size_t settled = held.size() + 1 - open;
  out.append(held.substr(0, settled));
  if (settled > held.size()) out.push_back(byte);
  note_stop();
}

void StopScanner::note_stop() {
  const StopStrings::Automaton& automaton = *stops_.automaton_;
  const Node& node = automaton.nodes[state_];
  if (node.stop != kNoStop) {
    const std::size_t span = automaton.strings[node.stop].size();
    if (!candidate_ || span > candidate_->span) candidate_ = Candidate{node.stop, span};
  }
  if (candidate_ && node.depth <= candidate_->span) hit_ = candidate_->index;
}

std::optional<std::size_t> StopScanner::flush(std::string& out) {
  if (hit_ || stops_.empty()) return hit_;
  std::string_view held = stops_.automaton_->spelled(state_);
  if (candidate_) {
    held.remove_suffix(candidate_->span);
    hit_ = candidate_->index;
  }
  out.append(held);
  state_ = kRoot;
  return hit_;
}

}  // namespace weft
