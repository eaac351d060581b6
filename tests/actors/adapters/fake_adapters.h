#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/device_adapter.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {

/// Adapters that are files of a few letters, which are their content, or folders of PEFT's with
/// such a file. Each takes ten bytes of
/// memory. A file that begins with "bad" cannot be read, and the reader of "throw" throws.
class FakeAdapters {
 public:
  /// The content of such a file.
  static AdapterId id_of(const std::string& letters) {
    AdapterId id;
    for (std::size_t i = 0; i < letters.size() && i < id.bytes.size(); ++i) {
      id.bytes[i] = static_cast<std::byte>(letters[i]);
    }
    return id;
  }

  [[nodiscard]] AdapterRegistry::Options options() {
    AdapterRegistry::Options options;
    options.folder = folder.path().string();
    options.host_bytes = 1000;
    options.read = [this](const std::filesystem::path& path) { return read(path); };
    options.prepare = [this](const Adapter& adapter) { return prepare(adapter); };
    options.now = [this] { return now; };
    return options;
  }

  TempFolder folder;
  TimePoint now{std::chrono::hours(1)};
  int reads = 0;
  int prepares = 0;

 private:
  Result<Adapter> read(const std::filesystem::path& path) {
    ++reads;
    const bool is_folder = std::filesystem::is_directory(path);
    std::ostringstream text;
    text << std::ifstream(is_folder ? path / "adapter_model.safetensors" : path).rdbuf();
    const std::string letters = text.str();
    if (letters == "throw") throw std::runtime_error("a reader throws");
    if (letters.empty() || letters.starts_with("bad")) return bad_adapter(path.string(), "is bad");
    Adapter adapter;
    AdapterTarget& target = adapter.targets.emplace_back();
    target.tensor = "w";
    target.rank = 4;
    const AdapterId id = id_of(letters);
    std::ranges::copy(id.bytes, adapter.hash.begin());
    return adapter;
  }

  Result<AdapterRegistry::Prepared> prepare(const Adapter& adapter) {
    ++prepares;
    auto prepared = std::make_shared<PreparedAdapter>();
    std::copy_n(adapter.hash.begin(), prepared->id.bytes.size(), prepared->id.bytes.begin());
    prepared->bytes = 10;
    return AdapterRegistry::Prepared(std::move(prepared));
  }
};

}  // namespace weft::test
