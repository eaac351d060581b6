#pragma once

#include <memory>
#include <utility>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/io/file_descriptor.h"
#include "weft/jobs/files/file_store.h"

namespace weft {

/// Fine-tuning for the clients of a server: their files, in a folder that one process has at a
/// time. Thread-safe; all functions may wait for the disk.
class FineTuning {
 public:
  /// Opens Config::training_folder, and makes it if need be. kBadFolder: another process has it, or
  /// it is of another version; FileErrc.
  [[nodiscard]] static Result<std::unique_ptr<FineTuning>> open(const Config& config);
  FineTuning(const FineTuning&) = delete;
  FineTuning& operator=(const FineTuning&) = delete;
  ~FineTuning() = default;

  [[nodiscard]] FileStore& files() noexcept { return files_; }

 private:
  FineTuning(FileDescriptor lock, FileStore files)
      : lock_(std::move(lock)), files_(std::move(files)) {}

  FileDescriptor lock_;
  FileStore files_;
};

}  // namespace weft
