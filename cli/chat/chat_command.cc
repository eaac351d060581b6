#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/backend_options.h"
#include "weft/cli/chat/answer_inbox.h"
#include "weft/cli/chat/chat_commands.h"
#include "weft/cli/chat/chat_session.h"
#include "weft/cli/chat/local_chat.h"
#include "weft/cli/chat/remote_chat.h"
#include "weft/cli/chat/terminal.h"
#include "weft/cli/chat/tools/tool_file.h"
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
  return std::make_unique<LocalChat>(std::move(local), options.model, inbox);
}

void run_chat(const BackendOptions& options, const std::string& tool_file) {
  std::vector<ChatTool> tools;
  if (!tool_file.empty()) tools = value_or_fail(kChatVerb, read_tool_file(tool_file));
  // Made last, so that Ctrl-C ends the program while a model or a server loads. Destroyed last,
  // since the backend's threads wake the terminal.
  std::unique_ptr<Terminal> terminal;
  AnswerInbox inbox([&terminal] { terminal->wake(); });
  const auto backend = make_chat_backend(options, inbox);
  terminal = std::make_unique<Terminal>(completions_of);
  const int status = ChatSession(*terminal, inbox, *backend, std::move(tools)).run();
  if (status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_chat_command(CLI::App& app) {
  auto* command = app.add_subcommand("chat", "Talk to a model, with batches behind");
  auto options = std::make_shared<BackendOptions>();
  add_backend_options(*command, *options);
  auto tools = std::make_shared<std::string>();
  command->add_option("--tools", *tools, "Functions that the model may call, and their commands")
      ->type_name("FILE");
  command->callback([options, tools] { run_chat(*options, *tools); });
}

}  // namespace weft::cli
