#pragma once

#include <gmock/gmock.h>

#include <cctype>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::measure {

/// Parses as much of XML as our pages have: elements with quoted attributes, text, five entities
/// and a doctype. No comments, no CDATA.
class XmlCheck {
 public:
  explicit XmlCheck(std::string_view text) : rest_(text) {}

  /// Returns the first mistake; empty if there is none.
  std::string run() {
    while (!rest_.empty() && wrong_.empty()) {
      if (rest_.front() == '<') {
        tag();
      } else {
        text_until('<');
      }
    }
    if (wrong_.empty() && !open_.empty()) wrong_ = "no end of " + open_.back();
    return wrong_;
  }

 private:
  void text_until(char end) {
    const auto size = std::min(rest_.find(end), rest_.size());
    std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    for (auto at = text.find('&'); at != std::string_view::npos; at = text.find('&')) {
      text.remove_prefix(at);
      const std::string entity(text.substr(0, text.find(';') + 1));
      if (!std::set<std::string>{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}.contains(entity)) {
        wrong_ = "a bare ampersand before " + std::string(text.substr(0, 20));
      }
      text.remove_prefix(1);
    }
  }

  std::string take_name() {
    std::size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 ||
                                   rest_[size] == '-' || rest_[size] == ':')) {
      ++size;
    }
    std::string name(rest_.substr(0, size));
    rest_.remove_prefix(size);
    if (name.empty()) wrong_ = "no name before " + std::string(rest_.substr(0, 20));
    return name;
  }

  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  void tag() {
    if (take("<!doctype html>")) return;
    if (take("</")) {
      const std::string name = take_name();
      if (open_.empty() || open_.back() != name || !take(">")) {
        wrong_ = "an end of " + name + " that fits none";
      } else {
        open_.pop_back();
      }
      return;
    }
    take("<");
    open_.push_back(take_name());
    std::set<std::string> names;
    while (wrong_.empty() && take(" ")) attribute(names);
    if (take("/>")) {
      open_.pop_back();
    } else if (!take(">") && wrong_.empty()) {
      wrong_ = "a tag goes on with " + std::string(rest_.substr(0, 20));
    }
  }

  void attribute(std::set<std::string>& names) {
    const std::string name = take_name();
    if (!names.insert(name).second) wrong_ = name + " stands twice";
    if (!take("=\"")) wrong_ = "no value of " + name;
    if (!wrong_.empty()) return;
    const std::string_view value = rest_.substr(0, rest_.find('"'));
    if (value.find('<') != std::string_view::npos) wrong_ = "a < in " + name;
    if (name == "id" && !ids_.insert(std::string(value)).second)
      wrong_ = "two of the id " + std::string(value);
    text_until('"');
    if (!take("\"")) wrong_ = "no end of " + name;
  }

  std::string_view rest_;
  std::vector<std::string> open_;
  std::set<std::string> ids_;
  std::string wrong_;
};

MATCHER(IsWellFormed,  // NOLINT(readability-identifier-naming): a matcher
        negation ? "is not well-formed" : "is well-formed") {
  const std::string wrong = XmlCheck(arg).run();
  *result_listener << wrong;
  return wrong.empty();
}

/// Counts how often `text` contains `what`.
inline std::size_t count_of(std::string_view what, std::string_view text) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

}  // namespace weft::measure
