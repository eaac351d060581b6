#include "weft/grammar/schema/string_lengths.h"

#include <algorithm>
#include <span>

#include "weft/core/text/utf8.h"
#include "weft/grammar/engine/determinize.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;

std::uint64_t product(std::uint64_t one, std::uint64_t other) {
  if (one == 0 || other == 0) return 0;
  return one > kNoBound / other ? kNoBound : std::min<std::uint64_t>(kNoBound, one * other);
}

/// Returns the possible lengths of a part's texts. Automata in the part accept one character each,
/// as read_regex() makes them.
TextLength lengths_of(const GrammarData& data, std::uint32_t at) {
  const Node& node = data.nodes[at];
  const auto children = [&] { return std::span(data.children).subspan(node.first, node.count); };
  TextLength all{0, 0};
  switch (node.kind) {
    case NodeKind::kLiteral:
      all.least = all.most = count_code_points(data.text(node));
      return all;
    case NodeKind::kSequence:
      for (const std::uint32_t child : children()) {
        const TextLength one = lengths_of(data, child);
        all.least = std::min<std::uint64_t>(kNoBound, all.least + one.least);
        all.most = std::min<std::uint64_t>(kNoBound, all.most + one.most);
      }
      return all;
    case NodeKind::kChoice:
      all.least = kNoBound;
      for (const std::uint32_t child : children()) {
        const TextLength one = lengths_of(data, child);
        all.least = std::min(all.least, one.least);
        all.most = std::max(all.most, one.most);
      }
      return all;
    case NodeKind::kRepeat: {
      const TextLength one = lengths_of(data, node.first);
      return {product(one.least, node.least), product(one.most, node.most)};
    }
    case NodeKind::kDfa:
    case NodeKind::kRule:
    case NodeKind::kSpecial:
      break;
  }
  return {1, 1};
}

bool holds_all(TextLength length, TextLength own) {
  return length.least <= own.least && own.most <= length.most;
}

}  // namespace

std::optional<Part> counted_part(GrammarBuilder& builder, Part contents, TextLength length) {
  constexpr std::size_t kMostStates = 1000;
  constexpr std::size_t kMostProducts = 12'000;
  constexpr std::size_t kWorkOfAny = 2000;  // the contents become an automaton in any case
  constexpr std::size_t kWorkOfState = 10;
  const TextLength own = lengths_of(builder.data(), contents.node);
  if (holds_all(length, own)) return contents;
  if (length.least > own.most || own.least > length.most) {
    return builder.any_of(std::span<const Part>());
  }
  if (!builder.spend(kWorkOfAny)) return std::nullopt;
  const auto all = determinized(builder.data(), contents.node, kMostStates);
  if (!all || !builder.spend(kWorkOfState * all->states.size())) return std::nullopt;
  const std::uint64_t longest = kMostProducts / (all->states.size() + 1);
  const bool is_long = length.most < kNoBound && length.most > longest &&
                       std::max(length.least, own.least) <= longest / 2;
  const auto made = with_length(*all, length.least, is_long ? longest : length.most);
  if (!made || !builder.spend(made->states.size())) return std::nullopt;
  return builder.dfa(*made);
}

std::optional<Part> format_part(GrammarBuilder& builder, std::string_view format, TextLength length,
                                const RegexOptions& options) {
  const Part contents = read_regex(builder, *format_regex(format), options).value();
  if (holds_all(length, lengths_of(builder.data(), contents.node))) return contents;
  const Part countable = read_regex(builder, countable_format_regex(format), options).value();
  return counted_part(builder, countable, length);
}

}  // namespace weft::grammar
