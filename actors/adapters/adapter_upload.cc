#include "weft/actors/adapters/adapter_upload.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGgufEnding = ".gguf";
constexpr std::string_view kConfig = "adapter_config.json";
constexpr std::array<std::string_view, 2> kMatrices = {"adapter_model.safetensors",
                                                       "adapter_model.bin"};
/// An upload is written within seconds. Older drafts belong to processes that were killed.
constexpr std::chrono::hours kDraftAge{1};

Error bad_files(std::string why) { return {EngineErrc::kBadRequest, "files: " + std::move(why)}; }

Error refused_by(const std::string& name, const Error& why) {
  if (why.code == FileErrc::kExists) return {EngineErrc::kAdapterLoaded, "adapter: " + name};
  return {EngineErrc::kAdapterFailed, "adapter " + name + ": " + to_string(why)};
}

std::optional<Error> refuse_target(const AdapterUpload::Target& target) {
  if (target.folder.empty()) return bad_files("adapters.folder is not set");
  if (target.folder_bytes == 0) return bad_files("adapters.upload_bytes is 0");
  // NAME and NAME.gguf are one adapter.
  if (target.name.ends_with(kGgufEnding))
    return Error{EngineErrc::kBadRequest, "name: must not end in .gguf"};
  return std::nullopt;
}

bool is_gguf(const UploadedFiles& files) {
  return files.files.size() == 1 && files.files.front().name.ends_with(kGgufEnding);
}

/// Refuses files that are not those of one adapter.
std::optional<Error> refuse_files(const UploadedFiles& files) {
  if (is_gguf(files)) return std::nullopt;
  int configs = 0;
  int matrices = 0;
  for (const UploadedFile& file : files.files) {
    if (file.name == kConfig) {
      ++configs;
    } else if (std::ranges::find(kMatrices, file.name) != kMatrices.end()) {
      ++matrices;
    } else {
      return bad_files("\"" + file.name + "\" is no file of an adapter");
    }
  }
  if (configs == 1 && matrices == 1) return std::nullopt;
  return bad_files(
      "must be adapter_config.json and adapter_model.safetensors (or adapter_model.bin), each "
      "once, or one GGUF file");
}

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(fs::symlink_status(path, none));
}

bool is_adapter_folder(const fs::path& path) { return is_there(path / kConfig); }

bool holds_adapters(const fs::path& folder) {
  std::error_code none;
  for (fs::directory_iterator entry(folder, none); entry != fs::directory_iterator();
       entry.increment(none)) {
    if (is_adapter_folder(entry->path())) return true;
  }
  return false;
}

/// Whether a place of the folder of adapters is one adapter. A folder of several adapters is not.
bool is_one_adapter(const fs::path& path) {
  std::error_code none;
  if (is_adapter_folder(path)) return !holds_adapters(path);
  return path.extension() == kGgufEnding && fs::is_regular_file(path, none);
}

/// Returns where an adapter can lie: as a folder, and as a GGUF file.
std::array<fs::path, 2> places_of(const AdapterUpload::Target& target) {
  const fs::path folder = target.folder / target.name;
  fs::path gguf = folder;
  gguf += kGgufEnding;
  return {folder, gguf};
}

/// Refuses a place that would lie in another adapter, or would replace something else than an
/// adapter.
std::optional<Error> refuse_place(const AdapterUpload::Target& target, const fs::path& path) {
  fs::path above = target.folder;
  for (const fs::path& part : fs::path(target.name).parent_path()) {
    above /= part;
    fs::path gguf = above;
    gguf += kGgufEnding;
    if (is_adapter_folder(above) || is_there(gguf)) {
      return bad_files("they would lie in another adapter, " +
                       above.lexically_relative(target.folder).string());
    }
  }
  if (!is_there(path) || is_one_adapter(path)) return std::nullopt;
  return bad_files(path.filename().string() + " of adapters.folder is no adapter");
}

/// Returns the bytes of all files at a place; links are not followed. None: they cannot be counted.
std::optional<std::int64_t> bytes_at(const fs::path& place) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(place, error);
  if (!fs::exists(status) || fs::is_symlink(status)) return 0;
  std::uintmax_t bytes = fs::is_regular_file(status) ? fs::file_size(place, error) : 0;
  if (fs::is_directory(status)) {
    fs::recursive_directory_iterator entry(place, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      const fs::file_status one = entry->symlink_status(error);
      if (!error && fs::is_regular_file(one)) bytes += entry->file_size(error);
      if (error) break;
    }
  }
  if (error) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

/// Refuses files with which the folder would have too many bytes. `path`, where they go, is
/// replaced.
std::optional<Error> refuse_bytes(const AdapterUpload::Target& target, const fs::path& path,
                                  const UploadedFiles& files) {
  const auto all = bytes_at(target.folder);
  const auto replaced = bytes_at(path);
  if (!all || !replaced) return bad_files("the bytes of adapters.folder cannot be counted");
  std::int64_t bytes = *all - *replaced;
  for (const UploadedFile& file : files.files) bytes += std::ssize(file.content);
  if (bytes <= target.folder_bytes) return std::nullopt;
  return bad_files("with them adapters.folder would have " + std::to_string(bytes) +
                   " bytes, and may have " + std::to_string(target.folder_bytes) +
                   " (adapters.upload_bytes)");
}

}  // namespace

EmptyParents::~EmptyParents() {
  std::error_code ignored;
  for (fs::path above = place_.parent_path(); !place_.empty() && above != folder_;
       above = above.parent_path()) {
    if (!fs::remove(above, ignored)) return;  // it is not empty
  }
}

AdapterUpload::AdapterUpload(EmptyParents parents, Draft draft, std::string name, fs::path path)
    : parents_(std::move(parents)),
      draft_(std::move(draft)),
      name_(std::move(name)),
      path_(std::move(path)) {}

Result<AdapterUpload> AdapterUpload::write(const Target& target, const UploadedFiles& files) {
  if (auto refused = refuse_target(target)) return *std::move(refused);
  if (auto refused = refuse_files(files)) return *std::move(refused);
  const bool gguf = is_gguf(files);
  const auto [folder_form, gguf_form] = places_of(target);
  if (is_there(gguf ? folder_form : gguf_form)) {
    return bad_files("adapters.folder has " + target.name + " as " +
                     (gguf ? "a folder" : "a GGUF file") + " already");
  }
  const fs::path& path = gguf ? gguf_form : folder_form;
  if (auto refused = refuse_place(target, path)) return *std::move(refused);
  remove_left_drafts(path.parent_path(), fs::file_time_type::clock::now() - kDraftAge);
  if (auto refused = refuse_bytes(target, path, files)) return *std::move(refused);

  EmptyParents parents(target.folder, path);
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);  // if it fails, make() says why
  auto draft =
      Draft::make(path, gguf ? Draft::Kind::kFile : Draft::Kind::kFolder,
                  target.replaces ? Draft::Existing::kReplaced : Draft::Existing::kRefused);
  if (!draft) return refused_by(target.name, draft.error());
  for (const UploadedFile& file : files.files) {
    const fs::path place = gguf ? draft->place() : draft->place() / file.name;
    if (auto done = write_new_file(place, file.content); !done) {
      return refused_by(target.name, done.error());
    }
  }
  return AdapterUpload(std::move(parents), *std::move(draft), target.name, path);
}

Result<fs::path> AdapterUpload::finish() {
  if (auto done = draft_.finish(); !done) return refused_by(name_, done.error());
  return path_;
}

Result<void> check_erasable(const AdapterUpload::Target& target) {
  if (auto refused = refuse_target(target)) return *std::move(refused);
  bool found = false;
  for (const fs::path& path : places_of(target)) {
    if (!is_there(path)) continue;
    if (!is_one_adapter(path))
      return bad_files(path.filename().string() + " of adapters.folder is no adapter");
    found = true;
  }
  if (!found) return bad_files("adapters.folder has no " + target.name);
  return {};
}

Result<void> erase_adapter_files(const AdapterUpload::Target& target) {
  if (auto checked = check_erasable(target); !checked) return checked;
  for (const fs::path& path : places_of(target)) {
    const EmptyParents parents(target.folder, path);
    std::error_code error;
    fs::remove_all(path, error);
    if (error) {
      return Error{EngineErrc::kAdapterFailed,
                   "adapter " + target.name + ": " + path.string() + " (" + error.message() + ")"};
    }
  }
  return {};
}

}  // namespace weft
