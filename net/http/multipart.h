#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/fields/api_error.h"

namespace weft {

/// A part of a form (RFC 7578).
struct FormPart {
  std::string name{};
  std::string filename{};      ///< empty: the part is no file
  std::string_view content{};  ///< a part of the body
};

/// Whether a body of this content type is a form.
[[nodiscard]] bool is_form(std::string_view content_type);

/// The most parts of a form; OpenAI's have a handful.
inline constexpr std::size_t kMostFormParts = 32;

/// Returns the parts of a body of this content type. The result borrows the body. 400
/// "invalid_form": the type is not multipart/form-data with a boundary, the body does not end with
/// the last boundary, a part has no name, there are more than kMostFormParts.
[[nodiscard]] ApiResult<std::vector<FormPart>> form_parts(std::string_view content_type,
                                                          std::string_view body);

}  // namespace weft
