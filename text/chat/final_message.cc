#include "weft/text/chat/final_message.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

/// U+1FFFE, which valid text does not contain (Unicode 23.7, noncharacters).
constexpr std::string_view kNoncharacter = "\xF0\x9F\xBF\xBE";
/// A part of the mark. A template that trims a text removes the space, and so shows that it has
/// trimmed the text before the mark as well.
constexpr char kSpace = ' ';

Error not_continued(std::string why) {
  return {make_error_code(TextErrc::kTemplateFailed), "the last message " + std::move(why)};
}

std::string_view text_of(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

/// Returns the string in a field; null: the field is no string.
template <class Object>
auto* string_in(Object& object, std::string_view key) {
  auto* const value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_string();
}

/// Returns the last text of a list of parts.
template <class String, class Array>
String* last_text(Array& parts) {
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    auto* const object = part->if_object();
    String* const text = object == nullptr ? nullptr : string_in(*object, "text");
    if (text != nullptr) return text;
  }
  return nullptr;
}

template <class String, class Object>
String* find_text(Object& message) {
  String* text = string_in(message, "content");
  auto* const content = message.if_contains("content");
  if (content != nullptr && content->is_array()) text = last_text<String>(content->get_array());
  if (text != nullptr && !text->empty()) return text;
  for (const std::string_view name : {"reasoning_content", "thinking"}) {
    String* const thoughts = string_in(message, name);
    if (thoughts != nullptr && !thoughts->empty()) return thoughts;
  }
  return text;
}

bool calls(const json::object& message) {
  const json::value* const list = message.if_contains("tool_calls");
  return list != nullptr && list->is_array() && !list->get_array().empty();
}

/// Returns a mark that no message contains. A message must spend a mark's bytes to make one mark
/// unusable.
std::string free_mark(const json::array& messages) {
  const std::string all = json::serialize(messages);
  for (std::size_t number = 0;; ++number) {
    const std::string mark =
        std::string(kNoncharacter) + std::to_string(number) + std::string(kNoncharacter);
    if (all.find(mark) == std::string::npos) return mark;
  }
}

}  // namespace

const json::string* continued_text(const json::object& message) {
  return find_text<const json::string>(message);
}

Result<FinalMessage> FinalMessage::mark(json::array& messages) {
  json::object* const last = messages.empty() ? nullptr : messages.back().if_object();
  if (last == nullptr || text_of(*last, "role") != "assistant") {
    return not_continued("is not the assistant's, and so cannot be continued");
  }
  if (calls(*last)) return not_continued("has calls, behind which nothing is continued");
  FinalMessage made(free_mark(messages));
  json::string* const text = find_text<json::string>(*last);
  if (text == nullptr) return not_continued("has no text that could be continued");
  text->append(made.mark_).push_back(kSpace);
  return made;
}

Result<void> FinalMessage::cut(RenderedPrompt& prompt) const {
  std::string& text = prompt.text;
  const std::size_t found = text.rfind(mark_);
  if (found == std::string::npos) {
    return not_continued("cannot be continued: the chat template does not write its text");
  }
  const std::size_t behind = found + mark_.size();
  const bool trimmed = behind >= text.size() || text[behind] != kSpace;
  text.resize(found);
  if (trimmed) text.resize(text.find_last_not_of(" \n\t\r\f\v") + 1);
  std::erase_if(prompt.client, [&](jinja::ByteRange range) { return range.begin >= text.size(); });
  if (!prompt.client.empty()) {
    prompt.client.back().end = std::min(prompt.client.back().end, text.size());
  }
  return {};
}

}  // namespace weft
