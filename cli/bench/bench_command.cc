#include <CLI/CLI.hpp>

#include "weft/cli/bench/bench_commands.h"
#include "weft/cli/commands.h"

namespace weft::cli {

void add_bench_command(CLI::App& app) {
  auto* bench = app.add_subcommand("bench", "Measure a server, the engine or a model's steps");
  bench->require_subcommand(1);
  add_bench_engine(*bench);
  add_bench_recipe(*bench);
  add_bench_step(*bench);
  add_bench_serve(*bench);
}

}  // namespace weft::cli
