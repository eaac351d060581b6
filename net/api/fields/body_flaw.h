#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

/// Why a document is not read, although it is JSON.
struct BodyFlaw {
  enum class Kind : std::uint8_t {
    kDuplicate,       ///< a field stands twice in its object
    kTooManyFields,   ///< an object has more than defaults::kMaxObjectFields
    kTooManyEntries,  ///< a list has more than defaults::kMaxListEntries
  };
  Kind kind;
  std::string path;  ///< of the field, object or list ("messages[2].role"); empty: the document
};

/// Finds the first flaw at any depth; the inside of an object or list that is too large is not
/// searched. JSON readers differ in which of two fields of one name counts, so a proxy that
/// inspects bodies could see another value than this server. Recurses as deep as the document,
/// which its parser bounds; time grows with n log n.
[[nodiscard]] std::optional<BodyFlaw> find_flaw(simdjson::dom::element document);

}  // namespace weft
