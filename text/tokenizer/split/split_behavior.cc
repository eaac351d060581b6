#include "weft/text/tokenizer/split/split_behavior.h"

#include <algorithm>

namespace weft {
namespace {

void join_contiguous(const std::vector<SplitPart>& parts, std::vector<TextRange>& out) {
  bool any = false;
  bool previous = false;
  for (const SplitPart& part : parts) {
    if (any && part.is_match == previous) {
      out.back().end = part.range.end;
    } else {
      out.push_back(part.range);
    }
    any = true;
    previous = part.is_match;
  }
}

/// A match joins the part before it, unless that part is a match as well.
template <class Parts, class Join>
void join_matches(const Parts& parts, std::vector<TextRange>& out, Join join) {
  bool any = false;
  bool previous = false;
  for (const SplitPart& part : parts) {
    if (any && part.is_match && !previous) {
      join(out.back(), part.range);
    } else {
      out.push_back(part.range);
    }
    any = true;
    previous = part.is_match;
  }
}

}  // namespace

void append_split(const std::vector<SplitPart>& parts, SplitBehavior behavior,
                  std::vector<TextRange>& out) {
  const std::size_t first = out.size();
  switch (behavior) {
    case SplitBehavior::kIsolated:
      for (const SplitPart& part : parts) out.push_back(part.range);
      break;
    case SplitBehavior::kRemoved:
      for (const SplitPart& part : parts) {
        if (!part.is_match) out.push_back(part.range);
      }
      break;
    case SplitBehavior::kContiguous:
      join_contiguous(parts, out);
      break;
    case SplitBehavior::kMergedWithPrevious:
      join_matches(parts, out, [](TextRange& last, TextRange next) { last.end = next.end; });
      break;
    case SplitBehavior::kMergedWithNext: {
      const std::vector<SplitPart> reversed(parts.rbegin(), parts.rend());
      join_matches(reversed, out, [](TextRange& last, TextRange next) { last.begin = next.begin; });
      std::ranges::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
      break;
    }
  }
}

}  // namespace weft
