#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// Returns the id of a call that a model makes: nine letters and digits, the one form that every
/// family's template accepts (Mistral's refuse others). It is computed from the answer's id, the
/// choice and the call's number, so that a stream and its stored response have the same ids.
[[nodiscard]] std::string call_id(std::string_view answer, std::size_t choice, std::size_t call);

/// Returns `own`, the model's own id of the call, which its template accepts. Where `own` is empty,
/// returns the id above.
[[nodiscard]] std::string call_id(std::string_view own, std::string_view answer, std::size_t choice,
                                  std::size_t call);

}  // namespace weft
