#pragma once

#include "weft/core/error/error.h"
#include "weft/model/spec/spec.h"

namespace weft {

class Checkpoint;

/// A spec that wraps a text model, joined with the built-in spec of the text model's family: the
/// family's keys, replaced by those of `spec` table by table, except for the lists of prefixes, of
/// ignored tensors and of requirements, which have the items of both. A spec without `wraps` is
/// returned as it is. kBadConfig where the type is no text, kUnknownModel where no spec claims it.
[[nodiscard]] Result<Spec> unwrap_spec(const Spec& spec, const Checkpoint& checkpoint);

}  // namespace weft
