#include "weft/core/io/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// New names are tried where another process has taken one.
constexpr int kMostNames = 100;
constexpr const char* kDraftMark = ".part-";
constexpr const char* kSpare = ".old";

Error cannot_write(const fs::path& path, int error) {
  const FileErrc code = error == EEXIST ? FileErrc::kExists : FileErrc::kCannotWrite;
  if (code == FileErrc::kExists) return {code, path.string()};
  return {code, path.string() + " (" + std::generic_category().message(error) + ")"};
}

/// A name beside the path, hidden from listings.
fs::path hidden_name(const fs::path& path, int attempt) {
  const fs::path folder = path.parent_path();
  return folder / ("." + path.filename().string() + kDraftMark + std::to_string(::getpid()) + "-" +
                   std::to_string(attempt));
}

/// Where the replaced file or folder lies until the draft is destroyed, if it cannot lie in the
/// draft's own place.
fs::path spare_of(const fs::path& hidden) {
  fs::path spare = hidden;
  spare += kSpare;
  return spare;
}

/// Puts a spare back if its process ended before anything else was at its path.
bool put_back(const fs::path& spare) {
  if (spare.extension() != kSpare) return false;
  const std::string name = spare.filename().string();
  const fs::path path = spare.parent_path() / name.substr(1, name.find(kDraftMark) - 1);
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored))) return false;
  return std::rename(spare.c_str(), path.c_str()) == 0;
}

/// Makes the entries of a folder durable. A file system that cannot do so loses no entries either.
void sync_folder(const fs::path& folder) {
  const fs::path named = folder.empty() ? fs::path(".") : folder;
  const int descriptor = ::open(named.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

/// Renames without replacing where the file system supports it; elsewhere checks first.
int rename_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(to, ignored))) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// Renames, and leaves at `from` what was at `to`, if there was anything. A file system that cannot
/// exchange names is given the other order: `to` moves into `spare`, then `from` to `to`.
int rename_over(const fs::path& from, const fs::path& to, const fs::path& spare) {
  if (const int error = rename_new(from, to); error != EEXIST) return error;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (std::rename(to.c_str(), spare.c_str()) != 0) return errno;
  if (std::rename(from.c_str(), to.c_str()) == 0) return 0;
  const int error = errno;
  static_cast<void>(std::rename(spare.c_str(), to.c_str()));
  return error;
}

}  // namespace

Draft::Draft(fs::path path, fs::path hidden, Kind kind, Existing existing)
    : path_(std::move(path)), hidden_(std::move(hidden)), kind_(kind), existing_(existing) {}

Draft::Draft(Draft&& other) noexcept
    : path_(std::move(other.path_)),
      hidden_(std::exchange(other.hidden_, {})),
      kind_(other.kind_),
      existing_(other.existing_) {}

Draft::~Draft() {
  if (hidden_.empty()) return;
  std::error_code ignored;
  fs::remove_all(hidden_, ignored);
  // Without a file at the path, the spare is the only copy.
  if (fs::exists(fs::symlink_status(path_, ignored))) fs::remove_all(spare_of(hidden_), ignored);
}

Result<Draft> Draft::make(const fs::path& named, Kind kind, Existing existing) {
  // The last part of "out/" is empty, and it means the folder "out".
  const fs::path path = named.has_filename() ? named : named.parent_path();
  std::error_code ignored;
  const bool is_there = fs::exists(fs::symlink_status(path, ignored));
  if (is_there && existing == Existing::kRefused) return cannot_write(path, EEXIST);
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    const fs::path hidden = hidden_name(path, attempt);
    if (::mkdir(hidden.c_str(), 0777) == 0) return Draft(path, hidden, kind, existing);
    if (errno != EEXIST) return cannot_write(path, errno);
  }
  return cannot_write(path, EEXIST);
}

fs::path Draft::place() const {
  return kind_ == Kind::kFolder ? hidden_ : hidden_ / path_.filename();
}

Result<void> Draft::finish() {
  sync_folder(hidden_);
  const int error = existing_ == Existing::kRefused
                        ? rename_new(place(), path_)
                        : rename_over(place(), path_, spare_of(hidden_));
  if (error != 0) return cannot_write(path_, error);
  sync_folder(path_.parent_path());
  return {};
}

OutputFile::OutputFile(fs::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<OutputFile> OutputFile::create(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return cannot_write(path, errno);
  return OutputFile(path, descriptor);
}

Result<void> OutputFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ::ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_write(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void> OutputFile::resize(std::uint64_t size) const {
  if (::ftruncate(descriptor_, static_cast<::off_t>(size)) != 0) return cannot_write(path_, errno);
  return {};
}

Result<void> OutputFile::sync() const {
  if (::fsync(descriptor_) != 0) return cannot_write(path_, errno);
  return {};
}

Result<void> write_new_file(const fs::path& path, std::string_view text) {
  const auto file = OutputFile::create(path);
  if (!file) return file.error();
  if (auto done = file->write(0, std::as_bytes(std::span(text))); !done) return done;
  return file->sync();
}

std::size_t remove_left_drafts(const fs::path& folder, fs::file_time_type before) {
  std::error_code none;
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(folder, none); entry != fs::directory_iterator();
       entry.increment(none)) {
    const std::string name = entry->path().filename().string();
    const bool is_draft = name.starts_with('.') && name.find(kDraftMark) != std::string::npos;
    const fs::file_time_type time = fs::last_write_time(entry->path(), none);
    if (is_draft && !none && time < before) left.push_back(entry->path());
  }
  for (const fs::path& one : left) {
    if (!put_back(one)) fs::remove_all(one, none);
  }
  return left.size();
}

Result<void> replace_file(const fs::path& path, std::string_view text) {
  fs::path fresh = path;
  fresh += ".new";
  std::error_code ignored;
  fs::remove(fresh, ignored);
  auto done = write_new_file(fresh, text);
  if (done && std::rename(fresh.c_str(), path.c_str()) != 0) done = cannot_write(path, errno);
  if (!done) {
    fs::remove(fresh, ignored);  // a part of it would keep a full disk full
    return done;
  }
  sync_folder(path.parent_path());
  return {};
}

}  // namespace weft
