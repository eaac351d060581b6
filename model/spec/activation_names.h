#pragma once

#include "weft/kernels/activation.h"

namespace weft {

class SpecTableReader;

/// The table's `activation`, by the names that Hugging Face's configs use; what goes wrong the
/// reader's scope keeps.
[[nodiscard]] Activation activation_of(const SpecTableReader& reader);

}  // namespace weft
