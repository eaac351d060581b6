#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "weft/cli/commands.h"
#include "weft/cli/config_options.h"
#include "weft/cli/fail.h"
#include "weft/config/config_print.h"

namespace weft::cli {
namespace {

constexpr const char* kCheck = "config check";
constexpr const char* kPrint = "config print";

void check_file(const std::string& file) {
  value_or_fail(kCheck, Config::load(file));
  std::cout << file << ": ok\n";
}

void print(const ConfigOptions& options, PrintedKeys keys) {
  const ConfigDraft draft = value_or_fail(kPrint, options.draft());
  value_or_fail(kPrint, draft.finish());
  std::cout << print_config(draft, keys);
}

void add_check_command(CLI::App& config) {
  auto* command = config.add_subcommand("check", "Say whether a configuration file is right");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "A TOML file")->required();
  command->callback([file] { check_file(*file); });
}

void add_print_command(CLI::App& config) {
  auto* command = config.add_subcommand(
      "print", "Print the configuration of weft serve: every key, its value, and why");
  auto options = std::make_shared<ConfigOptions>(*command, config_schema());
  auto changed = std::make_shared<bool>(false);
  command->add_flag("--changed", *changed, "Only keys that do not have their default");
  command->callback([options, changed] {
    print(*options, *changed ? PrintedKeys::kChanged : PrintedKeys::kAll);
  });
}

}  // namespace

void add_config_command(CLI::App& app) {
  auto* command = app.add_subcommand("config", "Check and print configurations");
  command->require_subcommand(1);
  add_check_command(*command);
  add_print_command(*command);
}

}  // namespace weft::cli
