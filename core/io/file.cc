#include "weft/core/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace weft {
namespace {

constexpr std::array kFileErrors = {
    ErrorText{static_cast<int>(FileErrc::kCannotRead), "cannot_read", "the file cannot be read"},
    ErrorText{static_cast<int>(FileErrc::kNotAFile), "not_a_file", "this is not a regular file"},
    ErrorText{static_cast<int>(FileErrc::kTooLarge), "too_large", "the file is too large"},
};

constexpr TableCategory kFileCategory(0x1b93a7c45d20f6e8, "weft.file", kFileErrors);

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

Error failure(const std::filesystem::path& path, int error) {
  return Error{FileErrc::kCannotRead,
               path.string() + " (" + std::generic_category().message(error) + ")"};
}

}  // namespace

const TableCategory& file_category() noexcept { return kFileCategory; }

boost::system::error_code make_error_code(FileErrc code) noexcept {
  return {static_cast<int>(code), file_category()};
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes) noexcept
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap takes the pointer that mmap returned, which was not const.
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()),
             bytes_.size());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return failure(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return failure(path, errno);
  if (!S_ISREG(status.st_mode)) return Error{FileErrc::kNotAFile, path.string()};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(path, {});  // mmap refuses to map nothing
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return failure(path, errno);
  return MappedFile(path, {static_cast<const std::byte*>(memory), size});
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  const auto bytes = file->bytes();
  if (bytes.size() > max_bytes) {
    return Error{FileErrc::kTooLarge, path.string() + " has " + std::to_string(bytes.size()) +
                                          " bytes, more than " + std::to_string(max_bytes)};
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace weft
