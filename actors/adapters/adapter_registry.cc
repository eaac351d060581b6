#include "weft/actors/adapters/adapter_registry.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "weft/actors/adapters/adapter_upload.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/loading/served_model.h"
#include "weft/config/adapters_text.h"
#include "weft/core/time/unix_time.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Names in a message: more would not be read.
constexpr std::size_t kShownNames = 20;

AdapterId id_of(const Adapter& adapter) {
  AdapterId id;
  std::copy_n(adapter.hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

std::int64_t rank_of(const Adapter& adapter) {
  std::int64_t rank = 0;
  for (const AdapterTarget& target : adapter.targets) rank = std::max(rank, target.rank);
  return rank;
}

/// Whether a path stays below the folder that it starts in, as it is written.
bool stays_inside(const fs::path& relative) {
  const fs::path normal = relative.lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != "..";
}

Error takes_none(const std::string& name) {
  return {EngineErrc::kNoSuchAdapter,
          "adapter: " + name + "; the model takes none: adapters.places is 0"};
}

Error failed(const std::string& label, const Error& why) {
  return {EngineErrc::kAdapterFailed, label + ": " + to_string(why)};
}

/// Returns how messages name an adapter.
std::string label_of(const std::string& name) { return "adapter " + name; }

}  // namespace

AdapterRegistry::Prepared AdapterRegistry::in_memory(const AdapterId& id) const {
  const auto found = contents_.find(id.bytes);
  return found == contents_.end() ? nullptr : found->second.last.lock();
}

Error AdapterRegistry::no_such(std::string_view name) const {
  std::string detail = "adapter: " + std::string(name) + "; there are";
  std::size_t shown = 0;
  for (const auto& [known, entry] : entries_) {
    if (shown == kShownNames) break;
    detail.append(shown++ == 0 ? " " : ", ").append(known);
  }
  if (entries_.empty()) detail += " none";
  if (entries_.size() > shown) detail += ", ...";
  return {EngineErrc::kNoSuchAdapter, std::move(detail)};
}

void AdapterRegistry::use(Content& content, Prepared prepared) {
  content.used = ++counter_;
  if (content.kept == prepared) return;
  forget(content);
  kept_bytes_ += prepared->bytes;
  content.last = prepared;
  content.kept = std::move(prepared);
  make_room(content);
}

void AdapterRegistry::forget(Content& content) noexcept {
  if (content.kept == nullptr) return;
  kept_bytes_ -= content.kept->bytes;
  content.kept = nullptr;
}

/// A name has another content now, or is removed.
void AdapterRegistry::drop_name(const AdapterId& id) noexcept {
  const auto found = contents_.find(id.bytes);
  if (found == contents_.end() || --found->second.names > 0) return;
  forget(found->second);
  contents_.erase(found);
}

/// Returns the least recently used content that is kept, `newest` only where it is the last one;
/// `unused`: of those that no request has. Null: there is none.
AdapterRegistry::Content* AdapterRegistry::oldest_kept(const Content* newest,
                                                       bool unused) noexcept {
  Content* oldest = nullptr;
  for (auto& [id, content] : contents_) {
    if (content.kept == nullptr || (unused && content.kept.use_count() > 1)) continue;
    const bool first = oldest == nullptr || oldest == newest;
    if (first || (&content != newest && content.used < oldest->used)) oldest = &content;
  }
  return oldest;
}

/// Lets the least recently used adapters go until the bound is kept; the newest goes last. The
/// others go before those that requests have, whose memory is not free yet.
void AdapterRegistry::make_room(const Content& newest) noexcept {
  for (const bool unused : {true, false}) {
    while ((unused ? live_->bytes.load() : kept_bytes_) > options_.host_bytes) {
      Content* const oldest = oldest_kept(&newest, unused);
      if (oldest == nullptr) break;
      forget(*oldest);
    }
  }
}

/// Makes room for an adapter that is to be read. Fails where requests have all the memory.
Result<void> AdapterRegistry::check_room() {
  const std::scoped_lock lock(mutex_);
  while (live_->bytes >= options_.host_bytes) {
    Content* const oldest = oldest_kept(nullptr, /*unused=*/true);
    if (oldest == nullptr) break;
    forget(*oldest);
  }
  if (live_->bytes < options_.host_bytes || live_->count < options_.places) return {};
  return Error{EngineErrc::kOverloaded,
               "the adapters of other requests have all of adapters.host_bytes"};
}

/// Counts an adapter as long as anybody has it.
AdapterRegistry::Prepared AdapterRegistry::counted(Prepared prepared) const {
  const PreparedAdapter* const adapter = prepared.get();
  live_->bytes += adapter->bytes;
  ++live_->count;
  return {adapter,
          [live = live_, prepared = std::move(prepared)](const PreparedAdapter* one) mutable {
            live->bytes -= one->bytes;
            --live->count;
            prepared = nullptr;
          }};
}

std::optional<Error> AdapterRegistry::known_failure(const std::string& name, std::uint64_t stamp) {
  const std::scoped_lock lock(mutex_);
  const auto found = failures_.find(name);
  if (found == failures_.end()) return std::nullopt;
  if (found->second.stamp == stamp && options_.now() < found->second.until) {
    return found->second.why;
  }
  failures_.erase(found);
  return std::nullopt;
}

void AdapterRegistry::note_failure(const std::string& name, std::uint64_t stamp, const Error& why) {
  const std::scoped_lock lock(mutex_);
  failures_.insert_or_assign(name, Failure{stamp, options_.now() + kFailureHolds, why});
  if (failures_.size() <= kMostFailures) return;
  failures_.erase(
      std::ranges::min_element(failures_, {}, [](const auto& one) { return one.second.until; }));
}

bool AdapterRegistry::has(std::string_view name) const {
  {
    const std::scoped_lock lock(mutex_);
    if (entries_.contains(name)) return true;
  }
  return folder_.offers(name);
}

Result<AdapterRegistry::Prepared> AdapterRegistry::find(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(name);
    if (entry != entries_.end()) {
      const auto content = contents_.find(entry->second.id.bytes);
      Prepared prepared = content->second.last.lock();
      if (prepared) use(content->second, prepared);
      return prepared;
    }
  }
  if (folder_.offers(name)) return Prepared();
  const std::scoped_lock lock(mutex_);
  return no_such(name);
}

/// Returns the path of a name that is known, or that the folder has and does not hide.
fs::path AdapterRegistry::path_to_read(const std::string& name) const {
  {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(name);
    if (entry != entries_.end()) return entry->second.path;
  }
  return folder_.hides(name) ? fs::path() : folder_.place_of(name);
}

Result<AdapterRegistry::Prepared> AdapterRegistry::prepare(const std::string& name) {
  auto found = find(name);
  if (!found || *found) return found;
  const fs::path path = path_to_read(name);
  if (path.empty()) {
    const std::scoped_lock lock(mutex_);
    return no_such(name);
  }
  const std::uint64_t stamp = stamp_of_files(path);  // before the files are read
  if (auto failure = known_failure(name, stamp)) return *std::move(failure);
  if (auto room = check_room(); !room) return room.error();
  auto read_again = read(name, path, label_of(name));
  if (!read_again) {
    if (options_.tell) options_.tell(to_string(read_again.error()));
    note_failure(name, stamp, read_again.error());
    return read_again.error();
  }
  Prepared prepared = read_again->prepared;
  put(*std::move(read_again));
  return prepared;
}

Result<fs::path> AdapterRegistry::path_of(const AdapterChange& change) const {
  if (change.path.empty()) {
    fs::path place = folder_.place_of(change.name);
    if (!place.empty()) return place;
    return Error{EngineErrc::kAdapterFailed,
                 label_of(change.name) +
                     ": no path is given, and adapters.folder has no such "
                     "place"};
  }
  if (change.path.find('\0') != std::string::npos)
    return Error{EngineErrc::kBadRequest, "path: has a zero byte"};
  fs::path path = change.path;
  if (change.is_own) return path;  // a relative one is no place in adapters.folder
  if (!options_.folder.empty()) {
    const fs::path inside = path.is_relative() ? path : path.lexically_relative(options_.folder);
    // As it was checked: behind a link ".." would lead elsewhere.
    if (stays_inside(inside)) return fs::path(options_.folder) / inside.lexically_normal();
  }
  if (options_.any_path) return path;
  return Error{EngineErrc::kBadRequest,
               "path: is not in adapters.folder, and adapters.any_path is not set"};
}

/// Reads an adapter. What another name has in memory already is not prepared again. Errors begin
/// with the label.
Result<AdapterRegistry::Read> AdapterRegistry::read(const std::string& name, const fs::path& path,
                                                    const std::string& label) {
  auto adapter = options_.read(path);
  if (!adapter) return failed(label, adapter.error());
  Read read;
  read.info = {.name = name,
               .path = path.string(),
               .created = unix_time(),
               .rank = rank_of(*adapter),
               .id = id_of(*adapter)};
  {
    const std::scoped_lock lock(mutex_);
    read.prepared = in_memory(read.info.id);
  }
  if (read.prepared) return read;
  auto prepared = options_.prepare(*adapter);
  if (!prepared) return failed(label, prepared.error());
  read.prepared = counted(*std::move(prepared));
  if (options_.tell) {
    for (const std::string& warning : adapter->warnings) options_.tell(warning);
  }
  return read;
}

Result<AdapterRegistry::Read> AdapterRegistry::read_place(const AdapterChange& change) {
  const auto path = path_of(change);
  if (!path) return path.error();
  if (auto room = check_room(); !room) return room.error();
  return read(change.name, *path, label_of(change.name));
}

/// Reads the files that a client sent, and puts them into the folder if that succeeds.
Result<AdapterRegistry::Read> AdapterRegistry::read_upload(const AdapterChange& change) {
  if (auto room = check_room(); !room) return room.error();
  auto upload = AdapterUpload::write({.folder = options_.folder,
                                      .folder_bytes = options_.upload_bytes,
                                      .name = change.name,
                                      .replaces = change.replaces},
                                     *change.files);
  if (!upload) return upload.error();
  auto adapter = read(change.name, upload->place(), label_of(change.name));
  if (!adapter) return adapter;
  const auto path = upload->finish();
  if (!path) return path.error();
  adapter->info.path = path->string();
  return adapter;
}

/// Gives the adapter's name its content.
void AdapterRegistry::put(Read read) {
  const std::scoped_lock lock(mutex_);
  const AdapterId id = read.info.id;
  Content& content = contents_[id.bytes];
  ++content.names;
  auto [place, is_new] = entries_.try_emplace(read.info.name);
  AdapterInfo& entry = place->second;
  const AdapterId before = entry.id;
  if (before == id) read.info.created = entry.created;
  read.info.number = is_new ? next_number_++ : entry.number;
  entry = std::move(read.info);
  if (!is_new) drop_name(before);
  failures_.erase(entry.name);
  use(content, std::move(read.prepared));
}

Result<void> AdapterRegistry::load(const AdapterChange& change) {
  const bool may_be_tuned = change.is_own && change.files == nullptr;
  if (!is_adapter_name(change.name) && !(may_be_tuned && is_tuned_name(change.name))) {
    return Error{EngineErrc::kBadRequest,
                 "name: must be 1 .. 128 letters, digits, dots, hyphens, underlines and slashes, "
                 "and no part may begin with a dot"};
  }
  {
    const std::scoped_lock lock(mutex_);
    if (!change.replaces && entries_.contains(change.name)) {
      return Error{EngineErrc::kAdapterLoaded, "adapter: " + change.name};
    }
  }
  auto adapter = change.files != nullptr ? read_upload(change) : read_place(change);
  if (!adapter) return adapter.error();
  put(*std::move(adapter));
  folder_.show(change.name);
  return {};
}

Result<void> AdapterRegistry::load_named(const std::vector<NamedAdapter>& named) {
  for (const NamedAdapter& one : named) {
    auto adapter = read(one.name, one.path, "adapters.named[" + one.name + "]");
    if (!adapter) return adapter.error();
    put(*std::move(adapter));
  }
  return {};
}

Result<void> AdapterRegistry::unload(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return no_such(name);
  drop_name(found->second.id);
  entries_.erase(found);
  folder_.hide(name);
  if (standard_ == name) standard_.clear();
  return {};
}

Result<void> AdapterRegistry::erase(const std::string& name) {
  if (!has(name) && folder_.place_of(name).empty()) {
    const std::scoped_lock lock(mutex_);
    return no_such(name);
  }
  const AdapterUpload::Target target{
      .folder = options_.folder, .folder_bytes = options_.upload_bytes, .name = name};
  if (auto checked = check_erasable(target); !checked) return checked;
  static_cast<void>(unload(name));  // a name that no request has used yet is not known
  auto erased = erase_adapter_files(target);
  if (erased) folder_.show(name);  // an adapter put there later is a new one
  return erased;
}

std::vector<AdapterInfo> AdapterRegistry::list() const {
  std::vector<AdapterInfo> all;
  {
    const std::scoped_lock lock(mutex_);
    all.reserve(entries_.size());
    for (const auto& [name, info] : entries_) all.push_back(info);
  }
  std::ranges::sort(all, {}, &AdapterInfo::number);
  return all;
}

std::string AdapterRegistry::standard() const {
  const std::scoped_lock lock(mutex_);
  return standard_;
}

Result<void> AdapterRegistry::set_standard(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  if (!name.empty() && !entries_.contains(name)) return no_such(name);
  standard_ = name;
  return {};
}

std::int64_t AdapterRegistry::bytes() const {
  const std::scoped_lock lock(mutex_);
  return kept_bytes_;
}

Result<void> change_adapter(const ServedModel& model, const AdapterChange& change) {
  AdapterRegistry* const registry = model.adapters.get();
  if (registry == nullptr) return takes_none(change.name);
  if (!change.unloads) return registry->load(change);
  return change.erases_files ? registry->erase(change.name) : registry->unload(change.name);
}

Result<AdapterRegistry::Prepared> find_adapter(const ServedModel& model, const std::string& name) {
  if (model.adapters == nullptr) return takes_none(name);
  return model.adapters->find(name);
}

}  // namespace weft
