#include "weft/actors/request/prompt/shortened_conversation.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>

#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

std::string_view role_of(const json::value& message) {
  const json::object* const object = message.if_object();
  const json::value* const role = object == nullptr ? nullptr : object->if_contains("role");
  const json::string* const text = role == nullptr ? nullptr : role->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::size_t count_system_messages(const json::array& messages) {
  const auto* const first = std::ranges::find_if_not(messages, [](const json::value& message) {
    return role_of(message) == "system" || role_of(message) == "developer";
  });
  return static_cast<std::size_t>(first - messages.begin());
}

/// The messages that what is left may begin with, in their order.
std::vector<std::size_t> beginnings(const json::array& messages, std::size_t system) {
  std::size_t last_user = system;
  for (std::size_t i = system; i < messages.size(); ++i) {
    if (role_of(messages[i]) == "user") last_user = i;
  }
  std::vector<std::size_t> places;
  for (std::size_t i = system + 1; i < messages.size(); ++i) {
    const std::string_view role = role_of(messages[i]);
    if (role == "user" || (i > last_user && role != "tool")) places.push_back(i);
  }
  return places;
}

Conversation without(const Conversation& whole, std::size_t first, std::size_t end) {
  Conversation rest = whole;
  const auto at = [&](std::size_t index) {
    return rest.messages.begin() + static_cast<std::ptrdiff_t>(index);
  };
  rest.messages.erase(at(first), at(end));
  return rest;
}

}  // namespace

Result<std::vector<TokenId>> shortened_tokens(const ChatEncoder& chat,
                                              const Conversation& conversation,
                                              std::chrono::local_seconds now, std::size_t most) {
  auto tokens = chat.encode(conversation, now, most);
  const auto is_too_long = [&] {
    return !tokens && tokens.error().code == TextErrc::kTooManyTokens;
  };
  if (!is_too_long()) return tokens;
  const std::size_t system = count_system_messages(conversation.messages);
  const std::vector<std::size_t> places = beginnings(conversation.messages, system);
  Result<std::vector<TokenId>> best = tokens;
  // The later what is left begins, the shorter it is.
  static_cast<void>(std::ranges::partition_point(places, [&](std::size_t place) {
    tokens = chat.encode(without(conversation, system, place), now, most);
    if (is_too_long()) return true;
    best = tokens;
    return false;
  }));
  return best;
}

std::size_t shortened_prompt(const Request& request, const ServedModel& model) {
  const std::int64_t output =
      request.max_tokens > 0 ? request.max_tokens : std::max<std::int64_t>(model.context / 8, 1);
  return static_cast<std::size_t>(std::max<std::int64_t>(model.context - output, 0));
}

}  // namespace weft
