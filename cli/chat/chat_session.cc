#include "weft/cli/chat/chat_session.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>
#include <variant>

#include "weft/cli/chat/help_text.h"
#include "weft/cli/fail.h"
#include "weft/core/io/file.h"
#include "weft/net/api/fields/json_text.h"

namespace weft::cli {
namespace {

namespace json = boost::json;
using std::chrono::steady_clock;

constexpr std::size_t kLargestPromptFile = std::size_t{64} << 20;

json::object message_of(std::string_view role, std::string_view text) {
  return {{"role", role}, {"content", text}};
}

json::object reasoning_of(std::string_view text) {
  json::object part{{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "reasoning"}, {"content", json::array{std::move(part)}}};
}

bool is_question(const json::value& message) {
  const json::value* role = message.as_object().if_contains("role");
  return role != nullptr && *role == "user";
}

bool has_failed(const ChatBatches::Item& item) {
  return item.end && (item.end->kind == AnswerEnd::Kind::kRefused ||
                      item.end->kind == AnswerEnd::Kind::kFailed);
}

/// Returns 0, or the system's error: EEXIST when the file exists and may not be replaced.
int write_file(const std::string& path, const std::string& text, bool replace) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(
      std::fopen(path.c_str(), replace ? "wbe" : "wbxe"), std::fclose);
  if (file == nullptr) return errno;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  return written && std::fflush(file.get()) == 0 ? 0 : errno;
}

}  // namespace

int ChatSession::run() {
  terminal_.note(backend_.description() + (terminal_.interactive() ? "; /help says more" : ""));
  talk();
  if (!terminal_.interactive() && !leaving_) wait_for_batches();
  return terminal_.interactive() ? 0 : status_;
}

void ChatSession::talk() {
  while (!leaving_) {
    const auto input =
        terminal_.read(mode_ == ChatMode::kChat ? "> " : "batch> ", [this] { return look(); });
    if (input.what == Terminal::What::kEnd) return;
    if (input.what == Terminal::What::kLine) {
      hinted_ = false;
      execute(input.line);
    } else if (!terminal_.interactive()) {
      break_off();
    } else if (!input.line.empty()) {
      hinted_ = false;  // Ctrl-C only deleted the typed text
    } else if (std::exchange(hinted_, true)) {
      leaving_ = true;
    } else {
      terminal_.note("Ctrl-C once more, Ctrl-D or /quit leaves");
    }
  }
}

void ChatSession::complain(std::string_view what) {
  terminal_.note(what);
  if (status_ == 0) status_ = kExitFailed;
}

void ChatSession::break_off() {
  leaving_ = true;
  status_ = status_after(SIGINT);
}

void ChatSession::execute(const std::string& line) {
  auto command = parse_command(line, mode_);
  if (!command) return complain(explain(line, command.error()));
  std::visit([this](auto&& one) { on(std::forward<decltype(one)>(one)); }, *std::move(command));
}

json::object ChatSession::request(json::value input, bool batch) const {
  json::object fields = settings_;
  if (!system_.empty()) fields["instructions"] = system_;
  fields["input"] = std::move(input);
  fields["service_tier"] = batch ? "flex" : "default";
  if (!batch && !tools_.empty()) fields["tools"] = tools_.definitions();
  return fields;
}

void ChatSession::on(const chat::Ask& command) {
  messages_.push_back(message_of("user", command.text));
  thoughts_.clear();
  ask();
  for (int round = 0; answer_end_->kind == AnswerEnd::Kind::kCompleted && !calls_.empty();
       ++round) {
    if (!carry_out_calls()) return terminal_.note("(stopped)");
    if (round == kMaxCallRounds) {
      return complain("(stopped: the model goes on calling after " + std::to_string(round) +
                      " rounds)");
    }
    ask();
  }
  conclude();
}

void ChatSession::ask() {
  answer_.clear();
  calls_.clear();
  thoughts_.begin_answer();
  answer_end_.reset();
  answer_id_ = "c" + std::to_string(++questions_);
  backend_.start(answer_id_, request(messages_, false));
  stream_answer(answer_id_);
  answer_id_.clear();
  if (!answer_.empty() && !answer_.ends_with('\n')) terminal_.print("\n");
}

bool ChatSession::carry_out_calls() {
  if (!thoughts_.last().empty()) messages_.push_back(reasoning_of(thoughts_.last()));
  if (!answer_.empty()) messages_.push_back(message_of("assistant", answer_));
  for (const AnswerCall& call : calls_) {
    messages_.push_back({{"type", "function_call"},
                         {"call_id", call.id},
                         {"name", call.name},
                         {"arguments", call.arguments}});
  }
  bool interrupted = false;
  for (const AnswerCall& call : calls_) {
    ToolCaller::Outcome outcome{.output = "error: the user stopped"};
    if (!interrupted) outcome = tools_.call(call, [this] { return look(); });
    interrupted = interrupted || outcome.interrupted;
    messages_.push_back(
        {{"type", "function_call_output"}, {"call_id", call.id}, {"output", outcome.output}});
  }
  if (interrupted && !terminal_.interactive()) break_off();
  return !interrupted;
}

void ChatSession::stream_answer(const std::string& id) {
  bool cancelled = false;
  std::optional<Terminal::Time> due = look();
  while (!answer_end_) {
    if (terminal_.wait(due) == Terminal::Event::kInterrupt) {
      // After a second Ctrl-C a server that does not react to the first is not waited for.
      if (cancelled) answer_end_ = AnswerEnd{.kind = AnswerEnd::Kind::kCancelled};
      if (!std::exchange(cancelled, true)) backend_.cancel(id);
      if (!terminal_.interactive()) break_off();
    }
    due = look();
  }
}

void ChatSession::conclude() {
  using enum AnswerEnd::Kind;
  if (!answer_.empty() || answer_end_->kind == kCompleted) {
    messages_.push_back(message_of("assistant", answer_));
  } else if (is_question(messages_.back())) {
    messages_.pop_back();  // the question counts as not asked
  }
  switch (answer_end_->kind) {
    case kCompleted:
      break;
    case kLength:
      return terminal_.note(settings_.contains("max_output_tokens")
                                ? "(cut: as long as it may be)"
                                : "(cut: the context is full; /new begins a new conversation)");
    case kCancelled:
      return terminal_.note("(stopped)");
    case kRefused:
    case kFailed:
      return complain("error: " + answer_end_->why +
                      (answer_end_->context_full ? " /new begins a new conversation." : ""));
  }
}

std::optional<Terminal::Time> ChatSession::look() {
  const auto now = steady_clock::now();
  for (AnswerNews& news : inbox_.take()) {
    if (news.id == answer_id_) {
      take_answer(std::move(news));
    } else {
      batches_.on_news(std::move(news), now);  // drops news of a question that was given up
    }
  }
  while (const auto next = batches_.next(now)) {
    json::object fields = request(next->prompt->input, true);
    if (next->prompt->max_tokens > 0) fields["max_output_tokens"] = next->prompt->max_tokens;
    backend_.start(next->id, std::move(fields));
  }
  if (mode_ == ChatMode::kBatch) show_finished();
  return batches_.due();
}

void ChatSession::take_answer(AnswerNews news) {
  const auto now = steady_clock::now();
  if (!news.thoughts.empty()) {
    thoughts_.add(news.thoughts, now);
    terminal_.status("thinking: " + thoughts_.size(now));
  }
  const bool over = !news.text.empty() || !news.calls.empty() || news.end;
  if (over && thoughts_.under_way()) {
    terminal_.aside("thought: " + thoughts_.size(now) +
                    (terminal_.interactive() ? "; /thoughts shows them" : ""));
    thoughts_.end();
  }
  answer_ += news.text;
  std::ranges::move(news.calls, std::back_inserter(calls_));
  if (!news.text.empty()) terminal_.print(news.text);
  if (news.end && !answer_end_) answer_end_ = std::move(news.end);
}

void ChatSession::show_finished() {
  while (const auto batch = batches_.take_finished()) {
    terminal_.print(shown(*batch));
    if (std::ranges::any_of(batch->items, has_failed) && status_ == 0) status_ = kExitFailed;
  }
}

void ChatSession::wait_for_batches() {
  auto due = look();
  while (!batches_.idle()) {
    if (terminal_.wait(due) == Terminal::Event::kInterrupt) return break_off();
    due = look();
  }
  show_finished();
}

void ChatSession::on(chat::Submit command) {
  const std::size_t count = command.prompts.size();
  const auto number = batches_.add(std::move(command.prompts));
  if (!number) return complain("there are too many batches; /batch shows the finished ones");
  terminal_.print("batch " + std::to_string(*number) + ": " + std::to_string(count) +
                  (count == 1 ? " prompt\n" : " prompts\n"));
}

void ChatSession::on(const chat::SubmitFile& command) {
  const auto text = read_text_file(command.path, kLargestPromptFile);
  if (!text) return complain(to_string(text.error()));
  auto prompts = parse_prompt_file(*text);
  if (!prompts) return complain(command.path + ": " + prompts.error().what);
  on(chat::Submit{*std::move(prompts)});
}

void ChatSession::on(const chat::Enter& command) { mode_ = command.mode; }

void ChatSession::on(const chat::Status& /*command*/) {
  std::string text = backend_.description() + "\n";
  text += std::to_string(messages_.size()) + " messages in the conversation\n";
  if (!system_.empty()) text += "system: " + system_ + "\n";
  if (!tools_.empty()) text += "tools: " + tools_.names() + "\n";
  for (const auto& setting : settings_) {
    text += std::string(setting.key()) + " = " + json_text(setting.value()) + "\n";
  }
  for (const ChatBatches::Batch& batch : batches_.all()) {
    text += "batch " + std::to_string(batch.number) + ": " + std::to_string(batch.ended()) +
            " of " + std::to_string(batch.items.size()) +
            (batch.finished() ? ", /batch shows them" : "") +
            (batch.waits_for.empty() ? "" : ", asked again: " + batch.waits_for) + "\n";
  }
  terminal_.print(text);
}

void ChatSession::on(const chat::Cancel& command) {
  const auto running = batches_.cancel(command.batch);
  if (!running) {
    return complain("no batch " + std::to_string(command.batch) + " is under way");
  }
  for (const std::string& id : *running) backend_.cancel(id);
}

void ChatSession::on(const chat::Thoughts& /*command*/) {
  if (thoughts_.text().empty()) return terminal_.note("there are none");
  terminal_.print(thoughts_.text() + (thoughts_.text().ends_with('\n') ? "" : "\n"));
}

void ChatSession::on(const chat::Save& command) {
  const json::object content{{"model", backend_.description()},
                             {"system", system_},
                             {"settings", settings_},
                             {"messages", messages_}};
  std::error_code ignored;
  // A file of the user's own is never overwritten, only a file that /save has written before.
  const bool again = command.path == saved_;
  if (const int error = write_file(command.path, json_text(content) + '\n', again); error != 0) {
    return complain(error == EEXIST ? command.path + " is there already"
                                    : "cannot write " + command.path + ": " +
                                          std::generic_category().message(error));
  }
  saved_ = command.path;
  const auto whole = std::filesystem::absolute(command.path, ignored).string();
  terminal_.note("saved " + std::to_string(messages_.size()) + " messages to " +
                 (whole.empty() ? command.path : whole));
}

void ChatSession::on(const chat::System& command) { system_ = command.text; }

void ChatSession::on(const chat::Set& command) {
  if (command.name.empty()) return on(chat::Status{});
  if (command.value) {
    try_setting(command.name, *command.value);
  } else if (const auto* set = settings_.if_contains(command.name)) {
    terminal_.note(command.name + " is no longer set; it was " + json_text(*set));
    settings_.erase(command.name);
  } else {
    terminal_.note(command.name + " is not set");
  }
}

void ChatSession::try_setting(const std::string& name, json::value value) {
  using enum AnswerEnd::Kind;
  const json::object before = settings_;
  settings_[name] = std::move(value);
  answer_end_.reset();
  answer_id_ = "s" + std::to_string(++questions_);
  json::object trial = request("x", false);
  trial["generate"] = false;  // the setting is checked, but nothing is computed
  backend_.start(answer_id_, std::move(trial));
  stream_answer(answer_id_);
  answer_id_.clear();
  // A server that does not know `generate` may accept it unread, and then computes an answer.
  const bool refused =
      answer_end_->kind == kRefused && !answer_end_->again && answer_end_->param != "generate";
  if (!refused && answer_end_->kind != kCancelled) return;
  settings_ = before;
  const std::string so = name + (before.contains(name) ? " is as it was" : " is not set");
  if (refused) return complain("error: " + answer_end_->why + "; " + so);
  terminal_.note("(stopped) " + so);
}

void ChatSession::on(const chat::Forget& /*command*/) { messages_.clear(); }

void ChatSession::on(const chat::Help& /*command*/) {
  terminal_.print(help_text(Terminal::columns()));
}

void ChatSession::on(const chat::Quit& /*command*/) { leaving_ = true; }

}  // namespace weft::cli
