#pragma once

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// Reads a state dict as torch.save writes it: a zip archive with NAME/data.pkl and NAME/data/KEY
/// (PyTorch 1.6 and later), or the older sequence of pickles followed by the storages. Nothing in
/// the file is run, see model/checkpoint/pickle/pickle.h.
///
/// The state dict is the file's value, or what that value has under "state_dict" or "model"; what
/// it holds beside tensors (versions, step counts) is left out. Pickles and directory are read, and
/// tensors that are not row-major (a saved transpose), which are put in order in memory, altogether
/// at most twice the file's size.
///
/// kForbiddenPickle for anything outside the allow-list; kUnsupportedFormat for big-endian files,
/// TorchScript, tensors with a stride of 0 (expand()); and kBadCheckpoint for everything else that
/// does not fit. Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_pickle_checkpoint(const SharedSource& source);

}  // namespace weft
