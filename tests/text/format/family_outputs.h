#pragma once

#include <string>
#include <vector>

namespace weft::test {

/// An output of a family's model with thoughts, text and calls, in the form in which its chat
/// template prints past calls and thoughts.
struct FamilyOutput {
  std::string family{};     ///< the family's name in docs/tools.md
  std::string evidence{};   ///< texts of its template that identify its format
  std::string published{};  ///< a template of this family in shared/data/templates; empty: none
  bool in_thought = false;  ///< its prompt has opened the thoughts
  std::string output{};
  std::vector<std::string> pieces{};  ///< in the form of pieces_of()
};

/// The outputs of all families. Their tools: get_weather(city: string, days: integer), now(), and
/// run(code: string, args: array).
[[nodiscard]] const std::vector<FamilyOutput>& family_outputs();

}  // namespace weft::test
