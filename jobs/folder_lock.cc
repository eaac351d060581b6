#include "weft/jobs/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "weft/jobs/folder_entries.h"
#include "weft/jobs/jobs_error.h"

namespace weft {

Result<FileDescriptor> lock_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return cannot_write(folder, error);
  const std::filesystem::path path = folder / "lock";
  FileDescriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open()) return cannot_write(path, {errno, std::generic_category()});
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{JobsErrc::kBadFolder, folder.string() + ": another process has it"};
  return lock;
}

}  // namespace weft
