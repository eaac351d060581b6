#include "weft/cli/batch/batch_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weft::cli {
namespace {

constexpr std::chrono::seconds kBetweenSyncs{1};
constexpr mode_t kMode = 0644;

}  // namespace

Result<BatchOutput> BatchOutput::open(const std::string& path) {
  BatchOutput output(path, ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kMode));
  if (output.file_ < 0) return output.failed(errno);
  if (::flock(output.file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{make_error_code(boost::system::errc::device_or_resource_busy),
                   path + " is written by another weft batch"};
    }
    return output.failed(errno);
  }
  struct stat status{};
  if (::fstat(output.file_, &status) != 0) return output.failed(errno);
  output.regular_ = S_ISREG(status.st_mode);
  return output;
}

BatchOutput::BatchOutput(BatchOutput&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      regular_(other.regular_),
      size_(other.size_),
      dirty_(other.dirty_),
      synced_(other.synced_) {}

BatchOutput::~BatchOutput() {
  if (file_ >= 0) ::close(file_);
}

bool BatchOutput::is(const std::string& path) const {
  struct stat own{};
  struct stat other{};
  return ::fstat(file_, &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

Result<std::string> BatchOutput::read() const {
  if (!regular_) return std::string();
  struct stat status{};
  if (::fstat(file_, &status) != 0) return failed(errno);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto got =
        ::pread(file_, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

Result<void> BatchOutput::cut(std::size_t bytes) {
  if (!regular_) return {};
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) return failed(errno);
  size_ = bytes;
  return {};
}

Result<void> BatchOutput::append(std::string_view line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
    if (rest.empty() || !regular_) continue;
    if (auto cut_off = cut(size_); !cut_off) return cut_off;
    return failed(ENOSPC);
  }
  size_ += line.size();
  dirty_ = true;
  return {};
}

Result<void> BatchOutput::sync_sometimes(Time now) {
  if (!dirty_ || now - synced_ < kBetweenSyncs) return {};
  synced_ = now;
  return sync();
}

Result<void> BatchOutput::sync() {
  // A pipe or a device has nothing that could be made durable.
  if (::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) return failed(errno);
  dirty_ = false;
  return {};
}

Error BatchOutput::failed(int number) const {
  return {boost::system::error_code(number, boost::system::generic_category()), path_};
}

}  // namespace weft::cli
