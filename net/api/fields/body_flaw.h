#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

/// The reason why a valid JSON document is refused.
struct BodyFlaw {
  enum class Kind : std::uint8_t {
    kDuplicate,       ///< a field stands twice in its object
    kTooManyFields,   ///< an object has more than defaults::kMaxObjectFields
    kTooManyEntries,  ///< a list has more than defaults::kMaxListEntries
  };
  Kind kind;
  std::string path;  ///< path of the field, object or list ("messages[2].role"); empty: the
                     ///< document
};

/// Finds the first flaw at any depth; an object or list that is too large is not searched inside.
/// Readers of JSON differ in which of two fields with one name counts, so a proxy that inspects
/// bodies could see another value than this server does. Recurses as deep as the document, which
/// its parser bounds; time grows with n log n.
[[nodiscard]] std::optional<BodyFlaw> find_flaw(simdjson::dom::element document);

}  // namespace weft
