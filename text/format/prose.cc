#include "weft/text/format/prose.h"

#include <algorithm>
#include <utility>

#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// The most white space that is held back before a possible tag; more than any template writes.
constexpr std::size_t kMaxSpaces = 64;

}  // namespace

void Prose::add(std::string_view run, TypedText& out) {
  if (skips_) {
    const auto* const text = std::ranges::find_if_not(run, is_markup_space);
    next_ += static_cast<std::size_t>(text - run.begin());
    run.remove_prefix(static_cast<std::size_t>(text - run.begin()));
    if (run.empty()) return;
    skips_ = false;
  }
  const std::size_t last = run.find_last_not_of(" \n\t\r");
  const std::size_t body = last == std::string_view::npos ? 0 : last + 1;
  if (body > 0) {
    add_spaces(out);
    out.add(kind_, run.substr(0, body), next_);
    blank_ = false;
  }
  spaces_.append(run.substr(body));
  next_ += run.size();
  if (spaces_.size() <= kMaxSpaces) return;
  blank_ = false;
  const std::size_t over = spaces_.size() - kMaxSpaces;
  out.add(kind_, std::string_view(spaces_).substr(0, over), settled());
  spaces_.erase(0, over);
}

std::string Prose::take_spaces() {
  next_ -= spaces_.size();
  return std::exchange(spaces_, {});
}

void Prose::add_spaces(TypedText& out) {
  out.add(kind_, spaces_, settled());
  spaces_.clear();
}

}  // namespace weft
