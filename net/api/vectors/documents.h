#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Documents to rank.
struct Documents {
  std::vector<std::string> texts{};
  std::vector<std::string> json{};  ///< each text's object, which the answer repeats; may be empty
};

/// Takes `documents`, which are texts or objects, and `rank_fields`, the fields of an object that
/// make its text: one by its value, several as lines "name: value". By default an object's text is
/// "text". The list has at most `most` documents; none is empty. `repeated`: the answer repeats
/// them. Mistakes stay in `fields`.
[[nodiscard]] Documents take_documents(const BodyFields& fields, std::size_t most, bool repeated);

}  // namespace weft
