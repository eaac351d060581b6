#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Documents that are to be ranked.
struct Documents {
  std::vector<std::string> texts{};
  std::vector<std::string> json{};  ///< of each what an answer repeats, an object; may be empty
};

/// Takes `documents`, which are texts or objects, and `rank_fields`, the fields of an object that
/// are its text: one by its value, several as lines "name: value". Without, an object's text is its
/// "text". None has more than `most`; none is empty. With `repeated` the answer repeats them.
/// Mistakes stay in `fields`.
[[nodiscard]] Documents take_documents(const BodyFields& fields, std::size_t most, bool repeated);

}  // namespace weft
