#include "weft/cli/bench/shape_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "weft/cli/fail.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMostLayers = 10'000;

}  // namespace

void add_shape_options(CLI::App& command, ShapeOptions& options) {
  command.add_option(
      "--shape", options.name,
      "Instead of MODEL: random weights of this shape; one of " + llama_shape_names());
  command.add_option("--layers", options.layers, "Cut the shape to so many layers")
      ->check(CLI::Range(std::int64_t{1}, kMostLayers));
}

NamedShape shape_of(std::string_view verb, const ShapeOptions& options) {
  auto shape = find_llama_shape(options.name);
  if (!shape) {
    fail(verb, "--shape " + options.name + ": there is no such; there are " + llama_shape_names());
  }
  if (options.layers > shape->layers) {
    fail(verb, "--layers " + std::to_string(options.layers) + ": " + options.name + " has " +
                   std::to_string(shape->layers));
  }
  std::string name = options.name + ", random weights";
  if (options.layers > 0 && options.layers < shape->layers) {
    name += ", cut to " + std::to_string(options.layers) + " of its " +
            std::to_string(shape->layers) + " layers";
    shape->layers = options.layers;
  }
  return {std::move(name), *shape};
}

}  // namespace weft::cli
