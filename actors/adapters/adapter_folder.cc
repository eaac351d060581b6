#include "weft/actors/adapters/adapter_folder.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/config/adapters_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGguf = ".gguf";
/// Entries of a folder that a stamp looks at; an adapter has a handful.
constexpr std::size_t kMostEntries = 1000;

std::string_view without_gguf(std::string_view name) {
  if (name.ends_with(kGguf)) name.remove_suffix(kGguf.size());
  return name;
}

/// Returns a line about a file; links are followed.
std::string line_of(const fs::path& path) {
  std::error_code none;
  const auto size = fs::file_size(path, none);
  const auto time = fs::last_write_time(path, none).time_since_epoch().count();
  return path.string() + '\n' + std::to_string(size) + ' ' + std::to_string(time);
}

}  // namespace

AdapterFolder::AdapterFolder(std::string path, std::function<TimePoint()> now)
    : path_(std::move(path)), now_(std::move(now)) {}

fs::path AdapterFolder::place_of(std::string_view name) const {
  if (path_.empty() || !is_adapter_name(name)) return {};
  std::error_code ignored;
  fs::path place = fs::path(path_) / name;
  if (fs::exists(place, ignored)) return place;
  place += kGguf;
  return fs::exists(place, ignored) ? place : fs::path();
}

bool AdapterFolder::offers(std::string_view name) const {
  if (path_.empty() || !is_adapter_name(name) || hides(name)) return false;
  const TimePoint now = now_();
  {
    const std::scoped_lock lock(mutex_);
    const auto known = looks_.find(name);
    if (known != looks_.end() && now - known->second.when < kLooksAgainAfter) {
      return known->second.found;
    }
  }
  const bool found = !place_of(name).empty();
  const std::scoped_lock lock(mutex_);
  if (looks_.size() >= kMostLooks) looks_.clear();
  looks_.insert_or_assign(std::string(name), Look{found, now});
  return found;
}

void AdapterFolder::hide(std::string_view name) {
  if (path_.empty()) return;
  const std::scoped_lock lock(mutex_);
  hidden_.insert_or_assign(std::string(without_gguf(name)), hidden_count_++);
  if (hidden_.size() <= kMostHidden) return;
  hidden_.erase(std::ranges::min_element(hidden_, {}, [](const auto& one) { return one.second; }));
}

void AdapterFolder::show(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  const auto found = hidden_.find(without_gguf(name));
  if (found != hidden_.end()) hidden_.erase(found);
}

bool AdapterFolder::hides(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  return hidden_.contains(without_gguf(name));
}

std::uint64_t stamp_of_files(const fs::path& path) {
  std::vector<std::string> lines{line_of(path)};
  std::error_code none;
  // An adapter's files lie in its folder or in a single folder inside of it.
  fs::recursive_directory_iterator entry(path, none);
  for (; entry != fs::recursive_directory_iterator() && lines.size() < kMostEntries;
       entry.increment(none)) {
    if (entry.depth() > 0) entry.disable_recursion_pending();
    lines.push_back(line_of(entry->path()));
  }
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all.append(line).push_back('\n');
  return std::hash<std::string>()(all);
}

}  // namespace weft
