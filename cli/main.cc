#include <CLI/CLI.hpp>

#include "weft/cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app("weft serves autoregressive language models: one fused step a tick over all requests.",
               "weft");
  app.set_version_flag("--version", WEFT_VERSION);
  app.require_subcommand(1);
  weft::cli::add_devices_command(app);
  weft::cli::add_version_command(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
