#include "weft/grammar/forms/regex.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/forms/regex_class.h"
#include "weft/grammar/grammar_error.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;

/// The largest count of a repetition. Counting costs nothing until the repetition is met.
constexpr std::uint32_t kMostTimes = 1'000'000;

class RegexReader {
 public:
  RegexReader(GrammarBuilder& builder, std::string_view pattern, const RegexOptions& options)
      : builder_(builder),
        pattern_(pattern),
        options_(options),
        escapes_(pattern_, at_, problem_) {}

  Result<Part> read() {
    const Part whole = alternatives(0);
    if (problem_.empty() && at_ < pattern_.size()) problem_ = "a bracket closes nothing";
    if (!problem_.empty()) {
      return Error{GrammarErrc::kBadRegex, problem_ + " at byte " + std::to_string(at_)};
    }
    return whole;
  }

 private:
  struct Times {
    std::uint32_t least;
    std::uint32_t most;
  };

  [[nodiscard]] bool ahead(std::string_view text) const {
    return pattern_.substr(at_, text.size()) == text;
  }
  [[nodiscard]] bool at_end() const { return at_ >= pattern_.size(); }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  Part alternatives(std::size_t depth) {
    std::vector<Part> parts;
    do {
      parts.push_back(alternative(depth));
    } while (problem_.empty() && take('|'));
    return builder_.any_of(parts);
  }

  bool take(char c) {
    if (at_end() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool take_start() {
    if (ahead("\\A")) {
      at_ += 2;
      return true;
    }
    return take('^');
  }
  bool take_end() {
    if (ahead("\\z") || ahead("\\Z")) {
      at_ += 2;
      return true;
    }
    return take('$');
  }

  Part alternative(std::size_t depth) {
    std::vector<Part> parts;
    const bool searches = options_.searches && depth == 0;
    bool starts = false;
    while (depth == 0 && take_start()) starts = true;
    if (searches && !starts) parts.push_back(anything());
    bool ends = false;
    while (problem_.empty() && !at_end() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      if (depth == 0 && take_end()) {
        ends = true;
        if (!at_end() && pattern_[at_] != '|' && pattern_[at_] != '$') {
          fail("$ is supported at the end alone");
        }
        continue;
      }
      parts.push_back(repeated(depth));
    }
    if (depth == 0 && ahead(")")) fail("a bracket closes nothing");
    if (searches && !ends) parts.push_back(anything());
    return builder_.sequence(parts);
  }

  Part anything() { return builder_.repeat(characters(CodeSet::all()), 0, kNoBound); }

  /// Reads an atom and its repetition.
  Part repeated(std::size_t depth) {
    const Part one = atom(depth);
    const auto times = repetition();
    if (!times) return one;
    return builder_.repeat(one, times->least, times->most);
  }

  std::optional<Times> repetition() {
    std::optional<Times> times;
    if (!problem_.empty()) return times;
    if (take('*')) {
      times = Times{0, kNoBound};
    } else if (take('+')) {
      times = Times{1, kNoBound};
    } else if (take('?')) {
      times = Times{0, 1};
    } else {
      times = counted();
    }
    if (!times) return times;
    if (take('?')) return times;  // a lazy repetition matches the same texts
    const bool repeats = !at_end() && (pattern_[at_] == '*' || pattern_[at_] == '+');
    if (repeats || looks_counted()) fail("a repetition is repeated");
    return times;
  }

  [[nodiscard]] bool looks_counted() const {
    if (!ahead("{")) return false;
    const std::size_t close = pattern_.find_first_not_of("0123456789,", at_ + 1);
    if (close == std::string_view::npos || pattern_[close] != '}' || close == at_ + 1) return false;
    const std::string_view inside = pattern_.substr(at_ + 1, close - at_ - 1);
    return inside[0] != ',' && std::ranges::count(inside, ',') <= 1;
  }

  std::optional<Times> counted() {
    if (!looks_counted()) return std::nullopt;
    ++at_;
    const std::uint32_t least = number();
    std::uint32_t most = least;
    if (take(',')) most = ahead("}") ? kNoBound : number();
    ++at_;
    if (most < least) fail("a repetition's bounds are the wrong way round");
    return Times{least, most};
  }

  std::uint32_t number() {
    std::uint32_t value = 0;
    while (!at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
      value = value * 10 + static_cast<std::uint32_t>(pattern_[at_++] - '0');
      if (value > kMostTimes) {
        fail("a repetition counts beyond " + std::to_string(kMostTimes));
        value = kMostTimes;
      }
    }
    return value;
  }

  Part atom(std::size_t depth) {
    switch (pattern_[at_]) {
      case '(':
        ++at_;
        return group(depth);
      case '[':
        ++at_;
        return characters(escapes_.bracket());
      case '.':
        ++at_;
        return characters(options_.dot_is_all
                              ? CodeSet::all()
                              : CodeSet({{U'\n', U'\n'}, {U'\r', U'\r'}}).complement());
      case '\\':
        ++at_;
        return escape();
      case '*':
      case '+':
      case '?':
        fail("there is nothing to repeat");
        return {};
      case '^':
        fail("^ is supported at the beginning alone");
        return {};
      case '$':
        fail("$ is supported at the end alone");
        return {};
      default:
        return character(escapes_.character());
    }
  }

  Part escape() {
    if (!at_end()) {
      if (const auto named = class_of_letter(pattern_[at_])) {
        ++at_;
        return characters(named->narrow);
      }
    }
    return character(escapes_.escape(false));
  }

  Part group(std::size_t depth) {
    if (depth + 1 >= defaults::kMaxGrammarDepth) {
      fail("groups nest deeper than " + std::to_string(defaults::kMaxGrammarDepth));
      return {};
    }
    const RegexOptions outside = options_;
    if (ahead("?:")) {
      at_ += 2;
    } else if (take_flags()) {
    } else if (ahead("?P<") || (ahead("?<") && !ahead("?<=") && !ahead("?<!"))) {
      const std::size_t close = pattern_.find('>', at_);
      if (close == std::string_view::npos) {
        fail("a group's name is not closed");
        return {};
      }
      at_ = close + 1;
    } else if (ahead("?=") || ahead("?!") || ahead("?<")) {
      fail("lookaround is not supported");
      return {};
    } else if (ahead("?")) {
      fail("a group of this kind is not supported");
      return {};
    }
    const Part inside = alternatives(depth + 1);
    options_ = outside;
    if (problem_.empty() && !take(')')) fail("a group is not closed");
    return inside;
  }

  /// Takes the flags of a group, as in `(?s:` and `(?i:`, and sets them until the group ends.
  bool take_flags() {
    const std::size_t end = pattern_.find_first_not_of("is", at_ + 1);
    if (!ahead("?") || end == std::string_view::npos || end == at_ + 1 || pattern_[end] != ':') {
      return false;
    }
    const std::string_view flags = pattern_.substr(at_ + 1, end - at_ - 1);
    if (flags.find('s') != std::string_view::npos) options_.dot_is_all = true;
    if (flags.find('i') != std::string_view::npos) options_.ignores_case = true;
    at_ = end + 1;
    return true;
  }

  Part character(char32_t code) {
    if (!problem_.empty()) return {};
    const bool is_letter = (code >= U'a' && code <= U'z') || (code >= U'A' && code <= U'Z');
    if (options_.ignores_case && is_letter) return characters(CodeSet({{code, code}}));
    if (!options_.in_json || (code >= 0x20 && code != U'"' && code != U'\\')) {
      return builder_.literal(to_utf8(code));
    }
    return characters(CodeSet({{code, code}}));
  }

  /// Returns the part for a set; equal sets share one part.
  Part characters(CodeSet set) {
    if (!problem_.empty() || builder_.too_large()) return {};
    if (options_.ignores_case) set = with_both_cases(set);
    if (set.empty()) return builder_.any_of(std::span<const Part>());
    const std::vector<CodeRange> ranges(set.ranges().begin(), set.ranges().end());
    for (const auto& [known, part] : sets_) {
      if (known == ranges) return part;
    }
    const Part part = builder_.dfa(options_.in_json ? json_character_dfa(set) : utf8_dfa(set));
    if (sets_.size() < 64) sets_.emplace_back(ranges, part);
    return part;
  }

  static CodeSet with_both_cases(const CodeSet& set) {
    std::vector<CodeRange> both(set.ranges().begin(), set.ranges().end());
    for (char32_t lower = U'a'; lower <= U'z'; ++lower) {
      const char32_t upper = lower - 32;
      if (set.has(lower) || set.has(upper)) {
        both.emplace_back(lower, lower);
        both.emplace_back(upper, upper);
      }
    }
    return CodeSet(std::move(both));
  }

  GrammarBuilder& builder_;
  std::string_view pattern_;
  RegexOptions options_;  ///< hold for the group that is being read
  std::size_t at_ = 0;
  std::string problem_;
  EscapeReader escapes_;
  std::vector<std::pair<std::vector<CodeRange>, Part>> sets_;
};

}  // namespace

Result<Part> read_regex(GrammarBuilder& builder, std::string_view pattern,
                        const RegexOptions& options) {
  if (pattern.size() > defaults::kMaxGrammarText) {
    return Error{GrammarErrc::kTooComplex, "the regular expression is longer than " +
                                               std::to_string(defaults::kMaxGrammarText) +
                                               " bytes"};
  }
  if (!is_utf8(pattern)) return Error{GrammarErrc::kBadRegex, "it is not UTF-8"};
  return RegexReader(builder, pattern, options).read();
}

}  // namespace weft::grammar

namespace weft {

Result<GrammarBuilder::Part> GrammarBuilder::regex(std::string_view pattern) {
  return grammar::read_regex(*this, pattern);
}

}  // namespace weft
