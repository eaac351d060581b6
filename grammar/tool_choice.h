#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Whether a model calls the offered functions, and which of them. Plain data; a choice that cannot
/// be enforced is refused when the request is prepared, before its first token.
struct ToolChoice {
  enum class Mode : std::uint8_t {
    kAuto,      ///< the model chooses
    kRequired,  ///< each output is one call or more, after optional thoughts; arguments follow the
                ///< functions' schemas
  };

  Mode mode = Mode::kAuto;
  std::vector<std::string> only{};  ///< the functions that may be called; empty: all
  /// Functions whose arguments always follow their schema, even where the model may choose to call
  /// none. A part of their schemas that a grammar cannot enforce is refused. In other functions'
  /// schemas such a part is ignored and reported (GenerationResult::not_enforced).
  std::vector<std::string> strict{};
  /// The name of a tool's schema in errors, after "tools[0].".
  std::string schema_name = "function.parameters";
  /// The names of tools in errors, for tools that are not at their own index: "tools[4].tools[0]".
  std::vector<std::string> places{};

  /// Returns the name of a tool's schema in errors.
  [[nodiscard]] std::string schema_place(std::size_t tool) const {
    const bool placed = tool < places.size();
    return (placed ? places[tool] : "tools[" + std::to_string(tool) + "]") + '.' + schema_name;
  }

  /// Whether outputs must be constrained at all.
  [[nodiscard]] bool constrains() const noexcept {
    return mode == Mode::kRequired || !only.empty() || !strict.empty();
  }
};

}  // namespace weft
