#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "weft/cli/chat_backend.h"

namespace weft::cli {

/// Tells a listener what the events of a connection say, and sees to it that every answer ends
/// once. Owner only.
class AnswerRouter {
 public:
  explicit AnswerRouter(AnswerListener& listener) : listener_(listener) {}

  void begin(const std::string& id) { active_.insert(id); }
  /// An event of the transport. Without a lane it is that of the only answer under way; what
  /// belongs to nobody is dropped.
  void on_message(std::string_view message);
  /// All that have not ended do so now.
  void end_all(const AnswerEnd& end);

  [[nodiscard]] bool active(const std::string& id) const { return active_.contains(id); }

 private:
  AnswerListener& listener_;
  std::unordered_set<std::string> active_;
};

}  // namespace weft::cli
