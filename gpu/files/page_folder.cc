#include "weft/gpu/files/page_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/core/io/file_descriptor.h"

namespace weft {
namespace {

constexpr std::string_view kEnding = ".kv";
constexpr std::string_view kDraftEnding = ".draft";
/// Changes with every change of what the files or the pages in them mean.
constexpr std::array<char, 8> kMagic{'W', 'E', 'F', 'T', 'K', 'V', 0, 1};
constexpr std::size_t kKeyBytes = sizeof(PageKey);
constexpr std::size_t kHeaderBytes = kMagic.size() + 2 * kKeyBytes + sizeof(std::uint64_t);

FileDescriptor open_file(const std::filesystem::path& path, int flags) {
  return FileDescriptor(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
}

Error failed(FileErrc code, const std::filesystem::path& path) {
  return {code, path.string() + ": " + std::generic_category().message(errno)};
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
                                                     std::int64_t most_bytes) {
  const auto file_bytes = static_cast<std::int64_t>(page_bytes + kHeaderBytes + kKeyBytes);
  if (file_bytes > most_bytes) {
    return Error{FileErrc::kTooLarge, folder.string() + ": a page takes " +
                                          std::to_string(file_bytes) + " bytes, of " +
                                          std::to_string(most_bytes) + " that it may have"};
  }
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return failed(FileErrc::kCannotWrite, folder);
  }
  const int lock = ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                          S_IRUSR | S_IWUSR);
  if (lock < 0) return failed(FileErrc::kCannotWrite, folder / "lock");
  auto opened =
      std::unique_ptr<PageFolder>(new PageFolder(folder, identity, page_bytes, most_bytes, lock));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed(FileErrc::kCannotWrite, folder / "lock");
    return Error{FileErrc::kExists,
                 folder.string() + ": another model or process has it; each needs its own"};
  }
  opened->look_through();
  return opened;
}

PageFolder::PageFolder(std::filesystem::path folder, const PageKey& identity,
                       std::size_t page_bytes, std::int64_t most_bytes, int lock)
    : folder_(std::move(folder)),
      identity_(identity),
      page_bytes_(page_bytes),
      most_bytes_(most_bytes),
      lock_(lock),
      file_(kHeaderBytes + page_bytes + kKeyBytes) {}

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
      ::unlink(files->path().c_str());  // of a process that was ended
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
    const bool usable = is_page_file(path_of(one.key), one.key);
    if (!usable) ++foreign_;
    add({one.key, one.bytes, usable});
  }
  make_room(0);
}

/// Whether its length and header are right; the SHA-256 is looked at when it is read.
bool PageFolder::is_page_file(const std::filesystem::path& path, const PageKey& key) const {
  const FileDescriptor file = open_file(path, O_RDONLY);
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return false;
  if (std::cmp_not_equal(status.st_size, file_.size())) return false;
  std::array<std::byte, kHeaderBytes> header;
  if (!file.read(header)) return false;
  const std::byte* at = header.data();
  const auto is_next = [&at](const void* wanted, std::size_t size) {
    const bool same = std::memcmp(at, wanted, size) == 0;
    at += size;
    return same;
  };
  const std::uint64_t bytes = page_bytes_;
  return is_next(kMagic.data(), kMagic.size()) && is_next(identity_.data(), kKeyBytes) &&
         is_next(key.data(), kKeyBytes) && is_next(&bytes, sizeof(bytes));
}

void PageFolder::write_header(const PageKey& key) {
  std::byte* at = file_.data();
  const auto put = [&at](const void* from, std::size_t size) {
    std::memcpy(at, from, size);
    at += size;
  };
  const std::uint64_t bytes = page_bytes_;
  put(kMagic.data(), kMagic.size());
  put(identity_.data(), kKeyBytes);
  put(key.data(), kKeyBytes);
  put(&bytes, sizeof(bytes));
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

/// Removes files until so many bytes more have room.
void PageFolder::make_room(std::int64_t bytes) {
  for (;;) {
    PageKey oldest;
    {
      const std::scoped_lock lock(mutex_);
      const bool fits = bytes_ + bytes <= most_bytes_ && entries_.size() < kMostFiles;
      if (fits || entries_.empty()) return;
      oldest = entries_.front().key;
    }
    forget(oldest);
    ::unlink(path_of(oldest).c_str());
  }
}

Result<void> PageFolder::write(const PageKey& key, std::span<const std::byte> page) {
  if (contains(key)) return {};
  forget(key);  // a file of that name which is none of ours is replaced
  make_room(static_cast<std::int64_t>(file_.size()));
  write_header(key);
  std::ranges::copy(page, file_.begin() + kHeaderBytes);
  const PageKey sum = sha256(std::span(file_).first(kHeaderBytes + page_bytes_));
  std::ranges::copy(sum, file_.end() - static_cast<std::ptrdiff_t>(kKeyBytes));
  const std::filesystem::path draft = folder_ / ("." + to_hex(key) + std::string(kDraftEnding));
  {
    const FileDescriptor file = open_file(draft, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) return failed(FileErrc::kCannotWrite, draft);
    if (!file.write(file_)) {
      Error why = failed(FileErrc::kCannotWrite, draft);
      ::unlink(draft.c_str());
      return why;
    }
  }
  if (::rename(draft.c_str(), path_of(key).c_str()) != 0) {
    Error why = failed(FileErrc::kCannotWrite, path_of(key));
    ::unlink(draft.c_str());
    return why;
  }
  add({key, static_cast<std::int64_t>(file_.size()), true});
  return {};
}

Result<void> PageFolder::read(const PageKey& key, std::span<std::byte> page) {
  const std::filesystem::path path = path_of(key);
  const FileDescriptor file = open_file(path, O_RDONLY);
  const bool whole = file.is_open() && is_page_file(path, key) && file.read(file_);
  const auto content = std::span(file_).first(kHeaderBytes + page_bytes_);
  const auto sum = std::span(file_).last(kKeyBytes);
  if (!whole || !std::ranges::equal(sha256(content), sum)) {
    forget(key);
    ::unlink(path.c_str());
    return Error{FileErrc::kCannotRead, path.string() + ": is gone, or not as it was written"};
  }
  std::ranges::copy(content.subspan(kHeaderBytes), page.begin());
  ::futimens(file.get(), nullptr);  // used last, also for the next process
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) entries_.splice(entries_.end(), entries_, found->second);
  return {};
}

}  // namespace weft
