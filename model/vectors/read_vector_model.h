#pragma once

#include <memory>

#include "weft/core/error/error.h"
#include "weft/model/vectors/vector_model.h"

namespace weft {

class Checkpoint;
struct Architecture;

/// Reads how a model gives vectors. A model with layers that score labels, by its config's
/// `architectures` (...ForSequenceClassification), gives scores. Every other model gives
/// embeddings: by modules.json of sentence-transformers if the file exists, otherwise by its spec.
/// Null for models with an encoder and a decoder, which give no vectors.
///
/// The files are not trusted. kBadConfig names file and field for an unknown module, a path that
/// leads out of the folder, or a pooling that joins several; kMissingTensor, kBadTensor for the
/// layers' tensors; errors of reading files. Allocations are bounded by the files' sizes.
[[nodiscard]] Result<std::shared_ptr<const VectorModel>> read_vector_model(
    const Architecture& architecture, const Checkpoint& checkpoint);

}  // namespace weft
