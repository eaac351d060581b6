#include "weft/gpu/files/page_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft {
namespace {

/// Changes with every change of the files' format or of the pages' layout in them.
constexpr std::array<char, 8> kMagic{'W', 'E', 'F', 'T', 'K', 'V', 0, 1};
constexpr std::size_t kKeyBytes = sizeof(PageKey);
constexpr std::size_t kHeaderBytes = kMagic.size() + 2 * kKeyBytes + sizeof(std::uint64_t);

/// Opens an existing file for reading; returns no file if it is not a regular file.
FileDescriptor open_regular(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe would wait for a process that writes into it.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  const bool is_regular =
      file.is_open() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (!is_regular) file.reset();
  return file;
}

/// Opens a file that does not exist yet for writing.
FileDescriptor open_new(const std::filesystem::path& path) {
  return FileDescriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

}  // namespace

PageFile::PageFile(const PageKey& identity, std::size_t page_bytes, Put put)
    : identity_(identity),
      page_bytes_(page_bytes),
      put_(put ? std::move(put)
               : [](const FileDescriptor& file,
                    std::span<const std::byte> bytes) { return file.write(bytes); }),
      content_(kHeaderBytes + page_bytes + kKeyBytes) {}

bool PageFile::is_at(const std::filesystem::path& path, const PageKey& key) const {
  const FileDescriptor file = open_regular(path);
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return false;
  if (std::cmp_not_equal(status.st_size, bytes())) return false;
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

void PageFile::write_header(const PageKey& key) {
  std::byte* at = content_.data();
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

bool PageFile::write(const std::filesystem::path& path, const PageKey& key,
                     std::span<const std::byte> page) {
  write_header(key);
  std::ranges::copy(page, content_.begin() + kHeaderBytes);
  const PageKey sum = sha256(std::span(content_).first(kHeaderBytes + page_bytes_));
  std::ranges::copy(sum, content_.end() - static_cast<std::ptrdiff_t>(kKeyBytes));
  ::unlink(path.c_str());
  const FileDescriptor file = open_new(path);
  return file.is_open() && put_(file, content_);
}

bool PageFile::read(const std::filesystem::path& path, const PageKey& key,
                    std::span<std::byte> page) {
  const FileDescriptor file = open_regular(path);
  if (!file.is_open() || !is_at(path, key) || !file.read(content_)) return false;
  const auto content = std::span(content_).first(kHeaderBytes + page_bytes_);
  if (!std::ranges::equal(sha256(content), std::span(content_).last(kKeyBytes))) return false;
  std::ranges::copy(content.subspan(kHeaderBytes), page.begin());
  ::futimens(file.get(), nullptr);  // marks the file as used, also for the next process
  return true;
}

}  // namespace weft
