#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/cli/chat/chat_backend.h"

namespace weft::cli {

/// The news of an answer since the last call of take().
struct AnswerNews {
  std::string id{};
  std::string thoughts{};
  std::string text{};
  std::vector<AnswerCall> calls{};
  std::optional<AnswerEnd> end{};
};

/// Brings answers from the backend's thread to the reader's thread. It holds one entry for each
/// answer under way, so the number of questions bounds it. Thread-safe.
class AnswerInbox final : public AnswerListener {
 public:
  /// `wake` is called when news come after there were none.
  explicit AnswerInbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void on_text(const std::string& id, std::string_view text) override;
  void on_thought(const std::string& id, std::string_view text) override;
  void on_call(const std::string& id, AnswerCall call) override;
  void on_end(const std::string& id, AnswerEnd end) override;

  /// Returns the news. Answers are in the order in which their first news came.
  [[nodiscard]] std::vector<AnswerNews> take();

 private:
  /// Calls `change` with the news of the answer `id`.
  void add(const std::string& id, const std::function<void(AnswerNews&)>& change);

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<AnswerNews> news_;
};

}  // namespace weft::cli
