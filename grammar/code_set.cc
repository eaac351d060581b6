#include <algorithm>
#include <utility>

#include "weft/grammar/byte_dfa.h"

namespace weft::grammar {
namespace {

constexpr char32_t kLastCode = 0x10FFFF;
constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

}  // namespace

CodeSet::CodeSet(std::vector<CodeRange> ranges) {
  std::ranges::sort(ranges);
  for (CodeRange range : ranges) {
    if (range.first >= kFirstSurrogate && range.first <= kLastSurrogate) {
      range.first = kLastSurrogate + 1;
    }
    if (range.second >= kFirstSurrogate && range.second <= kLastSurrogate) {
      range.second = kFirstSurrogate - 1;
    }
    if (range.first > range.second) continue;
    if (range.first < kFirstSurrogate && range.second > kLastSurrogate) {
      if (!ranges_.empty() && ranges_.back().second + 1 >= range.first) {
        ranges_.back().second = std::max<char32_t>(ranges_.back().second, kFirstSurrogate - 1);
      } else {
        ranges_.emplace_back(range.first, kFirstSurrogate - 1);
      }
      range.first = kLastSurrogate + 1;
    }
    if (!ranges_.empty() && ranges_.back().second + 1 >= range.first) {
      ranges_.back().second = std::max(ranges_.back().second, range.second);
    } else {
      ranges_.push_back(range);
    }
  }
}

CodeSet CodeSet::all() { return CodeSet({{0, kLastCode}}); }

bool CodeSet::has(char32_t code) const noexcept {
  return std::ranges::any_of(ranges_, [code](const CodeRange& range) {
    return range.first <= code && code <= range.second;
  });
}

CodeSet CodeSet::complement() const {
  std::vector<CodeRange> rest;
  char32_t next = 0;
  for (const CodeRange& range : ranges_) {
    if (range.first > next) rest.emplace_back(next, range.first - 1);
    next = range.second + 1;
  }
  if (next <= kLastCode) rest.emplace_back(next, kLastCode);
  return CodeSet(std::move(rest));
}

CodeSet CodeSet::united(const CodeSet& other) const {
  std::vector<CodeRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodeSet(std::move(both));
}

CodeSet CodeSet::without(const CodeSet& other) const {
  return complement().united(other).complement();
}

}  // namespace weft::grammar
