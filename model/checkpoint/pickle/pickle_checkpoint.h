#pragma once

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// Reads a state dict of torch.save: a zip archive with NAME/data.pkl and NAME/data/KEY (PyTorch
/// 1.6 and later), or the older sequence of pickles followed by the storages. It executes nothing
/// in the file, see model/checkpoint/pickle/pickle.h.
///
/// The state dict is the file's value, or the value's entry "state_dict" or "model". Entries other
/// than tensors (versions, step counts) are left out. It reads pickles and directory. Tensors that
/// are not row-major (a saved transpose) are read too and rearranged in memory, altogether at most
/// twice the file's size.
///
/// kForbiddenPickle for anything outside the allow-list; kUnsupportedFormat for big-endian files,
/// TorchScript, and tensors with a stride of 0 (expand()); kBadCheckpoint for all other errors.
/// Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_pickle_checkpoint(const SharedSource& source);

}  // namespace weft
