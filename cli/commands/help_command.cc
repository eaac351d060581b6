#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <string_view>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/usage_error.h"

namespace weft::cli {

void add_help_command(CLI::App& app) {
  app.add_subcommand("help", "Show what a verb takes, as its --help does: weft help serve");
}

void show_help(const CLI::App& app, std::span<char* const> verbs) {
  const CLI::App* found = &app;
  for (const std::string_view name : verbs) {
    const CLI::App* const next = found->get_subcommand_no_throw(std::string(name));
    if (next == nullptr) {
      const std::string meant = nearest_verb(*found, name);
      fail("help", "there is no verb " + std::string(name) +
                       (meant.empty() ? std::string() : ": did you mean " + meant + "?"));
    }
    found = next;
  }
  std::cout << found->help();
}

}  // namespace weft::cli
