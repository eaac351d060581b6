#include "weft/model/adapters/adapter_file.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/model/adapters/gguf_adapter.h"
#include "weft/model/adapters/peft_adapter.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/checkpoint_format.h"
#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAdapterConfigName = "adapter_config.json";
constexpr std::size_t kMostEntries = 10'000;  // most entries of a folder that is searched
constexpr std::size_t kMostListed = 8;        // most adapters that a message names

bool has_config(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kAdapterConfigName, ignored);
}

/// Returns the sub-folders with an adapter, sorted. PEFT writes adapters that are not called
/// "default" there.
Result<std::vector<fs::path>> adapters_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (++seen > kMostEntries) return bad_adapter(folder.string(), "holds too many files");
    std::error_code ignored;
    if (!entry->is_symlink(ignored) && entry->is_directory(ignored) && has_config(entry->path()))
      found.push_back(entry->path());
  }
  if (error) return Error{FileErrc::kCannotRead, folder.string() + " (" + error.message() + ")"};
  std::ranges::sort(found);
  return found;
}

Result<fs::path> folder_of(const fs::path& path) {
  if (has_config(path)) return path;
  const auto below = adapters_below(path);
  if (!below) return below.error();
  if (below->size() == 1) return below->front();
  if (below->empty())
    return bad_adapter(path.string(), "holds no adapter_config.json, nor has a sub-folder one");
  std::string names;
  for (std::size_t i = 0; i < std::min(below->size(), kMostListed); ++i)
    names.append(names.empty() ? "" : ", ").append((*below)[i].filename().string());
  if (below->size() > kMostListed) names += ", ...";
  return bad_adapter(path.string(), "holds several adapters: name one of " + names);
}

/// Whether a link's target is where the hub's cache keeps it: MODEL/snapshots/COMMIT/FILE is a link
/// to MODEL/blobs/HASH.
bool is_blob_of(const fs::path& folder, const fs::path& target) {
  return folder.parent_path().filename() == "snapshots" &&
         target.parent_path() == folder.parent_path().parent_path() / "blobs";
}

/// Refuses a file if a link leads out of its folder.
Result<void> check_inside(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  if (error) return Error{FileErrc::kCannotRead, folder.string() + " (" + error.message() + ")"};
  const fs::path target = fs::canonical(file, error);
  if (error) return Error{FileErrc::kCannotRead, file.string() + " (" + error.message() + ")"};
  if (target.parent_path() == home || is_blob_of(home, target)) return {};
  return bad_adapter(file.string(), "is a symbolic link to a file outside of its folder");
}

Result<AdapterFile> open_adapter_folder(const fs::path& path) {
  const auto folder = folder_of(path);
  if (!folder) return folder.error();
  const fs::path config = *folder / kAdapterConfigName;
  fs::path weights = *folder / "adapter_model.safetensors";
  std::error_code ignored;
  if (!fs::exists(weights, ignored)) {
    const fs::path pickle = *folder / "adapter_model.bin";
    if (fs::exists(pickle, ignored)) weights = pickle;
  }
  for (const fs::path& file : {config, weights}) {
    if (const auto inside = check_inside(*folder, file); !inside) return inside.error();
  }
  auto adapter = read_peft_adapter(config, weights);
  if (adapter) adapter->path = *folder;
  return adapter;
}

}  // namespace

Error bad_adapter(std::string_view file, std::string_view what) {
  std::string detail(file);
  detail.append(": ").append(what);
  return {ModelErrc::kBadAdapter, std::move(detail)};
}

std::string_view to_string(AdapterFormat format) noexcept {
  return format == AdapterFormat::kPeft ? "PEFT" : "GGUF";
}

bool is_adapter(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return has_config(path);
  if (!fs::is_regular_file(path, ignored)) return false;
  const auto source = open_file_source(path);
  if (!source) return false;
  const auto format = format_of(**source);
  if (!format || *format != CheckpointFormat::kGguf) return false;
  const auto content = read_gguf(*source);
  return content && is_gguf_adapter(content->config);
}

std::vector<fs::path> adapters_in(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return {};
  std::vector<fs::path> found;
  if (has_config(folder)) found.push_back(folder);
  if (const auto below = adapters_below(folder))
    found.insert(found.end(), below->begin(), below->end());
  return found;
}

Result<AdapterFile> read_adapter(const fs::path& path) {
  if (path.empty()) return bad_adapter("adapter", "no path is given: a folder, or a GGUF file");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return open_adapter_folder(path);
  const auto source = open_file_source(path);
  if (!source) return source.error();
  const auto format = format_of(**source);
  if (!format) return format.error();
  if (*format != CheckpointFormat::kGguf)
    return bad_adapter(path.string(),
                       "is no GGUF file; of a PEFT adapter name the folder, which "
                       "holds adapter_config.json too");
  auto content = read_gguf(*source);
  if (!content) return content.error();
  auto adapter = read_gguf_adapter(*content, path.string());
  if (adapter) adapter->path = path;
  return adapter;
}

}  // namespace weft
