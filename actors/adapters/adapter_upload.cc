#include "weft/actors/adapters/adapter_upload.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGguf = ".gguf";
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
  return std::nullopt;
}

bool is_gguf(const AdapterFiles& files) {
  return files.files.size() == 1 && files.files.front().name.ends_with(kGguf);
}

/// Refuses files that are not those of one adapter.
std::optional<Error> refuse_files(const AdapterFiles& files) {
  if (is_gguf(files)) return std::nullopt;
  int configs = 0;
  int matrices = 0;
  for (const AdapterFile& file : files.files) {
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

/// Whether a place of the folder of adapters is one adapter. A folder of several adapters is not.
bool is_adapter(const fs::path& path) {
  std::error_code none;
  return is_adapter_folder(path) || (path.extension() == kGguf && fs::is_regular_file(path, none));
}

/// Returns where an adapter can lie: as a folder, and as a GGUF file.
std::array<fs::path, 2> places_of(const AdapterUpload::Target& target) {
  const fs::path folder = target.folder / target.name;
  fs::path gguf = folder;
  gguf += kGguf;
  return {folder, gguf};
}

/// Refuses a place that would lie in another adapter, or would replace something else than an
/// adapter.
std::optional<Error> refuse_place(const AdapterUpload::Target& target, const fs::path& path) {
  fs::path above = target.folder;
  for (const fs::path& part : fs::path(target.name).parent_path()) {
    above /= part;
    if (is_adapter_folder(above)) {
      return bad_files("they would lie in another adapter, " +
                       above.lexically_relative(target.folder).string());
    }
  }
  if (!is_there(path) || is_adapter(path)) return std::nullopt;
  return bad_files(path.filename().string() + " of adapters.folder is no adapter");
}

/// Returns the bytes of all files below a folder; links are not followed.
std::int64_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none);
       entry != fs::recursive_directory_iterator(); entry.increment(none)) {
    if (!entry->is_regular_file(none)) continue;
    const std::uintmax_t size = entry->file_size(none);
    if (!none) bytes += size;
  }
  return static_cast<std::int64_t>(bytes);
}

std::optional<Error> refuse_bytes(const AdapterUpload::Target& target, const AdapterFiles& files) {
  std::int64_t bytes = bytes_below(target.folder);
  for (const AdapterFile& file : files.files) bytes += std::ssize(file.content);
  if (bytes <= target.folder_bytes) return std::nullopt;
  return bad_files("with them adapters.folder would have " + std::to_string(bytes) +
                   " bytes, and may have " + std::to_string(target.folder_bytes) +
                   " (adapters.upload_bytes)");
}

Result<void> write_file(const fs::path& path, std::string_view content) {
  const auto file = OutputFile::create(path);
  if (!file) return file.error();
  if (auto done = file->write(0, std::as_bytes(std::span(content))); !done) return done;
  return file->sync();
}

}  // namespace

AdapterUpload::AdapterUpload(Draft draft, fs::path path)
    : draft_(std::move(draft)), path_(std::move(path)) {}

Result<AdapterUpload> AdapterUpload::write(const Target& target, const AdapterFiles& files) {
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
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);  // if it fails, make() says why
  remove_left_drafts(path.parent_path(), fs::file_time_type::clock::now() - kDraftAge);
  if (auto refused = refuse_bytes(target, files)) return *std::move(refused);

  auto draft =
      Draft::make(path, gguf ? Draft::Kind::kFile : Draft::Kind::kFolder,
                  target.replaces ? Draft::Existing::kReplaced : Draft::Existing::kRefused);
  if (!draft) return refused_by(target.name, draft.error());
  for (const AdapterFile& file : files.files) {
    const fs::path place = gguf ? draft->place() : draft->place() / file.name;
    if (auto done = write_file(place, file.content); !done) {
      return refused_by(target.name, done.error());
    }
  }
  return AdapterUpload(*std::move(draft), path);
}

Result<fs::path> AdapterUpload::finish() {
  if (auto done = draft_.finish(); !done)
    return refused_by(path_.filename().string(), done.error());
  return path_;
}

Result<void> check_erasable(const AdapterUpload::Target& target) {
  if (auto refused = refuse_target(target)) return *std::move(refused);
  bool found = false;
  for (const fs::path& path : places_of(target)) {
    if (!is_there(path)) continue;
    if (!is_adapter(path))
      return bad_files(path.filename().string() + " of adapters.folder is no adapter");
    found = true;
  }
  if (!found) return bad_files("adapters.folder has no " + target.name);
  return {};
}

Result<void> erase_adapter_files(const AdapterUpload::Target& target) {
  if (auto checked = check_erasable(target); !checked) return checked;
  for (const fs::path& path : places_of(target)) {
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
