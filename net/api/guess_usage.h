#pragma once

#include <string>

#include "weft/actors/request/request.h"

namespace weft {

/// Appends ,"accepted_prediction_tokens":...,"rejected_prediction_tokens":... where tokens of the
/// outputs were guessed; otherwise nothing.
void append_guess_usage(const Usage& usage, std::string& out);

}  // namespace weft
