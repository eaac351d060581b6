#include "weft/gpu/ranks/world/rank_key.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "weft/core/error/internal_error.h"
#include "weft/core/io/file_descriptor.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/files/page_key.h"

namespace weft {
namespace {

constexpr std::size_t kMostKeyFile = 4096;  // most bytes of a key file: a longer file is no key
constexpr mode_t kOthersMayDo = S_IRWXG | S_IRWXO;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

/// Which users may own a key file, and which access others may have.
enum class KeyFileOf : std::uint8_t {
  kThisUser,  ///< the default file: owned by this user, and no other user has access
  /// A file named by a variable: owned by this user or root, and no other user can change it.
  kAnybody,
};

Error bad_key(const std::filesystem::path& file, const std::string& why) {
  return {DeviceErrc::kUnfit, "the ranks' key: " + file.string() + ": " + why};
}

Error key_failed(const std::filesystem::path& file, int problem) {
  return bad_key(file, std::generic_category().message(problem));
}

std::string made_key() {
  PageKey bytes;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) !=
      1) {
    internal_error("there are no random numbers");
  }
  return to_hex(bytes);
}

/// Creates the file with a new key, unless it exists. The file gets its name last, so it is always
/// complete.
Result<void> make_if_missing(const std::filesystem::path& file) {
  if (::access(file.c_str(), F_OK) == 0) return {};
  const std::string key = made_key();
  std::filesystem::path draft = file;
  draft += "." + made_key().substr(0, 16);
  {
    const FileDescriptor out(
        ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!out.is_open()) return key_failed(file, errno);
    if (!out.write(std::as_bytes(std::span(key)))) {
      const int problem = errno;
      ::unlink(draft.c_str());
      return key_failed(file, problem);
    }
  }
  const int problem = ::link(draft.c_str(), file.c_str()) == 0 ? 0 : errno;
  ::unlink(draft.c_str());
  // EEXIST: another process was first.
  if (problem != 0 && problem != EEXIST) return key_failed(file, problem);
  return {};
}

Result<std::string> key_in(const std::filesystem::path& file, KeyFileOf of) {
  const int links = of == KeyFileOf::kThisUser ? O_NOFOLLOW : 0;
  const FileDescriptor in(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | links));
  struct stat status{};
  if (!in.is_open() || ::fstat(in.get(), &status) != 0) return key_failed(file, errno);
  if (!S_ISREG(status.st_mode)) return bad_key(file, "is no file");
  const bool own = status.st_uid == ::geteuid() && (status.st_mode & kOthersMayDo) == 0;
  if (of == KeyFileOf::kThisUser && !own) return bad_key(file, "others can read or change it");
  const bool trusted = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (!trusted || (status.st_mode & kOthersMayWrite) != 0) {
    return bad_key(file, "others can change it");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kMostKeyFile) return bad_key(file, "is too long for a key");
  std::string text(size, '\0');
  if (!in.read(std::as_writable_bytes(std::span(text)))) return key_failed(file, errno);
  std::string key = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (key.empty()) return bad_key(file, "is empty");
  return key;
}

/// Returns the folder of this user's key. No other user may have created it.
Result<std::filesystem::path> own_folder(const Environment& environment) {
  const std::string temporary = environment("TMPDIR").value_or("");
  std::filesystem::path folder = std::filesystem::path(temporary.empty() ? "/tmp" : temporary) /
                                 ("weft-" + std::to_string(::geteuid()));
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return key_failed(folder, errno);
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0) return key_failed(folder, errno);
  const bool own = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
                   (status.st_mode & kOthersMayDo) == 0;
  if (!own) return bad_key(folder, "is no folder of this user alone");
  return folder;
}

bool is_set(const Environment& environment, const char* name) {
  return !environment(name).value_or("").empty();
}

}  // namespace

Result<void> take_rank_key(const Environment& environment, RankWorld& world) {
  world.key = environment("WEFT_RANK_KEY").value_or("");
  if (!world.key.empty()) return {};
  world.without_key = is_set(environment, "WEFT_RANK_NO_KEY");
  std::filesystem::path file = environment("WEFT_RANK_KEY_FILE").value_or("");
  const KeyFileOf of = file.empty() ? KeyFileOf::kThisUser : KeyFileOf::kAnybody;
  if (file.empty()) {
    if (world.without_key || !is_on_loopback(world)) return {};
    const auto folder = own_folder(environment);
    if (!folder) return folder.error();
    file = *folder / "ranks.key";
  }
  if (auto made = make_if_missing(file); !made) return made;
  auto key = key_in(file, of);
  if (!key) return key.error();
  world.key = *std::move(key);
  return {};
}

Result<void> check_rank_key(const RankWorld& world) {
  if (!world.key.empty() || (world.without_key && is_on_loopback(world))) return {};
  return Error{DeviceErrc::kUnfit, "ranks on " + world.address + ": WEFT_RANK_KEY is not set"};
}

}  // namespace weft
