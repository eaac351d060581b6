#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// The id of a call that a model makes: nine letters and digits, which is the one form that every
/// family's template takes back (Mistral's refuse others). It is made of the answer's id, the
/// choice and the call's number in it, so that a stream and its stored response have the same ids.
[[nodiscard]] std::string call_id(std::string_view answer, std::size_t choice, std::size_t call);

/// Returns `own`, the model's id of the call, which its template takes back; or, where `own` is
/// empty, the id above.
[[nodiscard]] std::string call_id(std::string_view own, std::string_view answer, std::size_t choice,
                                  std::size_t call);

}  // namespace weft
