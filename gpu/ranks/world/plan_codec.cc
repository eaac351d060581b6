#include "weft/gpu/ranks/world/plan_codec.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/core/io/byte_reader.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/sequence_traits.h"

namespace weft {
namespace {

/// A PlanStart without the members that cannot leave their process.
struct WireStart {
  std::int32_t row = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t first_history = 0;
  std::int32_t history_tokens = 0;
  std::int32_t cross_context = 0;
  std::int32_t first_cross_page = 0;
  std::int32_t cross_pages = 0;
  std::int32_t read_first = 0;  ///< ActivationReader::first_position() of its reader
  std::int32_t read_end = 0;
  SequenceTraits traits{};
  std::uint8_t is_read = 0;
  std::uint8_t reads_logits = 0;
  std::uint8_t needs = 0;  ///< LogitNeeds
  std::uint8_t may_guess = 0;
};

/// Represents another process's reader: this rank computes the logits that the reader wants, and
/// nobody reads them here.
class DistantReader final : public ActivationReader {
 public:
  DistantReader(bool wants_logits, std::int32_t first, std::int32_t end)
      : wants_logits_(wants_logits), first_(first), end_(end) {}
  [[nodiscard]] bool wants_logits() const noexcept override { return wants_logits_; }
  [[nodiscard]] std::int32_t end_position() const noexcept override { return end_; }
  [[nodiscard]] std::int32_t first_position() const noexcept override { return first_; }
  void read(const TokenActivations& /*token*/) override {}

 private:
  const bool wants_logits_;
  const std::int32_t first_;
  const std::int32_t end_;
};

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }

  template <class T>
  void list(const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T>);
    number(static_cast<std::uint32_t>(items.size()));
    const auto* from = reinterpret_cast<const std::byte*>(items.data());
    bytes_.insert(bytes_.end(), from, from + items.size() * sizeof(T));
  }

 private:
  std::vector<std::byte>& bytes_;
};

/// Calls work(list, name) for each list of a plan that is copied byte for byte, in the order of
/// sending.
template <class AnyPlan, class Work>
void for_lists(AnyPlan& plan, const Work& work) {
  work(plan.slab_copies, "slab_copies");
  work(plan.moves, "moves");
  work(plan.tables, "tables");
  work(plan.copies, "copies");
  work(plan.restores, "restores");
  work(plan.encodes, "encodes");
  work(plan.entries, "entries");
  work(plan.snapshots, "snapshots");
  work(plan.forks, "forks");
  work(plan.samples, "samples");
  work(plan.ids, "ids");
  work(plan.pages, "pages");
}

class PlanDecoder {
 public:
  PlanDecoder(std::span<const std::byte> bytes, const DeviceLimits& limits, Plan& plan)
      : reader_(bytes), limits_(limits), plan_(plan) {}

  Result<void> run() {
    plan_.clear();
    Result<void> read = number(plan_.tick, "tick");
    if (read) read = number(plan_.first_row, "first_row");
    if (read) read = number(plan_.rows, "rows");
    for_lists(plan_, [&](auto& items, std::string_view field) {
      if (read) read = list(items, field);
    });
    if (read) read = starts();
    if (!read) return read;
    if (reader_.remaining() != 0) return wrong("end");
    return check();
  }

 private:
  template <class T>
  Result<void> number(T& value, std::string_view field) {
    const auto got = reader_.read<T>(field);
    if (!got) return got.error();
    value = *got;
    return {};
  }

  template <class T>
  Result<void> list(std::vector<T>& items, std::string_view field) {
    const auto count = reader_.read<std::uint32_t>(field);
    if (!count) return count.error();
    const auto bytes = reader_.read_bytes(std::uint64_t{*count} * sizeof(T), field);
    if (!bytes) return bytes.error();
    items.resize(*count);
    if (*count > 0) std::memcpy(static_cast<void*>(items.data()), bytes->data(), bytes->size());
    return {};
  }

  Result<void> starts() {
    std::vector<WireStart> wire;
    if (auto read = list(wire, "starts"); !read) return read;
    for (const WireStart& one : wire) {
      PlanStart& start = plan_.starts.emplace_back();
      start.row = one.row;
      start.prompt_tokens = one.prompt_tokens;
      start.first_history = one.first_history;
      start.history_tokens = one.history_tokens;
      start.cross_context = one.cross_context;
      start.first_cross_page = one.first_cross_page;
      start.cross_pages = one.cross_pages;
      if (!is_sound(one.traits)) return wrong("starts");
      if (one.traits.kv.adapter) return wrong("adapters, which no other process has");
      start.traits = one.traits;
      if (one.needs > static_cast<std::uint8_t>(LogitNeeds::kAll)) return wrong("starts");
      start.needs = static_cast<LogitNeeds>(one.needs);
      start.may_guess = one.may_guess != 0;
      if (one.is_read != 0) {
        start.reader =
            std::make_shared<DistantReader>(one.reads_logits != 0, one.read_first, one.read_end);
      }
    }
    return {};
  }

  static Result<void> wrong(std::string_view field) {
    return Error{DeviceErrc::kOutOfRange, "plan: " + std::string(field)};
  }

  [[nodiscard]] bool is_row(std::int64_t row) const { return row >= 0 && row < limits_.rows; }
  static bool is_run(std::int64_t first, std::int64_t count, std::size_t size) {
    return first >= 0 && count >= 0 && first + count <= static_cast<std::int64_t>(size);
  }

  /// Checks every number that a device uses as an index.
  Result<void> check() const {
    for (const PlanMove& one : plan_.moves) {
      if (!is_row(one.from) || !is_row(one.to)) return wrong("moves");
    }
    for (const PlanCopy& one : plan_.slab_copies) {
      if (!is_page(one.from) || !is_page(one.to)) return wrong("copies");
    }
    for (const PlanCopy& one : plan_.copies) {
      if (!is_copied(one.from) || !is_copied(one.to)) return wrong("copies");
    }
    for (const TokenId id : plan_.ids) {
      if (id < 0 || id >= limits_.vocabulary) return wrong("ids");
    }
    if (auto checked = check_sequences(); !checked) return checked;
    if (auto checked = check_snapshots(); !checked) return checked;
    return check_step();
  }

  [[nodiscard]] bool is_page(std::int32_t page) const { return page >= 0 && page < limits_.pages; }
  [[nodiscard]] bool is_copied(std::int32_t page) const {
    return page >= 0 && page < std::int64_t{limits_.pages} + limits_.host_pages;
  }

  /// Whether entries [first, first + count) of Plan::pages exist and name pages of a KV with `of`
  /// pages.
  [[nodiscard]] bool are_pages(std::int32_t first, std::int32_t count, std::int64_t of) const {
    if (!is_run(first, count, plan_.pages.size())) return false;
    const auto begin = plan_.pages.begin() + first;
    return std::all_of(begin, begin + count,
                       [of](std::int32_t page) { return page >= 0 && page < of; });
  }

  Result<void> check_sequences() const {
    for (const PlanStart& one : plan_.starts) {
      if (!is_row(one.row) || one.prompt_tokens < 0 ||
          !is_run(one.first_history, one.history_tokens, plan_.ids.size()) ||
          !are_pages(one.first_cross_page, one.cross_pages, limits_.cross_pages) ||
          one.cross_context < 0 || limits_.pages_for(one.cross_context) > one.cross_pages) {
        return wrong("starts");
      }
    }
    for (const PlanTable& one : plan_.tables) {
      if (!is_row(one.row) || !are_pages(one.first_page, one.count, limits_.pages) ||
          !is_run(one.first, one.count, static_cast<std::size_t>(limits_.pages_per_row()))) {
        return wrong("tables");
      }
    }
    for (const PlanFork& one : plan_.forks) {
      if (!is_row(one.from) || !is_row(one.to) || one.copied_pages < 0 ||
          one.copied_pages > limits_.pages_per_row()) {
        return wrong("forks");
      }
    }
    return {};
  }

  /// Without state a snapshot has no pages, so a plan may not contain one.
  Result<void> check_snapshots() const {
    const std::int32_t count = limits_.snapshot_pages;
    const std::int64_t places = std::int64_t{limits_.pages} + limits_.host_pages;
    std::int32_t copies = 0;
    for (const PlanRestore& one : plan_.restores) {
      if (!limits_.has_state() || !is_row(one.row) || !are_pages(one.first_page, count, places) ||
          one.after_copies < copies || std::cmp_greater(one.after_copies, plan_.copies.size())) {
        return wrong("restores");
      }
      copies = one.after_copies;
    }
    for (const PlanSnapshot& one : plan_.snapshots) {
      if (!limits_.has_state() || !is_row(one.row) ||
          !are_pages(one.first_page, count, limits_.pages)) {
        return wrong("snapshots");
      }
    }
    return {};
  }

  /// Whether the entry has at most as many guesses as this device makes. Its start may be unsure by
  /// at most as many, because only one plan whose result the host does not have has guesses for the
  /// row.
  [[nodiscard]] bool are_guesses(const PlanEntry& entry) const {
    return entry.guesses >= 0 && entry.guesses <= limits_.guesses && entry.unsure >= 0 &&
           entry.unsure <= std::min(entry.start, limits_.guesses);
  }

  Result<void> check_step() const {
    std::int64_t tokens = 0;
    for (const PlanEntry& one : plan_.entries) {
      const std::int64_t ids = std::int64_t{one.count} - one.guesses;
      const bool given = one.first_id == kLastToken
                             ? ids == 1
                             : ids > 0 && is_run(one.first_id, ids, plan_.ids.size());
      const std::int64_t end = std::int64_t{one.start} + one.count;
      const bool whole = limits_.keeps_kv || one.start == 0;
      if (!is_row(one.row) || one.start < 0 || one.count < 1 || end > limits_.context || !given ||
          !whole || !are_guesses(one)) {
        return wrong("entries");
      }
      tokens += one.count;
    }
    std::int64_t encoded = 0;
    for (const PlanEncode& one : plan_.encodes) {
      if (!is_row(one.row) || !is_run(one.first_id, one.count, plan_.ids.size()) ||
          !are_pages(one.first_page, one.pages, limits_.cross_pages) ||
          one.count > limits_.context || one.pages < limits_.pages_for(one.count)) {
        return wrong("encodes");
      }
      encoded += one.count;
    }
    const auto rows = static_cast<std::size_t>(limits_.rows);
    if (tokens > limits_.step_tokens || encoded > limits_.step_tokens ||
        plan_.entries.size() > rows || plan_.encodes.size() > rows) {
      return wrong("step");
    }
    for (const PlanSample& one : plan_.samples) {
      if (!is_row(one.row) || !is_run(one.entry, 1, plan_.entries.size())) return wrong("samples");
    }
    return plan_.samples.size() > rows ? wrong("samples") : Result<void>();
  }

  ByteReader reader_;
  const DeviceLimits& limits_;
  Plan& plan_;
};

}  // namespace

void encode_plan(const Plan& plan, std::vector<std::byte>& bytes) {
  bytes.clear();
  Writer writer(bytes);
  writer.number(plan.tick);
  writer.number(plan.first_row);
  writer.number(plan.rows);
  for_lists(plan, [&](const auto& items, std::string_view /*name*/) { writer.list(items); });
  writer.number(static_cast<std::uint32_t>(plan.starts.size()));
  for (const PlanStart& start : plan.starts) {
    WireStart one;
    one.row = start.row;
    one.prompt_tokens = start.prompt_tokens;
    one.first_history = start.first_history;
    one.history_tokens = start.history_tokens;
    one.cross_context = start.cross_context;
    one.first_cross_page = start.first_cross_page;
    one.cross_pages = start.cross_pages;
    one.traits = start.traits;
    one.needs =
        static_cast<std::uint8_t>(start.sampling ? logit_needs(*start.sampling) : start.needs);
    one.may_guess = start.may_guess ? 1 : 0;
    one.read_first = start.reader ? start.reader->first_position() : 0;
    one.read_end = start.reader ? start.reader->end_position() : 0;
    one.is_read = start.reader ? 1 : 0;
    one.reads_logits = start.reader && start.reader->wants_logits() ? 1 : 0;
    writer.number(one);
  }
}

Result<void> decode_plan(std::span<const std::byte> bytes, const DeviceLimits& limits, Plan& plan) {
  return PlanDecoder(bytes, limits, plan).run();
}

}  // namespace weft
