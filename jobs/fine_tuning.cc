#include "weft/jobs/fine_tuning.h"

#include <cstddef>
#include <filesystem>
#include <utility>

#include "weft/jobs/folder_lock.h"

namespace weft {

Result<std::unique_ptr<FineTuning>> FineTuning::open(const Config& config) {
  const std::filesystem::path folder = config.training_folder;
  auto lock = lock_folder(folder);
  if (!lock) return lock.error();
  auto files = FileStore::open(folder / "files",
                               {.file_bytes = config.training_max_file_bytes,
                                .all_bytes = config.training_max_files_bytes,
                                .files = static_cast<std::size_t>(config.training_max_files)});
  if (!files) return files.error();
  return std::unique_ptr<FineTuning>(new FineTuning(*std::move(lock), *std::move(files)));
}

}  // namespace weft
