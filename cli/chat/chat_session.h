#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/chat/answer_inbox.h"
#include "weft/cli/chat/chat_backend.h"
#include "weft/cli/chat/chat_batches.h"
#include "weft/cli/chat/chat_commands.h"
#include "weft/cli/chat/terminal.h"
#include "weft/cli/chat/thoughts.h"
#include "weft/cli/chat/tools/tool_caller.h"

namespace weft::cli {

/// A conversation between a person and a model: one question at a time, its answer streamed, while
/// batches run behind it in the class of batches. Batch results are shown in batch mode and kept
/// until then. A model that calls tools is asked again with their results, at most kMaxCallRounds
/// times for a question. Owner only.
///
/// Source: the FineInfer report, section 3.1.
class ChatSession {
 public:
  /// The most rounds of calls for one question. A model that still calls after these goes in
  /// circles.
  static constexpr int kMaxCallRounds = 16;

  ChatSession(Terminal& terminal, AnswerInbox& inbox, ChatBackend& backend,
              std::vector<ChatTool> tools)
      : terminal_(terminal), inbox_(inbox), backend_(backend), tools_(terminal, std::move(tools)) {}

  /// Runs until the user leaves. At the end of a pipe batches are completed first, and shown.
  /// Returns the exit status, which tells a script of a failure or of Ctrl-C; the status for a
  /// person, who has seen these, is 0.
  [[nodiscard]] int run();

 private:
  void talk();
  void execute(const std::string& line);
  /// Reports that a command failed, and notes it for the exit status.
  void complain(std::string_view what);
  /// Handles Ctrl-C where lines come from a pipe: it ends the session, since nobody could type the
  /// next line.
  void break_off();
  void on(std::monostate /*empty*/) {}
  void on(const chat::Ask& command);
  void on(chat::Submit command);
  void on(const chat::SubmitFile& command);
  void on(const chat::Enter& command);
  void on(const chat::Status& command);
  void on(const chat::Cancel& command);
  void on(const chat::Thoughts& command);
  void on(const chat::Save& command);
  void on(const chat::System& command);
  void on(const chat::Set& command);
  void on(const chat::Forget& command);
  void on(const chat::Help& command);
  void on(const chat::Quit& command);

  /// Takes news, keeps the batches going, and in batch mode shows finished batches. Returns the
  /// time of the next call, should no news come before.
  std::optional<Terminal::Time> look();
  void take_answer(AnswerNews news);
  /// Asks the model to continue the conversation, and returns when the answer has ended.
  void ask();
  /// Adds the answer's calls to the conversation, and their results once they are carried out.
  /// Returns whether the model is to be asked again.
  [[nodiscard]] bool carry_out_calls();
  void show_finished();
  void wait_for_batches();
  /// Sets a field if the backend accepts a trial request with it and the other settings. If the
  /// backend cannot be asked, it reports that at the next question.
  void try_setting(const std::string& name, boost::json::value value);
  /// Streams the answer `id` until answer_end_ is set.
  void stream_answer(const std::string& id);
  void conclude();
  [[nodiscard]] boost::json::object request(boost::json::value input, bool batch) const;

  Terminal& terminal_;
  AnswerInbox& inbox_;
  ChatBackend& backend_;
  ToolCaller tools_;
  ChatMode mode_ = ChatMode::kChat;
  bool leaving_ = false;
  int status_ = 0;
  bool hinted_ = false;  // whether the last input was Ctrl-C at an empty prompt
  std::string system_;
  boost::json::object settings_;
  boost::json::array messages_;
  ChatBatches batches_;
  std::int64_t questions_ = 0;
  std::string answer_id_;  // the question under way
  std::string answer_;
  Thoughts thoughts_;
  std::vector<AnswerCall> calls_;
  std::optional<AnswerEnd> answer_end_;
  std::string saved_;  // the file that /save wrote last
};

}  // namespace weft::cli
