#include "weft/gpu/ranks/world/rank_setup.h"

#include <type_traits>

#include "weft/core/io/byte_reader.h"
#include "weft/gpu/device_error.h"

namespace weft {
namespace {

static_assert(std::is_trivially_copyable_v<DeviceLimits>);

template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

void put_text(std::vector<std::byte>& bytes, const std::string& text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), from, from + text.size());
}

/// Reads fields one after the other; remembers the first error.
class SetupReader {
 public:
  explicit SetupReader(std::span<const std::byte> bytes) : reader_(bytes) {}

  template <class T>
  void number(T& value, const char* field) {
    if (failed_) return;
    const auto bytes = reader_.read_bytes(sizeof(T), field);
    if (!bytes) return fail(bytes.error());
    std::memcpy(&value, bytes->data(), sizeof(T));
  }

  void text(std::string& value, const char* field) {
    std::uint32_t size = 0;
    number(size, field);
    if (failed_) return;
    const auto text = reader_.read_text(size, field);
    if (!text) return fail(text.error());
    value = *text;
  }

  [[nodiscard]] Result<void> result() const {
    if (failed_) return *failed_;
    if (reader_.remaining() != 0) return Error{DeviceErrc::kRankLost, "a setup of another version"};
    return {};
  }

 private:
  void fail(const Error& error) { failed_ = error; }

  ByteReader reader_;
  std::optional<Error> failed_;
};

bool is_sound(const RankSetup& setup) {
  const DeviceLimits& limits = setup.limits;
  return setup.index >= 0 && setup.threads >= 0 && limits.rows >= 1 && limits.pages >= 0 &&
         limits.page_tokens >= 1 && limits.step_tokens >= limits.rows && limits.context >= 1 &&
         limits.cross_pages >= 0 && limits.vocabulary >= 1 && limits.stages >= 1;
}

}  // namespace

std::vector<std::byte> encode_setup(const RankSetup& setup) {
  std::vector<std::byte> bytes;
  put(bytes, setup.index);
  put(bytes, setup.limits);
  put(bytes, setup.kv_dtype);
  put(bytes, setup.threads);
  put(bytes, setup.fingerprint);
  put_text(bytes, setup.partition);
  put_text(bytes, setup.memory);
  return bytes;
}

Result<RankSetup> decode_setup(std::span<const std::byte> bytes) {
  RankSetup setup;
  SetupReader reader(bytes);
  reader.number(setup.index, "index");
  reader.number(setup.limits, "limits");
  reader.number(setup.kv_dtype, "kv_dtype");
  reader.number(setup.threads, "threads");
  reader.number(setup.fingerprint, "fingerprint");
  reader.text(setup.partition, "partition");
  reader.text(setup.memory, "memory");
  if (auto read = reader.result(); !read) return read.error();
  if (!is_sound(setup)) return Error{DeviceErrc::kRankLost, "a setup that fits no device"};
  return setup;
}

std::uint64_t fingerprint_of(const Program& program) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : describe(program) + std::to_string(program.weight_bytes())) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

std::int32_t index_of_process(std::int32_t process, std::int32_t ranks,
                              std::int32_t first_of_last) {
  return (first_of_last + process) % ranks;
}

}  // namespace weft
