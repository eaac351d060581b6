#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "weft/core/error/error.h"

/// Folders in which each entry is a folder with a JSON description of its own version.
namespace weft {

/// Makes the folder if need be, and removes what an ended process has left there: entries with a
/// dot before their name. Returns the remaining entries. FileErrc.
[[nodiscard]] Result<std::vector<std::filesystem::path>> entries_of(
    const std::filesystem::path& folder);

/// Removes a file, or a folder with its content, if it exists. If this fails, it stays until its
/// entry is removed.
void discard(const std::filesystem::path& path) noexcept;

/// Removes the hidden entries of a folder, which are drafts that an ended process has left, as far
/// as the system lets it.
void discard_hidden(const std::filesystem::path& folder);

/// Returns the error of a path that the system refused to make, write or rename.
[[nodiscard]] Error cannot_write(const std::filesystem::path& path, const std::error_code& why);

/// Removes an entry as a whole: a process that ends meanwhile leaves all of it, or what
/// entries_of() removes. FileErrc.
[[nodiscard]] Result<void> remove_entry(const std::filesystem::path& entry);

/// Reads a description. kBadFolder naming the file: it is no JSON object, or of another version;
/// FileErrc.
[[nodiscard]] Result<boost::json::object> read_versioned(const std::filesystem::path& file,
                                                         std::size_t most_bytes,
                                                         std::int64_t version);

/// Reads the fields of an object, and notes whether one was missing or of another type. Borrows the
/// object. Owner only.
class ObjectReader {
 public:
  explicit ObjectReader(const boost::json::object& object) noexcept : object_(object) {}

  /// Each returns an empty value where there is a mistake.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::int64_t whole(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const boost::json::array& list(std::string_view name) const;
  [[nodiscard]] const boost::json::object& object(std::string_view name) const;
  /// Whether all fields that were read existed and had the right type.
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }

 private:
  const boost::json::object& object_;
  mutable bool whole_ = true;
};

}  // namespace weft
