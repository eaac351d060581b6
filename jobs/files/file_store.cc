#include "weft/jobs/files/file_store.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/core/time/unix_time.h"
#include "weft/jobs/files/file_check.h"
#include "weft/jobs/folder_entries.h"
#include "weft/jobs/jobs_error.h"
#include "weft/jobs/owner_share.h"
#include "weft/jobs/random_name.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kContent = "content";
constexpr const char* kDescription = "file.json";
/// The version of descriptions that this program writes and reads.
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostDescriptionBytes = 64 << 10;

std::string description_of(const TrainingFile& file) {
  return json::serialize(json::object{{"version", kVersion},
                                      {"id", file.id},
                                      {"owner", file.owner},
                                      {"name", file.name},
                                      {"purpose", file.purpose},
                                      {"bytes", file.bytes},
                                      {"created", file.created},
                                      {"number", file.number}});
}

Result<TrainingFile> read_description(const fs::path& folder) {
  const auto object = read_versioned(folder / kDescription, kMostDescriptionBytes, kVersion);
  if (!object) return object.error();
  TrainingFile file;
  const ObjectReader reader(*object);
  file.id = reader.text("id");
  file.owner = reader.text("owner");
  file.name = reader.text("name");
  file.purpose = reader.text("purpose");
  file.bytes = reader.whole("bytes");
  file.created = reader.whole("created");
  file.number = reader.whole("number");
  if (!reader.is_whole() || file.id != folder.filename()) {
    return Error{JobsErrc::kBadFolder, (folder / kDescription).string() + ": lacks a field"};
  }
  return file;
}

Error no_such_file(std::string_view id) { return {JobsErrc::kNoSuchFile, std::string(id)}; }

}  // namespace

FileStore::FileStore(fs::path folder, const Bounds& bounds)
    : folder_(std::move(folder)), bounds_(bounds) {}

FileStore::FileStore(FileStore&& other) noexcept
    : folder_(other.folder_),
      bounds_(other.bounds_),
      held_(std::move(other.held_)),
      files_(std::move(other.files_)),
      uses_(std::move(other.uses_)),
      next_number_(other.next_number_) {}

Result<FileStore> FileStore::open(fs::path folder, const Bounds& bounds) {
  FileStore store(std::move(folder), bounds);
  const auto entries = entries_of(store.folder_);
  if (!entries) return entries.error();
  for (const fs::path& entry : *entries) {
    auto file = read_description(entry);
    if (!file) return file.error();
    Use& use = store.uses_[file->owner];
    ++use.files;
    use.bytes += file->bytes;
    store.next_number_ = std::max(store.next_number_, file->number + 1);
    const std::string id = file->id;
    store.files_.emplace(id, *std::move(file));
  }
  return store;
}

Result<TrainingFile> FileStore::add(TrainingFile file, std::string_view content) {
  file.bytes = static_cast<std::int64_t>(content.size());
  if (file.bytes > bounds_.file_bytes) {
    return Error{JobsErrc::kFileTooLarge, std::to_string(file.bytes) + " bytes; a file may have " +
                                              std::to_string(bounds_.file_bytes) +
                                              " (training.max_file_bytes)"};
  }
  if (auto room = reserve(file.owner, file.bytes); !room) return room.error();
  if (file.id.empty()) file.id = "file-" + random_name();
  file.created = unix_time();
  {
    const std::scoped_lock lock(mutex_);
    file.number = next_number_++;
  }
  Result<void> done;
  if (file.purpose == kFineTunePurpose) {
    if (auto examples = check_training_data(content); !examples) done = examples.error();
  }
  if (done) done = write(file, content);
  if (!done) {
    give_back(file.owner, file.bytes);
    return done.error();
  }
  const std::scoped_lock lock(mutex_);
  files_.emplace(file.id, file);
  return file;
}

std::vector<HeldFile> FileStore::held() const { return held_ ? held_() : std::vector<HeldFile>(); }

/// Returns what an owner's files take; of all owners where `owner` is null.
FileStore::Use FileStore::use_locked(const std::vector<HeldFile>& held,
                                     const std::string* owner) const {
  Use all;
  for (const auto& [name, use] : uses_) {
    if (owner != nullptr && name != *owner) continue;
    all.files += use.files;
    all.bytes += use.bytes;
  }
  for (const HeldFile& file : held) {
    const bool counts = owner == nullptr || file.owner == *owner;
    if (counts && !files_.contains(file.id)) all.bytes += file.bytes;
  }
  return all;
}

FileStore::Use FileStore::use() const {
  const std::vector<HeldFile> held = this->held();
  const std::scoped_lock lock(mutex_);
  return use_locked(held, nullptr);
}

Result<void> FileStore::reserve(const std::string& owner, std::int64_t bytes) {
  const std::vector<HeldFile> held = this->held();
  const std::scoped_lock lock(mutex_);
  const Use all = use_locked(held, nullptr);
  const Use mine = use_locked(held, &owner);
  const auto most = static_cast<std::int64_t>(bounds_.files);
  if (const auto share = share_of(most, all.files - mine.files, owner); mine.files >= share) {
    return Error{JobsErrc::kFull, "you have " + std::to_string(mine.files) + " files of the " +
                                      std::to_string(share) +
                                      " that you may have now (training.max_files); delete some"};
  }
  const auto share = share_of(bounds_.all_bytes, all.bytes - mine.bytes, owner);
  if (bytes > share - mine.bytes) {
    return Error{JobsErrc::kFull,
                 "your files have " + std::to_string(mine.bytes) + " bytes of the " +
                     std::to_string(share) +
                     " that you may have now (training.max_files_bytes); delete some"};
  }
  Use& use = uses_[owner];
  ++use.files;
  use.bytes += bytes;
  return {};
}

void FileStore::give_back(const std::string& owner, std::int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  Use& use = uses_[owner];
  --use.files;
  use.bytes -= bytes;
  if (use.files == 0) uses_.erase(owner);
}

Result<void> FileStore::write(const TrainingFile& file, std::string_view content) const {
  auto draft = Draft::make(folder_ / file.id, Draft::Kind::kFolder);
  if (!draft) return draft.error();
  if (auto done = write_new_file(draft->place() / kContent, content); !done) return done;
  if (auto done = write_new_file(draft->place() / kDescription, description_of(file)); !done)
    return done;
  return draft->finish();
}

Result<TrainingFile> FileStore::find(std::string_view id, std::string_view owner) const {
  const std::scoped_lock lock(mutex_);
  const auto found = files_.find(id);
  if (found == files_.end() || found->second.owner != owner) return no_such_file(id);
  return found->second;
}

std::vector<TrainingFile> FileStore::list(std::string_view owner) const {
  std::vector<TrainingFile> mine;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, file] : files_) {
      if (file.owner == owner) mine.push_back(file);
    }
  }
  std::ranges::sort(mine, std::ranges::greater(), &TrainingFile::number);
  return mine;
}

Result<std::string> FileStore::content(std::string_view id, std::string_view owner) const {
  const auto file = find(id, owner);
  if (!file) return file.error();
  auto text = read_text_file(path_of(file->id), kAnySize);
  if (text) return text;
  // It may have been deleted meanwhile.
  if (!find(id, owner)) return no_such_file(id);
  return text;
}

Result<void> FileStore::erase(std::string_view id, std::string_view owner) {
  TrainingFile file;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(id);
    if (found == files_.end() || found->second.owner != owner) return no_such_file(id);
    file = std::move(found->second);
    files_.erase(found);  // it keeps its place in uses_ until it is off the disk
  }
  auto removed = remove_entry(folder_ / id);
  if (removed) {
    give_back(file.owner, file.bytes);
    return removed;
  }
  // What is left of a file without its name counts until open() removes it.
  std::error_code unknown;
  if (fs::exists(folder_ / id, unknown)) {
    const std::scoped_lock lock(mutex_);
    files_.emplace(file.id, std::move(file));
  }
  return removed;
}

fs::path FileStore::path_of(std::string_view id) const { return folder_ / id / kContent; }

}  // namespace weft
