#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/cli/chat/chat_backend.h"

namespace weft::cli {

/// Passes a connection's events to a listener as calls about answers, and sees to it that every
/// answer ends once. Owner only.
class AnswerRouter {
 public:
  explicit AnswerRouter(AnswerListener& listener) : listener_(listener) {}

  /// Expects the answer `id`, whose request has a message of `bytes`.
  void begin(const std::string& id, std::size_t bytes) { active_.emplace(id, bytes); }
  /// Passes on an event of the transport. An event without a stream belongs to the only answer
  /// under way; an event that belongs to no answer is dropped.
  void on_message(std::string_view message);
  /// Ends the answer whose message is the largest, and returns that message's bytes; 0 where no
  /// answer is under way.
  std::size_t end_largest(const AnswerEnd& end);
  /// Ends all answers under way.
  void end_all(const AnswerEnd& end);

  [[nodiscard]] bool active(const std::string& id) const { return active_.contains(id); }

 private:
  AnswerListener& listener_;
  std::unordered_map<std::string, std::size_t> active_;
};

}  // namespace weft::cli
