#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/core/io/file_descriptor.h"

namespace weft {

/// Makes the folder if need be, for its owner alone, and locks it for this process as long as the
/// descriptor is open. The system frees the lock however the process ends. kBadFolder: another
/// process has it; FileErrc::kCannotWrite.
[[nodiscard]] Result<FileDescriptor> lock_folder(const std::filesystem::path& folder);

}  // namespace weft
