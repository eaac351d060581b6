#include "weft/actors/request/prompt/shortened_conversation.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/actors/request/request_bounds.h"
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

/// The messages with which a shortened conversation may begin, in their order.
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

/// Returns about how many bytes the messages have from each place to the end.
std::vector<std::int64_t> bytes_behind(const json::array& messages,
                                       const std::vector<std::size_t>& places) {
  std::vector<std::int64_t> sizes(places.size());
  std::int64_t bytes = 0;
  std::size_t begin = messages.size();
  for (std::size_t i = places.size(); i > 0; --i) {
    for (; begin > places[i - 1]; --begin) bytes += json_bytes(messages[begin - 1]);
    sizes[i - 1] = bytes;
  }
  return sizes;
}

/// Finds the first of several beginnings with which a conversation fits. The later it begins, the
/// shorter it is. A try is what costs, so first beginnings are tried that fit by their bytes, and
/// when that has not settled it soon, the middle of those that are left.
class BeginningSearch {
 public:
  /// `bytes` are those of what is left, one number for each beginning.
  BeginningSearch(std::vector<std::int64_t> bytes, std::size_t most)
      : bytes_(std::move(bytes)), most_(static_cast<std::int64_t>(most)), fitting_(bytes_.size()) {}

  /// Returns the beginning to be tried next; nothing once the answer is known.
  [[nodiscard]] std::optional<std::size_t> next() {
    if (possible_ == fitting_) return std::nullopt;
    tried_ = tries_++ < kTriesByBytes ? first_within(wanted_) : (possible_ + fitting_) / 2;
    return tried_;
  }

  /// What was tried is too long.
  void was_too_long() {
    possible_ = tried_ + 1;
    // Where one has fitted, that one's bytes for a token mislead.
    if (tokens_ > 0) tries_ = kTriesByBytes;
    wanted_ = bytes_[tried_] / 2;
  }

  /// What was tried has so many tokens; 0: it is not known how many.
  void has_fitted(std::size_t tokens) {
    fitting_ = tried_;
    const auto count = static_cast<std::int64_t>(tokens);
    const std::int64_t more_bytes = bytes_[tried_] - measured_;
    const std::int64_t more_tokens = std::max<std::int64_t>(count - tokens_, 1);
    const std::int64_t room = std::max<std::int64_t>(most_ - count, 0);
    wanted_ = bytes_[tried_] + static_cast<std::int64_t>(static_cast<double>(room) *
                                                         static_cast<double>(more_bytes) /
                                                         static_cast<double>(more_tokens));
    if (tokens == 0) tries_ = kTriesByBytes;
    tokens_ = count;
    measured_ = bytes_[tried_];
  }

 private:
  /// Enough where messages are alike: one that fits, one that fills the room, and the one before
  /// it, which is too long. Another where the first is too long.
  static constexpr int kTriesByBytes = 4;
  static constexpr std::int64_t kBytesPerToken = 4;  // in most languages, about

  /// Returns the first beginning that may be the answer, is not known to fit, and leaves no more
  /// than `bytes`, or else the last.
  [[nodiscard]] std::size_t first_within(std::int64_t bytes) const {
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(possible_);
    const auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(fitting_) - 1;
    const auto found =
        std::partition_point(begin, end, [bytes](std::int64_t left) { return left > bytes; });
    return static_cast<std::size_t>(found - bytes_.begin());
  }

  const std::vector<std::int64_t> bytes_;  // descending
  const std::int64_t most_;
  std::size_t possible_ = 0;  // those before it are too long
  std::size_t fitting_;       // it fits, and so do those behind it
  std::size_t tried_ = 0;
  int tries_ = 0;
  std::int64_t wanted_ = kBytesPerToken * most_;
  std::int64_t measured_ = 0;  // the bytes of the longest that has fitted
  std::int64_t tokens_ = 0;    // and its tokens
};

bool is_too_long(const Result<std::vector<TokenId>>& tokens) {
  return !tokens && tokens.error().code == TextErrc::kTooManyTokens;
}

}  // namespace

Result<std::vector<TokenId>> shortened_tokens(const EncodeConversation& encode,
                                              Conversation conversation, std::size_t most) {
  Result<std::vector<TokenId>> best = encode(conversation);
  if (!is_too_long(best)) return best;
  const json::array messages = std::exchange(conversation.messages, json::array());
  const std::size_t system = count_system_messages(messages);
  const std::vector<std::size_t> places = beginnings(messages, system);
  BeginningSearch search(bytes_behind(messages, places), most);
  while (const auto place = search.next()) {
    Conversation rest = conversation;
    const auto add = [&](std::size_t first, std::size_t end) {
      rest.messages.insert(rest.messages.end(), messages.data() + first, messages.data() + end);
    };
    rest.messages.reserve(system + messages.size() - places[*place]);
    add(0, system);
    add(places[*place], messages.size());
    auto tokens = encode(std::move(rest));
    if (is_too_long(tokens)) {
      search.was_too_long();
      continue;
    }
    search.has_fitted(tokens ? tokens->size() : 0);
    best = std::move(tokens);
  }
  return best;
}

Result<std::vector<TokenId>> shortened_tokens(const ChatEncoder& chat, Conversation conversation,
                                              std::chrono::local_seconds now, std::size_t most) {
  return shortened_tokens(
      [&](Conversation whole) { return chat.encode(std::move(whole), now, most); },
      std::move(conversation), most);
}

std::size_t shortened_prompt(const Request& request, const ServedModel& model) {
  const std::int64_t output =
      request.max_tokens > 0 ? request.max_tokens : std::max<std::int64_t>(model.context / 8, 1);
  return static_cast<std::size_t>(std::max<std::int64_t>(model.context - output, 0));
}

}  // namespace weft
