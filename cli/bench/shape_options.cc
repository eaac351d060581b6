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

void expect_no_shape_options(std::string_view verb, const ShapeOptions& options) {
  if (options.layers > 0) fail(verb, "--layers: only with --shape");
}

NamedShape shape_of(std::string_view verb, const ShapeOptions& options, const std::string& wanted) {
  auto shape = find_llama_shape(options.name);
  if (!shape) {
    fail(verb, "--shape " + options.name + ": there is no such; there are " + llama_shape_names());
  }
  if (options.layers > shape->layers) {
    fail(verb, "--layers " + std::to_string(options.layers) + ": " + options.name + " has " +
                   std::to_string(shape->layers));
  }
  const std::string held_as = wanted.empty() ? "bf16" : wanted;
  const auto weights = dtype_named(held_as);
  const bool known = weights && (*weights == DType::kBF16 || is_encoded(*weights));
  if (!known) {
    fail(verb, "--weights " + held_as + ": neither bf16 nor an encoding, such as q4_k");
  }
  const std::int64_t block = block_of(*weights).elements;
  if (shape->hidden % block != 0 || shape->ffn % block != 0) {
    fail(verb, "--weights " + held_as + ": its blocks of " + std::to_string(block) +
                   " do not divide the rows of " + options.name);
  }
  shape->weights = *weights;
  std::string name = options.name + ", random weights in " + held_as;
  if (options.layers > 0 && options.layers < shape->layers) {
    name += ", cut to " + std::to_string(options.layers) + " of its " +
            std::to_string(shape->layers) + " layers";
    shape->layers = options.layers;
  }
  return {std::move(name), *shape};
}

}  // namespace weft::cli
