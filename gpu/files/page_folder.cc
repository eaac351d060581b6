#include "weft/gpu/files/page_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"

namespace weft {
namespace {

constexpr std::string_view kEnding = ".kv";
constexpr std::string_view kDraftEnding = ".draft";
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
/// The most files removed to make room for one file on a full disk. Files have one size, so one is
/// enough unless other programs write to the disk.
constexpr int kMostRemoved = 2;

bool has_no_room(int problem) noexcept { return problem == ENOSPC || problem == EDQUOT; }

Error failed(FileErrc code, const std::filesystem::path& path, int problem = errno) {
  return {code, path.string() + ": " + std::generic_category().message(problem)};
}

struct FoundFile {
  PageKey key;
  std::int64_t bytes = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};

}  // namespace

Result<std::unique_ptr<PageFolder>> PageFolder::open(const std::filesystem::path& folder,
                                                     const PageKey& identity,
                                                     std::size_t page_bytes,
                                                     std::int64_t most_bytes, PageFile::Put put) {
  PageFile file(identity, page_bytes, std::move(put));
  if (std::cmp_greater(file.bytes(), most_bytes)) {
    return Error{FileErrc::kTooLarge, folder.string() + ": a page takes " +
                                          std::to_string(file.bytes()) + " bytes, of " +
                                          std::to_string(most_bytes) + " that it may have"};
  }
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return failed(FileErrc::kCannotWrite, folder);
  }
  const int lock =
      ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW,
             S_IRUSR | S_IWUSR);
  if (lock < 0) return failed(FileErrc::kCannotWrite, folder / "lock");
  auto opened =
      std::unique_ptr<PageFolder>(new PageFolder(folder, std::move(file), most_bytes, lock));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed(FileErrc::kCannotWrite, folder / "lock");
    return Error{FileErrc::kExists,
                 folder.string() + ": another model or process has it; each needs its own"};
  }
  opened->look_through();
  return opened;
}

PageFolder::PageFolder(std::filesystem::path folder, PageFile file, std::int64_t most_bytes,
                       int lock)
    : folder_(std::move(folder)), most_bytes_(most_bytes), lock_(lock), file_(std::move(file)) {
  struct stat status{};
  is_open_to_others_ = ::stat(folder_.c_str(), &status) == 0 && (status.st_mode & kOthers) != 0;
}

PageFolder::~PageFolder() { ::close(lock_); }

std::filesystem::path PageFolder::path_of(const PageKey& key) const {
  return folder_ / (to_hex(key) + std::string(kEnding));
}

void PageFolder::look_through() {
  std::vector<FoundFile> found;
  std::error_code problem;
  std::filesystem::directory_iterator files(folder_, problem);
  for (; !problem && files != std::filesystem::directory_iterator(); files.increment(problem)) {
    const std::string name = files->path().filename().string();
    if (name == "lock") continue;
    if (name.starts_with('.') && name.ends_with(kDraftEnding)) {
      ::unlink(files->path().c_str());  // left by a process that was killed
      continue;
    }
    FoundFile file;
    struct stat status{};
    const bool is_known =
        name.ends_with(kEnding) &&
        from_hex(std::string_view(name).substr(0, name.size() - kEnding.size()), file.key) &&
        ::lstat(files->path().c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (!is_known || found.size() >= kMostFiles) {
      ++foreign_;
      continue;
    }
    file.bytes = status.st_size;
    file.seconds = status.st_mtim.tv_sec;
    file.nanoseconds = status.st_mtim.tv_nsec;
    found.push_back(file);
  }
  std::ranges::sort(found, {},
                    [](const FoundFile& one) { return std::pair(one.seconds, one.nanoseconds); });
  for (const FoundFile& one : found) {
    const bool usable = file_.is_at(path_of(one.key), one.key);
    if (!usable) ++foreign_;
    add({one.key, one.bytes, usable});
  }
  make_room(0);
}

bool PageFolder::contains(const PageKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  return found != by_key_.end() && found->second->usable;
}

std::size_t PageFolder::size() const {
  const std::scoped_lock lock(mutex_);
  return usable_;
}

std::int64_t PageFolder::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void PageFolder::add(const Entry& entry) {
  const std::scoped_lock lock(mutex_);
  by_key_[entry.key] = entries_.insert(entries_.end(), entry);
  bytes_ += entry.bytes;
  usable_ += entry.usable ? 1 : 0;
}

void PageFolder::forget(const PageKey& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  bytes_ -= found->second->bytes;
  usable_ -= found->second->usable ? 1 : 0;
  entries_.erase(found->second);
  by_key_.erase(found);
}

/// Removes files until there is room for `bytes` more bytes.
void PageFolder::make_room(std::int64_t bytes) {
  const auto fits = [this, bytes] {
    const std::scoped_lock lock(mutex_);
    return bytes_ + bytes <= most_bytes_ && entries_.size() < kMostFiles;
  };
  while (!fits() && remove_oldest()) {
  }
}

/// Removes the least recently used file; returns false if there is none.
bool PageFolder::remove_oldest() {
  PageKey oldest;
  {
    const std::scoped_lock lock(mutex_);
    if (entries_.empty()) return false;
    oldest = entries_.front().key;
  }
  forget(oldest);
  ::unlink(path_of(oldest).c_str());
  return true;
}

Result<void> PageFolder::write(const PageKey& key, std::span<const std::byte> page) {
  if (contains(key)) return {};
  forget(key);  // a foreign file of that name is replaced
  const auto bytes = static_cast<std::int64_t>(file_.bytes());
  make_room(bytes);
  for (int removed = 0;; ++removed) {
    const int problem = write_file(key, page);
    if (problem == 0) break;
    if (!has_no_room(problem) || removed == kMostRemoved || !remove_oldest()) {
      return failed(FileErrc::kCannotWrite, path_of(key), problem);
    }
  }
  add({key, bytes, true});
  return {};
}

/// Writes the file; returns the system's error number, or 0.
int PageFolder::write_file(const PageKey& key, std::span<const std::byte> page) {
  const std::filesystem::path draft = folder_ / ("." + to_hex(key) + std::string(kDraftEnding));
  const bool is_there =
      file_.write(draft, key, page) && ::rename(draft.c_str(), path_of(key).c_str()) == 0;
  if (is_there) return 0;
  const int problem = errno;
  ::unlink(draft.c_str());
  return problem;
}

Result<void> PageFolder::read(const PageKey& key, std::span<std::byte> page) {
  const std::filesystem::path path = path_of(key);
  if (!file_.read(path, key, page)) {
    forget(key);
    ::unlink(path.c_str());
    return Error{FileErrc::kCannotRead, path.string() + ": is gone, or not as it was written"};
  }
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) entries_.splice(entries_.end(), entries_, found->second);
  return {};
}

}  // namespace weft
