#include "weft/text/chat/literal_texts.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <string_view>
#include <utility>

#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

// U+FDD0 to U+FDEF.
constexpr std::size_t kMarks = 32;
constexpr std::string_view kFirstMark = "\xEF\xB7\x90";

std::string mark_of(std::size_t index) {
  std::string mark(kFirstMark);
  mark.back() = static_cast<char>(static_cast<unsigned char>(mark.back()) + index);
  return mark;
}

std::string escaped_mark_of(std::size_t index) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("\\ufd") + (index < kMarks / 2 ? 'd' : 'e') + kDigits[index % (kMarks / 2)];
}

/// Gives each string among the values to `see`, keys too.
template <class See>
void for_each_text(const json::value& value, See& see) {
  if (const json::string* text = value.if_string()) {
    see(std::string_view(*text));
  } else if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) for_each_text(item, see);
  } else if (const json::object* members = value.if_object()) {
    for (const auto& [key, member] : *members) {
      see(std::string_view(key));
      for_each_text(member, see);
    }
  }
}

class Marker {
 public:
  Marker(const Tokenizer& tokenizer, std::string_view mark) : tokenizer_(tokenizer), mark_(mark) {}

  void change(json::value& value) {
    if (json::string* text = value.if_string()) {
      if (has_marks(*text)) *text = marked(*text);
    } else if (json::array* items = value.if_array()) {
      for (json::value& item : *items) change(item);
    } else if (json::object* members = value.if_object()) {
      change_members(*members);
    }
  }

 private:
  bool has_marks(std::string_view text) {
    starts_.clear();
    tokenizer_.find_special_starts(text, starts_);
    return !starts_.empty();
  }

  /// With a mark at all of starts_.
  std::string marked(std::string_view text) {
    std::string result;
    result.reserve(text.size() + (starts_.size() * mark_.size()));
    std::size_t done = 0;
    for (const std::size_t start : starts_) {
      result.append(text.substr(done, start - done)).append(mark_);
      done = start;
    }
    return result.append(text.substr(done));
  }

  void change_members(json::object& members) {
    bool keys = false;
    for (auto& [key, member] : members) {
      keys = keys || has_marks(key);
      change(member);
    }
    if (!keys) return;
    json::object renamed;  // in the order of the members, which templates print
    for (auto& [key, member] : members) {
      const std::string name = has_marks(key) ? marked(key) : std::string(key);
      renamed.emplace(name, std::move(member));
    }
    members = std::move(renamed);
  }

  const Tokenizer& tokenizer_;
  std::string_view mark_;
  std::vector<std::size_t> starts_;
};

}  // namespace

Result<LiteralTexts> LiteralTexts::mark(std::span<json::value* const> values,
                                        const Tokenizer& tokenizer) {
  LiteralTexts result;
  std::vector<std::size_t> starts;
  const auto find_starts = [&](std::string_view text) {
    tokenizer.find_special_starts(text, starts);
  };
  for (const json::value* value : values) for_each_text(*value, find_starts);
  if (starts.empty()) return result;
  std::bitset<kMarks> taken;
  const auto find_taken = [&](std::string_view text) {
    if (text.find(kFirstMark.substr(0, 2)) == text.npos && text.find("\\ufd") == text.npos) return;
    for (std::size_t i = 0; i < kMarks; ++i) {
      if (text.find(mark_of(i)) != text.npos || text.find(escaped_mark_of(i)) != text.npos) {
        taken.set(i);
      }
    }
  };
  for (const json::value* value : values) for_each_text(*value, find_taken);
  std::size_t free = 0;
  while (free < kMarks && taken.test(free)) ++free;
  if (free == kMarks) {
    return Error{make_error_code(TextErrc::kTextTooLarge),
                 "it holds the text of a special token and all of U+FDD0 to U+FDEF"};
  }
  result.mark_ = mark_of(free);
  result.escaped_ = escaped_mark_of(free);
  Marker marker(tokenizer, result.mark_);
  for (json::value* value : values) marker.change(*value);
  return result;
}

std::vector<std::size_t> LiteralTexts::take_marks(std::string& prompt) const {
  std::vector<std::size_t> places;
  if (mark_.empty()) return places;
  const std::string_view text = prompt;
  std::string without;
  without.reserve(text.size());
  std::size_t done = 0;
  std::size_t raw = text.find(mark_);
  std::size_t escaped = text.find(escaped_);
  while (true) {
    const std::size_t found = std::min(raw, escaped);
    without.append(text.substr(done, found - done));
    if (found == text.npos) break;
    places.push_back(without.size());
    if (found == raw) {
      done = raw + mark_.size();
      raw = text.find(mark_, done);
    } else {
      done = escaped + escaped_.size();
      escaped = text.find(escaped_, done);
    }
  }
  prompt = std::move(without);
  return places;
}

}  // namespace weft
