#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "weft/cli/backend_options.h"
#include "weft/cli/chat/answer_inbox.h"
#include "weft/cli/chat/chat_commands.h"
#include "weft/cli/chat/chat_session.h"
#include "weft/cli/chat/local_chat.h"
#include "weft/cli/chat/remote_chat.h"
#include "weft/cli/chat/terminal.h"
#include "weft/cli/commands.h"
#include "weft/cli/fail.h"

namespace weft::cli {
namespace {

constexpr const char* kChatVerb = "chat";

std::unique_ptr<ChatBackend> make_chat_backend(const BackendOptions& options, AnswerInbox& inbox) {
  if (options.remote()) {
    const ClientOptions client = value_or_fail(kChatVerb, client_options(options));
    return value_or_fail(
        kChatVerb, RemoteChat::connect(client, options.model, inbox, [](const std::string& why) {
          std::cerr << "waits: " + why + '\n';
        }));
  }
  auto local = value_or_fail(kChatVerb,
                             LocalService::load(value_or_fail(kChatVerb, engine_config(options))));
  return std::make_unique<LocalChat>(std::move(local), inbox);
}

void run_chat(const BackendOptions& options) {
  // Made last, so that Ctrl-C ends the program while a model or a server loads. Destroyed last,
  // since the backend's threads wake it.
  std::unique_ptr<Terminal> terminal;
  AnswerInbox inbox([&terminal] { terminal->wake(); });
  const auto backend = make_chat_backend(options, inbox);
  terminal = std::make_unique<Terminal>(completions_of);
  const int status = ChatSession(*terminal, inbox, *backend).run();
  if (status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_chat_command(CLI::App& app) {
  auto* command = app.add_subcommand("chat", "Talk to a model, with batches behind");
  auto options = std::make_shared<BackendOptions>();
  add_backend_options(*command, *options);
  command->callback([options] { run_chat(*options); });
}

}  // namespace weft::cli
