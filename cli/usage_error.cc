#include "weft/cli/usage_error.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "weft/config/edit_distance.h"

namespace weft::cli {
namespace {

/// A name with more differences than this, and more than a third of its letters, is a different
/// name.
constexpr std::size_t kFewTypos = 2;

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max(kFewTypos, name.size() / 3) + 1;
  for (const std::string& one : known) {
    const std::size_t distance = edit_distance(name, one);
    // Any letter of a short name can be a typing error, so a match needs some letters in common.
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    best = one;
  }
  return best;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

/// Returns the name that an unknown argument was probably meant to be; empty where no name is like
/// it.
std::string meant_by(const CLI::App& app, std::string_view argument) {
  const std::size_t dashes = std::min(argument.find_first_not_of('-'), argument.size());
  if (dashes == 0) return nearest_verb(app, argument);
  const std::string_view name = argument.substr(dashes, argument.find('=') - dashes);
  const std::string best = nearest(name, option_names(app));
  return best.empty() ? best : "--" + best;
}

/// Returns the verb that was given, as far as arguments were understood.
const CLI::App* innermost(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return app;
}

/// Returns the arguments that CLI11 has left with the program or one of the given verbs.
std::vector<std::string> left_over(const CLI::App* app) {
  std::vector<std::string> all = app->remaining();
  for (const CLI::App* verb : app->get_subcommands()) {
    const std::vector<std::string> own = left_over(verb);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace

std::string nearest_verb(const CLI::App& app, std::string_view name) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  return nearest(name, verbs);
}

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const std::vector<std::string> arguments = left_over(app);
  if (arguments.empty()) return CLI::FailureMessage::simple(app, error);
  const CLI::App* const verb = innermost(app);
  std::string all;
  std::string hints;
  for (const std::string& argument : arguments) {
    all.append(all.empty() ? "" : " ").append(argument);
    const std::string meant = meant_by(*verb, argument);
    if (!meant.empty())
      hints.append(argument).append(": did you mean ").append(meant).append("?\n");
  }
  return "not expected: " + all + "\n" + hints + "Run with --help for more information.\n";
}

}  // namespace weft::cli
