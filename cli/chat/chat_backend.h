#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::cli {

/// How an answer ended.
struct AnswerEnd {
  enum class Kind : std::uint8_t {
    kCompleted,
    kLength,     ///< it has as many tokens as it may
    kCancelled,  ///< the answer was cancelled by cancel()
    kRefused,    ///< the answer never began; `again` says whether another try may help
    kFailed,     ///< the answer began and then failed, or the connection was lost
  };
  Kind kind = Kind::kCompleted;
  std::string why{};           ///< the reason for people, set with kRefused and kFailed
  bool again = false;          ///< the same request may succeed later
  bool context_full = false;   ///< the conversation is longer than the model's context
  std::string param{};         ///< the field that is wrong, set with kRefused
  bool fewer_streams = false;  ///< more answers at once than the connection may have
  std::int64_t output_tokens = 0;
};

/// A function that the model calls, once the call is whole.
struct AnswerCall {
  std::string id{};  ///< its result is sent back under this id
  std::string name{};
  std::string arguments{};  ///< JSON, unless the model wrote something else
};

/// Receives the events of answers, on a thread of the backend. It must neither block nor call the
/// backend.
class AnswerListener {
 public:
  AnswerListener() = default;
  AnswerListener(const AnswerListener&) = delete;
  AnswerListener& operator=(const AnswerListener&) = delete;

  virtual void on_text(const std::string& id, std::string_view text) = 0;
  /// Called with the thoughts of the model before its answer.
  virtual void on_thought(const std::string& id, std::string_view text) = 0;
  virtual void on_call(const std::string& id, AnswerCall call) = 0;
  /// Called once for every start(), after all other calls about that answer.
  virtual void on_end(const std::string& id, AnswerEnd end) = 0;

 protected:
  ~AnswerListener() = default;
};

/// The source of answers: a server, or a model in this process. Both take the fields of a request
/// of the Responses API. Thread-safe; the listener outlives the backend.
class ChatBackend {
 public:
  ChatBackend() = default;
  ChatBackend(const ChatBackend&) = delete;
  ChatBackend& operator=(const ChatBackend&) = delete;
  virtual ~ChatBackend() = default;

  /// Returns the model's name, and where it runs.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Asks for an answer. `id` is chosen by the caller: 1 .. 64 letters, and different from the ids
  /// of answers under way.
  virtual void start(const std::string& id, boost::json::object request) = 0;
  /// Cancels an answer, which ends with kCancelled unless its end came first. Does nothing when
  /// there is no such answer.
  virtual void cancel(const std::string& id) = 0;
};

}  // namespace weft::cli
