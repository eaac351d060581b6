#include "weft/core/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "weft/core/io/file_descriptor.h"

namespace weft {
namespace {

constexpr std::array kFileErrors = {
    ErrorText{static_cast<int>(FileErrc::kCannotRead), "cannot_read", "the file cannot be read"},
    ErrorText{static_cast<int>(FileErrc::kNotAFile), "not_a_file", "this is not a regular file"},
    ErrorText{static_cast<int>(FileErrc::kTooLarge), "too_large", "the file is too large"},
    ErrorText{static_cast<int>(FileErrc::kCut), "cut",
              "the file is shorter than when it was opened"},
    ErrorText{static_cast<int>(FileErrc::kCannotWrite), "cannot_write",
              "the file cannot be written"},
    ErrorText{static_cast<int>(FileErrc::kExists), "exists",
              "something of that name is there, and is not replaced"},
};

constexpr TableCategory kFileCategory(0x1b93a7c45d20f6e8, "weft.file", kFileErrors);

Error failure(const std::string& path, int error) {
  return Error{FileErrc::kCannotRead, path + " (" + std::generic_category().message(error) + ")"};
}

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, std::uint64_t size, FileDescriptor file)
      : ByteSource(std::move(path), size), file_(std::move(file)) {}

 private:
  [[nodiscard]] Result<void> read_within(std::uint64_t offset,
                                         std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ::ssize_t count =
          ::pread(file_.get(), out.data(), out.size(), static_cast<::off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failure(name(), errno);
      if (count == 0) return cut();
      out = out.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    return {};
  }

  [[nodiscard]] Error cut() const {
    std::string detail = name() + " had " + std::to_string(size()) + " bytes";
    struct stat status{};
    if (::fstat(file_.get(), &status) == 0)
      detail.append(" and has ").append(std::to_string(status.st_size));
    return Error{FileErrc::kCut, std::move(detail)};
  }

  FileDescriptor file_;
};

}  // namespace

const TableCategory& file_category() noexcept { return kFileCategory; }

boost::system::error_code make_error_code(FileErrc code) noexcept {
  return {static_cast<int>(code), file_category()};
}

Result<SharedSource> open_file_source(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return failure(path.string(), errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return failure(path.string(), errno);
  if (!S_ISREG(status.st_mode)) return Error{FileErrc::kNotAFile, path.string()};
  return std::make_shared<const FileSource>(
      path.string(), static_cast<std::uint64_t>(status.st_size), std::move(file));
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const auto file = open_file_source(path);
  if (!file) return file.error();
  const std::uint64_t size = (*file)->size();
  if (size > max_bytes) {
    return Error{FileErrc::kTooLarge, path.string() + " has " + std::to_string(size) +
                                          " bytes, more than " + std::to_string(max_bytes)};
  }
  std::string text(size, '\0');
  if (const auto read = (*file)->read(0, std::as_writable_bytes(std::span(text))); !read)
    return read.error();
  return text;
}

}  // namespace weft
