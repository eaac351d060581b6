#include "weft/gpu/ranks/world/rank_setup.h"

#include <cstring>
#include <optional>
#include <type_traits>

#include "weft/core/io/byte_reader.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/rank_link.h"

namespace weft {
namespace {

static_assert(std::is_trivially_copyable_v<DeviceLimits>);

/// A list of a setup has no more than one entry for each two ranks that meet.
constexpr std::uint32_t kMostEntries = kMostRanks * 4;

/// Writes fields one behind the other.
class SetupWriter {
 public:
  template <class T>
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

// The fields of each, once for writing and reading.
template <class Fields, class Question>
void question_fields(Fields& fields, Question& question) {
  fields.number(question.index, "index");
  fields.text(question.partition, "partition");
  fields.text(question.memory, "memory");
  fields.number(question.mark, "mark");
}

template <class Fields, class Room>
void room_fields(Fields& fields, Room& room) {
  fields.text(room.machine, "machine");
  fields.number(room.free_bytes, "free_bytes");
  fields.number(room.host_bytes, "host_bytes");
  fields.number(room.sees_memory, "sees_memory");
  fields.text(room.address, "address");
  fields.text(room.device, "device");
  fields.number(room.processors, "processors");
  fields.number(room.architecture, "architecture");
  fields.number(room.l2_bytes, "l2_bytes");
}

// DeviceLimits has a bool, which not every byte is: its fields one by one.
template <class Fields, class Limits>
void limit_fields(Fields& fields, Limits& limits) {
  fields.number(limits.rows, "rows");
  fields.number(limits.pages, "pages");
  fields.number(limits.page_tokens, "page_tokens");
  fields.number(limits.host_pages, "host_pages");
  fields.number(limits.kv_on_host, "kv_on_host");
  fields.number(limits.step_tokens, "step_tokens");
  fields.number(limits.context, "context");
  fields.number(limits.cross_pages, "cross_pages");
  fields.number(limits.vocabulary, "vocabulary");
  fields.number(limits.window, "window");
  fields.number(limits.keeps_kv, "keeps_kv");
  fields.number(limits.stages, "stages");
}

template <class Fields, class Setup>
void setup_fields(Fields& fields, Setup& setup) {
  fields.number(setup.index, "index");
  limit_fields(fields, setup.limits);
  fields.number(setup.kv_dtype, "kv_dtype");
  fields.number(setup.threads, "threads");
  fields.number(setup.neighbours, "neighbours");
  fields.number(setup.fingerprint, "fingerprint");
  fields.text(setup.partition, "partition");
  fields.text(setup.memory, "memory");
  fields.list(setup.addresses, "addresses",
              [](Fields& to, auto& address) { to.text(address, "addresses"); });
  fields.list(setup.groups, "groups", [](Fields& to, auto& id) { to.number(id, "groups"); });
}

bool is_sound(const RankSetup& setup) {
  const DeviceLimits& limits = setup.limits;
  return setup.index >= 0 && setup.threads >= 0 && setup.neighbours >= 1 && limits.rows >= 1 &&
         limits.pages >= 0 && limits.page_tokens >= 1 && limits.step_tokens >= limits.rows &&
         limits.context >= 1 && limits.cross_pages >= 0 && limits.host_pages >= 0 &&
         limits.vocabulary >= 1 && limits.window >= 0 && limits.stages >= 1;
}

Error unsound(const char* what) { return {DeviceErrc::kRankLost, what}; }

}  // namespace

std::vector<std::byte> encode_question(const RankQuestion& question) {
  SetupWriter writer;
  question_fields(writer, question);
  return writer.take();
}

std::vector<std::byte> encode_room(const RankRoom& room) {
  SetupWriter writer;
  room_fields(writer, room);
  return writer.take();
}

std::vector<std::byte> encode_setup(const RankSetup& setup) {
  SetupWriter writer;
  setup_fields(writer, setup);
  return writer.take();
}

Result<RankQuestion> decode_question(std::span<const std::byte> bytes) {
  RankQuestion question;
  SetupReader reader(bytes);
  question_fields(reader, question);
  if (auto read = reader.result(); !read) return read.error();
  if (question.index < 0) return unsound("a question that fits no partition");
  return question;
}

Result<RankRoom> decode_room(std::span<const std::byte> bytes) {
  RankRoom room;
  SetupReader reader(bytes);
  room_fields(reader, room);
  if (auto read = reader.result(); !read) return read.error();
  if (room.free_bytes < 0 || room.host_bytes < 0 || room.l2_bytes < 0)
    return unsound("room that no device has");
  return room;
}

Result<RankSetup> decode_setup(std::span<const std::byte> bytes) {
  RankSetup setup;
  SetupReader reader(bytes);
  setup_fields(reader, setup);
  if (auto read = reader.result(); !read) return read.error();
  if (!is_sound(setup)) return unsound("a setup that fits no device");
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
