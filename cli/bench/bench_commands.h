#pragma once

namespace CLI {
class App;
}

/// The subcommands of `weft bench`. Each function adds one to `bench`, which add_bench_command()
/// made.
namespace weft::cli {

/// `weft bench serve URL`: loads any OpenAI-compatible server.
void add_bench_serve(CLI::App& bench);

/// `weft bench engine`: the engine in this process, under each batch policy.
void add_bench_engine(CLI::App& bench);

/// `weft bench step`: one model's steps beside the device's limit.
void add_bench_step(CLI::App& bench);

/// `weft bench recipe NAME`: the papers' experiments.
void add_bench_recipe(CLI::App& bench);

}  // namespace weft::cli
