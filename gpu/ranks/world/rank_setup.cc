#include "weft/gpu/ranks/world/rank_setup.h"

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/core/io/byte_reader.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/rank_link.h"

namespace weft {
namespace {

/// The most entries in a list of a setup: one for each pair of ranks that exchange numbers.
constexpr std::uint32_t kMostEntries = kMostRanks * 4;

/// Writes fields one after the other.
class SetupWriter {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void number(const T& value, const char* /*field*/) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }

  void text(const std::string& value, const char* field) {
    number(static_cast<std::uint32_t>(value.size()), field);
    const auto bytes = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  template <class T, class One>
  void list(const std::vector<T>& all, const char* field, const One& one) {
    number(static_cast<std::uint32_t>(all.size()), field);
    for (const T& each : all) one(*this, each);
  }

  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

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
  void number(bool& value, const char* field) {
    std::uint8_t byte = 0;
    number(byte, field);
    value = byte != 0;
  }

  void text(std::string& value, const char* field) {
    std::uint32_t size = 0;
    number(size, field);
    if (failed_) return;
    const auto text = reader_.read_text(size, field);
    if (!text) return fail(text.error());
    value = *text;
  }

  template <class T, class One>
  void list(std::vector<T>& all, const char* field, const One& one) {
    std::uint32_t size = 0;
    number(size, field);
    if (size > kMostEntries) return fail({DeviceErrc::kRankLost, "a setup with too many entries"});
    for (std::uint32_t i = 0; i < size && !failed_; ++i) one(*this, all.emplace_back());
  }

  [[nodiscard]] Result<void> result() const {
    if (failed_) return *failed_;
    if (reader_.remaining() != 0) return Error{DeviceErrc::kRankLost, "a setup of another version"};
    return {};
  }

 private:
  void fail(const Error& error) {
    if (!failed_) failed_ = error;
  }

  ByteReader reader_;
  std::optional<Error> failed_;
};

// The fields of each message, written once for both directions.
constexpr auto kQuestionFields = [](auto& fields, auto& question) {
  fields.number(question.index, "index");
  fields.text(question.partition, "partition");
  fields.text(question.memory, "memory");
  fields.number(question.mark, "mark");
};

constexpr auto kRoomFields = [](auto& fields, auto& room) {
  fields.text(room.machine, "machine");
  fields.number(room.free_bytes, "free_bytes");
  fields.number(room.host_bytes, "host_bytes");
  fields.number(room.sees_memory, "sees_memory");
  fields.text(room.address, "address");
  fields.text(room.device, "device");
  fields.number(room.processors, "processors");
  fields.number(room.architecture, "architecture");
  fields.number(room.l2_bytes, "l2_bytes");
};

// DeviceLimits has bools, and not every byte is a valid bool. So its fields are copied one by one.
constexpr auto kLimitFields = [](auto& fields, auto& limits) {
  fields.number(limits.rows, "rows");
  fields.number(limits.pages, "pages");
  fields.number(limits.page_tokens, "page_tokens");
  fields.number(limits.host_pages, "host_pages");
  fields.number(limits.kv_on_host, "kv_on_host");
  fields.number(limits.rounds_rows, "rounds_rows");
  fields.number(limits.step_tokens, "step_tokens");
  fields.number(limits.context, "context");
  fields.number(limits.cross_pages, "cross_pages");
  fields.number(limits.vocabulary, "vocabulary");
  fields.number(limits.window, "window");
  fields.number(limits.keeps_kv, "keeps_kv");
  fields.number(limits.stages, "stages");
  fields.number(limits.state_bytes, "state_bytes");
  fields.number(limits.snapshot_pages, "snapshot_pages");
  fields.number(limits.snapshot_every, "snapshot_every");
};

constexpr auto kSetupFields = [](auto& fields, auto& setup) {
  fields.number(setup.index, "index");
  kLimitFields(fields, setup.limits);
  fields.number(setup.kv_dtype, "kv_dtype");
  fields.number(setup.threads, "threads");
  fields.number(setup.neighbours, "neighbours");
  fields.number(setup.fingerprint, "fingerprint");
  fields.text(setup.partition, "partition");
  fields.text(setup.memory, "memory");
  fields.list(setup.addresses, "addresses",
              [](auto& to, auto& address) { to.text(address, "addresses"); });
  fields.list(setup.groups, "groups", [](auto& to, auto& id) { to.number(id, "groups"); });
};

template <class What, class Fields>
std::vector<std::byte> encode(const What& what, const Fields& fields) {
  SetupWriter writer;
  fields(writer, what);
  return writer.take();
}

/// `is_sound` says whether a head or rank can send such a value; `unsound` describes the error.
template <class What, class Fields, class Sound>
Result<What> decode(std::span<const std::byte> bytes, const Fields& fields, const Sound& is_sound,
                    const char* unsound) {
  What what;
  SetupReader reader(bytes);
  fields(reader, what);
  if (auto read = reader.result(); !read) return read.error();
  if (!is_sound(what)) return Error{DeviceErrc::kRankLost, unsound};
  return what;
}

bool fits_a_device(const RankSetup& setup) {
  const DeviceLimits& limits = setup.limits;
  return setup.index >= 0 && setup.threads >= 0 && setup.neighbours >= 1 && limits.rows >= 1 &&
         limits.pages >= 0 && limits.page_tokens >= 1 && limits.step_tokens >= limits.rows &&
         limits.context >= 1 && limits.cross_pages >= 0 && limits.host_pages >= 0 &&
         limits.vocabulary >= 1 && limits.window >= 0 && limits.stages >= 1 &&
         limits.state_bytes >= 0 && limits.snapshot_pages >= 0 && limits.snapshot_every >= 0;
}

}  // namespace

std::vector<std::byte> encode_question(const RankQuestion& question) {
  return encode(question, kQuestionFields);
}

std::vector<std::byte> encode_room(const RankRoom& room) { return encode(room, kRoomFields); }

std::vector<std::byte> encode_setup(const RankSetup& setup) { return encode(setup, kSetupFields); }

Result<RankQuestion> decode_question(std::span<const std::byte> bytes) {
  const auto is_sound = [](const RankQuestion& question) { return question.index >= 0; };
  return decode<RankQuestion>(bytes, kQuestionFields, is_sound,
                              "a question that fits no partition");
}

Result<RankRoom> decode_room(std::span<const std::byte> bytes) {
  const auto is_sound = [](const RankRoom& room) {
    return room.free_bytes >= 0 && room.host_bytes >= 0 && room.l2_bytes >= 0;
  };
  return decode<RankRoom>(bytes, kRoomFields, is_sound, "room that no device has");
}

Result<RankSetup> decode_setup(std::span<const std::byte> bytes) {
  return decode<RankSetup>(bytes, kSetupFields, fits_a_device, "a setup that fits no device");
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
