#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <string_view>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/usage_error.h"

namespace weft::cli {
namespace {

/// Returns null when there is no verb of this name.
const CLI::App* find_verb(const CLI::App& app, std::string_view name) {
  const auto found =
      app.get_subcommands([name](const CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

}  // namespace

void add_help_command(CLI::App& app) {
  app.add_subcommand("help", "Show the help of a verb, as its --help does: weft help serve");
}

void show_help(const CLI::App& app, std::span<char* const> verbs) {
  const CLI::App* found = &app;
  std::string before;  // the names before the verb in its usage line
  for (const std::string_view name : verbs) {
    const CLI::App* const next = find_verb(*found, name);
    if (next == nullptr) {
      const std::string meant = nearest_verb(*found, name);
      fail("help", "there is no verb " + std::string(name) +
                       (meant.empty() ? std::string() : ": did you mean " + meant + "?"));
    }
    before.append(before.empty() ? "" : " ").append(found->get_name());
    found = next;
  }
  std::cout << found->help(before);
}

}  // namespace weft::cli
