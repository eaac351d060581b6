#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/usage_error.h"

namespace weft::cli {
namespace {

void show_help(const CLI::App& app, const std::vector<std::string>& verbs) {
  const CLI::App* found = &app;
  for (const std::string& name : verbs) {
    const CLI::App* const next = found->get_subcommand_no_throw(name);
    if (next == nullptr) {
      const std::string meant = nearest_verb(*found, name);
      fail("help", "there is no verb " + name +
                       (meant.empty() ? std::string() : ": did you mean " + meant + "?"));
    }
    found = next;
  }
  std::cout << found->help();
}

}  // namespace

void add_help_command(CLI::App& app) {
  auto* command = app.add_subcommand("help", "Show what a verb takes, as its --help does");
  auto verbs = std::make_shared<std::vector<std::string>>();
  command->add_option("VERB", *verbs, "The verb, and a verb of it: bench serve");
  command->callback([&app, verbs] { show_help(app, *verbs); });
}

}  // namespace weft::cli
