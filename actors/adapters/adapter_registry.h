#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/adapters/adapter_folder.h"
#include "weft/actors/adapters/adapter_info.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/device_adapter.h"
#include "weft/model/adapters/adapter.h"

namespace weft {

struct ServedModel;

/// The adapters that requests of one model can name, and their numbers in host memory. A request
/// takes a name's adapter once, so a name that gets another content leaves it what it has. Two
/// names of one content share it. Beyond a bound of bytes the least recently used adapter leaves
/// memory, and is read again on use. Adapters that requests hold count as well: where these alone
/// reach the bound, no further one is read until some have ended. Thread-safe; load() and prepare()
/// read files and block.
class AdapterRegistry {
 public:
  using Prepared = std::shared_ptr<const PreparedAdapter>;

  struct Options {
    std::string folder{};         ///< Config::adapters_folder
    bool any_path = false;        ///< Config::adapters_any_path
    std::int64_t upload_bytes{};  ///< Config::adapters_upload_bytes
    std::int64_t host_bytes{};    ///< Config::adapters_host_bytes
    /// So many adapters can be in memory whatever their bytes, so that all places can be used.
    std::int64_t places = 1;
    /// Reads an adapter and compares it with the model.
    std::function<Result<Adapter>(const std::filesystem::path& path)> read{};
    /// Makes of it what the model's devices need.
    std::function<Result<Prepared>(const Adapter& adapter)> prepare{};
    /// Is told what an adapter's reader warns of, and why a request's adapter could not be read;
    /// may be null. On the thread that reads.
    std::function<void(const std::string& what)> tell{};
    std::function<TimePoint()> now = [] { return std::chrono::steady_clock::now(); };
  };

  /// An adapter that could not be read is not read again for a request while its files stay as they
  /// are, for so long. What failed for another reason, such as a lack of memory, is then tried
  /// again.
  static constexpr std::chrono::seconds kFailureHolds{60};
  /// Failures that are remembered; beyond them the one that ends first is forgotten.
  static constexpr std::size_t kMostFailures = 256;

  explicit AdapterRegistry(Options options)
      : options_(std::move(options)), folder_(options_.folder, options_.now) {}
  AdapterRegistry(const AdapterRegistry&) = delete;
  AdapterRegistry& operator=(const AdapterRegistry&) = delete;
  ~AdapterRegistry() = default;

  /// Replaces Options::tell, before there are other threads.
  void tell_by(std::function<void(const std::string& what)> tell) {
    options_.tell = std::move(tell);
  }

  /// Whether requests can use the name: a known one, or one that the folder offers. Looks into the
  /// folder for a name that is not known, but not each time (AdapterFolder::offers).
  [[nodiscard]] bool has(std::string_view name) const;
  /// Returns a name's adapter if it is in memory; null if prepare() must read it first. Looks into
  /// the folder as has() does. kNoSuchAdapter lists the names that there are.
  [[nodiscard]] Result<Prepared> find(const std::string& name);
  /// Returns a name's adapter, and reads it first if need be. kNoSuchAdapter; kAdapterFailed with
  /// the reader's or the device's reason; kOverloaded: the adapters of other requests have all the
  /// memory.
  [[nodiscard]] Result<Prepared> prepare(const std::string& name);
  /// Gives a name the adapter of a path, or of files that a client sent. kBadRequest: no name for
  /// an adapter, or a path outside of the folder where neither any_path nor AdapterChange::is_own
  /// allows it, or what AdapterUpload::write() refuses; kAdapterLoaded: the name has one, and
  /// `replaces` is false; kAdapterFailed and kOverloaded. An error changes neither the name nor the
  /// folder.
  [[nodiscard]] Result<void> load(const AdapterChange& change);
  /// Gives configured adapters their names, wherever their files lie. Errors as of load(); their
  /// details begin with adapters.named[NAME].
  [[nodiscard]] Result<void> load_named(const std::vector<NamedAdapter>& named);
  /// Removes a name; requests under way keep the adapter. A name of the folder stays removed until
  /// load() gives it an adapter. kNoSuchAdapter.
  [[nodiscard]] Result<void> unload(const std::string& name);
  /// Removes a name, if it is known, and its place in the folder. kNoSuchAdapter: there is neither;
  /// errors of check_erasable(), which change nothing, and of erase_adapter_files().
  [[nodiscard]] Result<void> erase(const std::string& name);

  /// The known adapters, in the order in which their names came.
  [[nodiscard]] std::vector<AdapterInfo> list() const;
  /// The adapter of requests that say nothing of adapters, for APIs that have such a setting;
  /// empty: none. It goes with its name.
  [[nodiscard]] std::string standard() const;
  /// Sets it; "" for none. kNoSuchAdapter: the name is not known, or not any more.
  [[nodiscard]] Result<void> set_standard(const std::string& name);
  /// Bytes of the adapters that it keeps in memory.
  [[nodiscard]] std::int64_t bytes() const;
  /// Bytes of all adapters in memory, also of those that requests alone have.
  [[nodiscard]] std::int64_t live_bytes() const noexcept { return live_->bytes; }

 private:
  /// Numbers that one or several names have.
  struct Content {
    Prepared kept{};                              ///< null: not in memory
    std::weak_ptr<const PreparedAdapter> last{};  ///< the newest, which a request may use
    std::size_t names = 0;
    std::uint64_t used = 0;  ///< number of the latest use
  };
  using Bytes = std::array<std::byte, sizeof(AdapterId)>;
  /// The number of adapters in memory, whether names or requests hold them.
  struct Live {
    std::atomic<std::int64_t> bytes{0};
    std::atomic<std::int64_t> count{0};
  };
  /// An adapter that could not be read.
  struct Failure {
    std::uint64_t stamp = 0;  ///< stamp_of_files()
    TimePoint until{};
    Error why{};
  };
  /// An adapter that was just read.
  struct Read {
    AdapterInfo info;
    Prepared prepared;
  };

  // Called under mutex_.
  [[nodiscard]] Prepared in_memory(const AdapterId& id) const;
  [[nodiscard]] Error no_such(std::string_view name) const;
  void use(Content& content, Prepared prepared);
  void forget(Content& content) noexcept;
  void drop_name(const AdapterId& id) noexcept;
  [[nodiscard]] Content* oldest_kept(const Content* newest, bool unused) noexcept;
  void make_room(const Content& newest) noexcept;
  [[nodiscard]] Result<void> check_room();
  [[nodiscard]] std::optional<Error> known_failure(const std::string& name, std::uint64_t stamp);
  void note_failure(const std::string& name, std::uint64_t stamp, const Error& why);

  [[nodiscard]] Prepared counted(Prepared prepared) const;
  [[nodiscard]] std::filesystem::path path_to_read(const std::string& name) const;
  [[nodiscard]] Result<std::filesystem::path> path_of(const AdapterChange& change) const;
  [[nodiscard]] Result<Read> read(const std::string& name, const std::filesystem::path& path,
                                  const std::string& label);
  [[nodiscard]] Result<Read> read_place(const AdapterChange& change);
  [[nodiscard]] Result<Read> read_upload(const AdapterChange& change);
  void put(Read read);

  Options options_;
  AdapterFolder folder_;
  const std::shared_ptr<Live> live_ = std::make_shared<Live>();
  mutable std::mutex mutex_;  // guards the rest; not held while files are read
  std::map<std::string, AdapterInfo, std::less<>> entries_;  // by name
  std::map<Bytes, Content> contents_;
  std::map<std::string, Failure> failures_;  // by name
  std::string standard_;
  std::int64_t kept_bytes_ = 0;
  std::uint64_t counter_ = 0;     // counts uses
  std::int64_t next_number_ = 0;  // AdapterInfo::number
};

/// Carries out a change of a model's adapters, whatever AdapterChange::model says. Errors of load()
/// and unload(); kNoSuchAdapter where the model takes no adapters.
[[nodiscard]] Result<void> change_adapter(const ServedModel& model, const AdapterChange& change);
/// Returns the registry's find() of the model; kNoSuchAdapter where the model takes no adapters.
[[nodiscard]] Result<AdapterRegistry::Prepared> find_adapter(const ServedModel& model,
                                                             const std::string& name);

}  // namespace weft
