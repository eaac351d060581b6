#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Documents to rank.
struct Documents {
  std::vector<std::string> texts{};
  std::vector<std::string> json{};  ///< each document's object, which the answer repeats; may be
                                    ///< empty
};

/// Takes `documents`, which are texts or objects, and `rank_fields`, the fields that make an
/// object's text: one field gives its value, several give lines "name: value". The default is the
/// field "text". The list has at most `most` documents, none of them empty. `repeated` says that
/// the answer repeats them. Mistakes stay in `fields`.
[[nodiscard]] Documents take_documents(const BodyFields& fields, std::size_t most, bool repeated);

}  // namespace weft
