#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "weft/core/time/clock.h"

namespace weft {

/// The folder whose places requests can name (Config::adapters_folder): NAME or NAME.gguf is the
/// adapter NAME. Thread-safe; the file system is never waited for under the lock.
class AdapterFolder {
 public:
  /// offers() looks again for a name after so long. A client that repeats a name costs no more than
  /// this, and an adapter that was just put into the folder is found soon.
  static constexpr std::chrono::milliseconds kLooksAgainAfter{1000};
  /// Names whose last look is remembered; beyond them all are forgotten.
  static constexpr std::size_t kMostLooks = 1024;
  /// Hidden names: far more than an operator removes. Beyond them the name that was hidden first is
  /// offered again.
  static constexpr std::size_t kMostHidden = 65536;

  /// `path` empty: there is no folder.
  AdapterFolder(std::string path, std::function<TimePoint()> now);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Looks for a name's place, hidden or not; empty where there is none. Waits for the file system.
  [[nodiscard]] std::filesystem::path place_of(std::string_view name) const;
  /// Whether requests can name it: the folder has it, and it is not hidden. Waits for the file
  /// system if its last look for the name was longer ago than kLooksAgainAfter.
  [[nodiscard]] bool offers(std::string_view name) const;

  /// Offers a name no longer, or again. NAME and NAME.gguf are one name here, as they may be one
  /// file. Without a folder there is nothing to hide.
  void hide(std::string_view name);
  void show(std::string_view name);
  [[nodiscard]] bool hides(std::string_view name) const;

 private:
  struct Look {
    bool found = false;
    TimePoint when{};
  };

  const std::string path_;
  const std::function<TimePoint()> now_;
  mutable std::mutex mutex_;  // guards the rest
  mutable std::map<std::string, Look, std::less<>> looks_;
  std::map<std::string, std::uint64_t, std::less<>> hidden_;  // and when, by a count
  std::uint64_t hidden_count_ = 0;
};

/// Returns a number that changes, as good as certainly, when an adapter's files do: it is made of
/// their names, sizes and times. Reads no file.
[[nodiscard]] std::uint64_t stamp_of_files(const std::filesystem::path& path);

}  // namespace weft
