#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/model/random_llama.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// Random weights instead of a checkpoint, for verbs that measure.
struct ShapeOptions {
  std::string name;         ///< "" = no shape was asked for
  std::int64_t layers = 0;  ///< the number of layers to keep; 0 = all
};

/// Adds --shape and --layers. `options` must live as long as `command`.
void add_shape_options(CLI::App& command, ShapeOptions& options);

/// Leaves with fail() where options of shapes were given and no shape.
void expect_no_shape_options(std::string_view verb, const ShapeOptions& options);

struct NamedShape {
  std::string name;  ///< the name in reports, with a note where layers were cut
  LlamaShape shape;
};

/// Returns the shape; `wanted` is the value of --weights, the matrices' type by its name, or empty:
/// bf16. Leaves with fail() where there is no such shape or type, or the shape has fewer layers.
[[nodiscard]] NamedShape shape_of(std::string_view verb, const ShapeOptions& options,
                                  const std::string& wanted);

}  // namespace weft::cli
