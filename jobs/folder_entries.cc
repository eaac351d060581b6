#include "weft/jobs/folder_entries.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <system_error>

#include "weft/core/io/file.h"
#include "weft/jobs/jobs_error.h"

namespace weft {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

/// The entries of a folder.
struct Entries {
  std::vector<fs::path> shown;
  std::vector<fs::path> hidden;
};

Entries list_entries(const fs::path& folder, std::error_code& error) {
  Entries entries;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    (hidden ? entries.hidden : entries.shown).push_back(entry->path());
  }
  return entries;
}

}  // namespace

Error cannot_write(const fs::path& path, const std::error_code& why) {
  return {FileErrc::kCannotWrite, path.string() + " (" + why.message() + ")"};
}

void discard(const fs::path& path) noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void discard_hidden(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& path : list_entries(folder, ignored).hidden) discard(path);
}

Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_write(folder, error);
  Entries entries = list_entries(folder, error);
  if (error) return Error{FileErrc::kCannotRead, folder.string() + " (" + error.message() + ")"};
  for (const fs::path& path : entries.hidden) {
    fs::remove_all(path, error);
    if (error) return cannot_write(path, error);
  }
  std::ranges::sort(entries.shown);
  return std::move(entries.shown);
}

Result<void> remove_entry(const fs::path& entry) {
  const fs::path hidden = entry.parent_path() / (".gone-" + entry.filename().string());
  std::error_code error;
  fs::rename(entry, hidden, error);
  if (error) return cannot_write(entry, error);
  fs::remove_all(hidden, error);
  if (error) return cannot_write(entry, error);
  return {};
}

Result<json::object> read_versioned(const fs::path& file, std::size_t most_bytes,
                                    std::int64_t version) {
  const auto text = read_text_file(file, most_bytes);
  if (!text) return text.error();
  boost::system::error_code error;
  json::value value = json::parse(*text, error);
  if (error || !value.is_object())
    return Error{JobsErrc::kBadFolder, file.string() + ": is no JSON object"};
  const json::value* const found = value.get_object().if_contains("version");
  if (found == nullptr || *found != version) {
    return Error{JobsErrc::kBadFolder, file.string() + ": is not of version " +
                                           std::to_string(version) +
                                           ", which is the one that is read here"};
  }
  return std::move(value.get_object());
}

std::string ObjectReader::text(std::string_view name) const {
  const json::value* const found = object_.if_contains(name);
  if (found != nullptr && found->is_string()) return std::string(found->get_string());
  whole_ = false;
  return {};
}

std::int64_t ObjectReader::whole(std::string_view name) const {
  const json::value* const found = object_.if_contains(name);
  if (found != nullptr && found->is_int64()) return found->get_int64();
  whole_ = false;
  return 0;
}

double ObjectReader::number(std::string_view name) const {
  const json::value* const found = object_.if_contains(name);
  if (found != nullptr && found->is_number()) return found->to_number<double>();
  whole_ = false;
  return 0;
}

const json::array& ObjectReader::list(std::string_view name) const {
  static const json::array none;
  const json::value* const found = object_.if_contains(name);
  if (found != nullptr && found->is_array()) return found->get_array();
  whole_ = false;
  return none;
}

const json::object& ObjectReader::object(std::string_view name) const {
  static const json::object none;
  const json::value* const found = object_.if_contains(name);
  if (found != nullptr && found->is_object()) return found->get_object();
  whole_ = false;
  return none;
}

}  // namespace weft
