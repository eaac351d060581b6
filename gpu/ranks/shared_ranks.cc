#include "weft/gpu/ranks/shared_ranks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "weft/core/actor/supervision.h"
#include "weft/core/defaults.h"
#include "weft/core/error/internal_error.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/gpu/ranks/shared_word.h"

namespace weft {
namespace {

/// The least numbers that a slot of a stage, or of a ring, has room for. Longer messages go in
/// pieces.
constexpr std::int64_t kSlotNumbers = std::int64_t{64} * 1024;
/// The most steps that a sender may be ahead of its receiver.
constexpr std::int64_t kStepsAhead = 2;

struct alignas(kCacheLineBytes) SharedControl {
  std::atomic<std::uint32_t> lost;
};

struct alignas(kCacheLineBytes) SharedMeeting {
  SharedWord turn;  // number of finished meetings
  std::atomic<std::uint32_t> arrived;
};

struct alignas(kCacheLineBytes) SharedRingState {
  SharedWord written;
  alignas(kCacheLineBytes) SharedWord read;
};

/// A queue of slots from one rank to another.
struct SharedRing {
  SharedRingState* state = nullptr;
  std::byte* slots = nullptr;
  std::size_t slot_bytes = 0;
  std::uint32_t slot_count = 0;

  [[nodiscard]] std::byte* slot(std::uint32_t number) const noexcept {
    return slots + slot_bytes * (number % slot_count);
  }
};

/// Hands out pieces of memory one after the other; without memory it only counts.
class Arranger {
 public:
  explicit Arranger(std::byte* start) : start_(start) {}

  template <class T>
  T* take(std::size_t count = 1) {
    const std::size_t at = used_;
    used_ += (count * sizeof(T) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    return start_ == nullptr ? nullptr : reinterpret_cast<T*>(start_ + at);
  }

  SharedRing ring(std::size_t slot_bytes, std::uint32_t count) {
    SharedRing ring{take<SharedRingState>(), nullptr, slot_bytes, count};
    ring.slots = take<std::byte>(slot_bytes * count);
    return ring;
  }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  std::byte* start_;
  std::size_t used_ = 0;
};

std::size_t bytes_of_floats(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(float);
}

}  // namespace

/// The addresses in the shared memory. They are the same in each process, since they follow from
/// the layout.
struct SharedRanks::Places {
  struct Stage {
    SharedMeeting* meeting = nullptr;
    float* slots = nullptr;           // [2][ranks][slot_numbers]
    std::vector<SharedRing> streams;  // by rank; from the previous stage
    std::vector<SharedRing> tokens;   // by rank; only in the first stage
  };

  Places(const RanksLayout& layout, std::byte* start) {
    Arranger arranger(start);
    control = arranger.take<SharedControl>();
    slot_numbers = std::max(kSlotNumbers, layout.columns);
    const std::int64_t step = std::max<std::int64_t>(layout.hidden * layout.step_tokens, 1);
    const auto pieces =
        static_cast<std::uint32_t>(kStepsAhead * ((step + kSlotNumbers - 1) / kSlotNumbers));
    const std::size_t token_bytes =
        sizeof(std::uint32_t) + static_cast<std::size_t>(layout.rows) * sizeof(SlotToken);
    for (std::size_t i = 0; i < layout.widths.size(); ++i) {
      Stage& stage = stages.emplace_back();
      const auto width = static_cast<std::size_t>(layout.widths[i]);
      stage.meeting = arranger.take<SharedMeeting>();
      stage.slots = arranger.take<float>(2 * width * static_cast<std::size_t>(slot_numbers));
      for (std::size_t rank = 0; rank < width; ++rank) {
        if (i > 0) {
          stage.streams.push_back(arranger.ring(bytes_of_floats(kSlotNumbers), pieces));
        } else {
          const auto steps = static_cast<std::uint32_t>(layout.widths.size() + 1);
          stage.tokens.push_back(arranger.ring(token_bytes, steps));
        }
      }
    }
    bytes = arranger.used();
  }

  SharedControl* control = nullptr;
  std::vector<Stage> stages;
  std::int64_t slot_numbers = 0;
  std::size_t bytes = 0;
};

class SharedRanks::Link final : public RankLink {
 public:
  Link(std::shared_ptr<SharedRanks> ranks, std::int32_t stage, std::int32_t rank)
      : ranks_(std::move(ranks)),
        places_(*ranks_->places_),
        stage_number_(static_cast<std::size_t>(stage)),
        stage_(places_.stages[stage_number_]),
        rank_(static_cast<std::size_t>(rank)),
        width_(static_cast<std::size_t>(ranks_->layout_.widths[stage_number_])),
        spin_(ranks_->layout_.shares_processors
                  ? std::chrono::nanoseconds{0}
                  : std::chrono::nanoseconds(defaults::kSpinBeforePark)) {
    heard_.resize(static_cast<std::size_t>(ranks_->layout_.rows));
  }

  void all_reduce(std::span<float> values) override {
    if (width_ == 1) return;
    const auto most = static_cast<std::size_t>(places_.slot_numbers);
    while (!values.empty()) {
      const auto piece = values.first(std::min(values.size(), most));
      std::ranges::copy(piece, slot(rank_));
      meet();
      std::copy_n(slot(0), piece.size(), piece.begin());
      for (std::size_t other = 1; other < width_; ++other) {
        const float* from = slot(other);
        for (std::size_t i = 0; i < piece.size(); ++i) piece[i] += from[i];
      }
      next_set();
      values = values.subspan(piece.size());
    }
  }

  void gather(const ConstRows& part, std::span<const Extent> columns, const Rows& whole) override {
    const std::int64_t widest = std::ranges::max(columns, {}, &Extent::count).count;
    if (widest > places_.slot_numbers) internal_error("gather: more columns than were foreseen");
    const std::int64_t most = std::max<std::int64_t>(places_.slot_numbers / widest, 1);
    for (std::int64_t first = 0; first < part.count; first += most) {
      const std::int64_t rows = std::min(most, part.count - first);
      for (std::int64_t i = 0; i < rows; ++i) {
        std::copy_n(part.row(first + i), part.width, slot(rank_) + i * part.width);
      }
      meet();
      if (rank_ == 0) take_columns(columns, whole, first, rows);
      next_set();
    }
  }

  void send(std::span<const float> values) override {
    const std::size_t next = stage_number_ + 1;
    const auto& streams = places_.stages[next].streams;
    for (std::size_t to = rank_; to < streams.size(); to += width_) {
      std::uint32_t& written = sent_.at(to);
      for_pieces(values.size(), [&](std::size_t first, std::size_t count) {
        write(streams[to], written, std::as_bytes(values.subspan(first, count)));
      });
    }
  }

  void receive(std::span<float> values) override {
    for_pieces(values.size(), [&](std::size_t first, std::size_t count) {
      const SharedRing& ring = stage_.streams[rank_];
      const std::byte* slot = wait_for_slot(ring, received_);
      std::memcpy(values.data() + first, slot, count * sizeof(float));
      free_slot(ring, received_);
    });
  }

  void tell_tokens(std::span<const SlotToken> tokens) override {
    const auto& rings = places_.stages.front().tokens;
    for (std::size_t to = 0; to < rings.size(); ++to) {
      if (stage_number_ == 0 && to == rank_) continue;
      std::uint32_t& written = told_.at(to);
      std::byte* const slot = wait_for_room(rings[to], written);
      const auto count = static_cast<std::uint32_t>(tokens.size());
      std::memcpy(slot, &count, sizeof(count));
      std::ranges::copy(std::as_bytes(tokens), slot + sizeof(count));
      publish(rings[to], written);
    }
  }

  std::span<const SlotToken> hear_tokens() override {
    const SharedRing& ring = stage_.tokens[rank_];
    const std::byte* slot = wait_for_slot(ring, heard_messages_);
    std::uint32_t count = 0;
    std::memcpy(&count, slot, sizeof(count));
    std::memcpy(heard_.data(), slot + sizeof(count), count * sizeof(SlotToken));
    free_slot(ring, heard_messages_);
    return std::span(heard_).first(count);
  }

  [[nodiscard]] Duration waited() const noexcept override { return waited_; }

  void abandon() noexcept override { ranks_->abandon(); }

 private:
  template <class Work>
  static void for_pieces(std::size_t size, const Work& work) {
    const auto most = static_cast<std::size_t>(kSlotNumbers);
    for (std::size_t first = 0; first < size; first += most) {
      work(first, std::min(most, size - first));
    }
  }

  [[nodiscard]] float* slot(std::size_t rank) const {
    const std::size_t index = set_ * width_ + rank;
    return stage_.slots + index * static_cast<std::size_t>(places_.slot_numbers);
  }
  void next_set() { set_ = 1 - set_; }

  void take_columns(std::span<const Extent> columns, const Rows& whole, std::int64_t first,
                    std::int64_t rows) const {
    for (std::size_t from = 0; from < width_; ++from) {
      const Extent& place = columns[from];
      for (std::int64_t i = 0; i < rows; ++i) {
        std::copy_n(slot(from) + i * place.count, place.count, whole.row(first + i) + place.first);
      }
    }
  }

  /// Waits until every rank of the stage has called meet() as often as this rank.
  void meet() {
    check();
    const std::uint32_t seen = meetings_++;
    SharedMeeting& meeting = *stage_.meeting;
    const std::uint32_t here = meeting.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (here == width_) {
      meeting.arrived.store(0, std::memory_order_relaxed);
      meeting.turn.increment();
      return;
    }
    wait(meeting.turn, seen);
  }

  void wait(SharedWord& word, std::uint32_t seen) {
    if (word.load() != seen) return;
    const auto began = std::chrono::steady_clock::now();
    while (word.load() == seen) {
      word.wait(seen, spin_, places_.control->lost);
      if (word.load() == seen) check();
    }
    waited_ += std::chrono::steady_clock::now() - began;
  }

  void check() const {
    if (places_.control->lost.load(std::memory_order_acquire) == 0) return;
    throw ActorFailure(ExitKind::kDeviceLost, "another rank of the model was lost");
  }

  std::byte* wait_for_room(const SharedRing& ring, std::uint32_t written) {
    check();
    wait_while_full(ring, written);
    return ring.slot(written);
  }
  void wait_while_full(const SharedRing& ring, std::uint32_t written) {
    const std::uint32_t full = written - ring.slot_count;
    wait(ring.state->read, full);
  }
  static void publish(const SharedRing& ring, std::uint32_t& written) {
    ++written;
    ring.state->written.increment();
  }
  void write(const SharedRing& ring, std::uint32_t& written, std::span<const std::byte> bytes) {
    std::memcpy(wait_for_room(ring, written), bytes.data(), bytes.size());
    publish(ring, written);
  }

  const std::byte* wait_for_slot(const SharedRing& ring, std::uint32_t read) {
    check();
    wait(ring.state->written, read);
    return ring.slot(read);
  }
  static void free_slot(const SharedRing& ring, std::uint32_t& read) {
    ++read;
    ring.state->read.increment();
  }

  const std::shared_ptr<SharedRanks> ranks_;
  const Places& places_;
  const std::size_t stage_number_;
  const Places::Stage& stage_;
  const std::size_t rank_;
  const std::size_t width_;
  const std::chrono::nanoseconds spin_;
  std::size_t set_ = 0;
  std::uint32_t meetings_ = 0;
  std::uint32_t received_ = 0;
  std::uint32_t heard_messages_ = 0;
  std::array<std::uint32_t, kMostRanks> sent_{};
  std::array<std::uint32_t, kMostRanks> told_{};
  std::vector<SlotToken> heard_;
  Duration waited_{};
};

SharedRanks::SharedRanks(const RanksLayout& layout, HostMemory memory)
    : layout_(layout),
      memory_(std::move(memory)),
      places_(std::make_unique<Places>(layout_, memory_.bytes().data())) {}

SharedRanks::~SharedRanks() = default;

std::size_t SharedRanks::bytes(const RanksLayout& layout) { return Places(layout, nullptr).bytes; }

Result<std::shared_ptr<SharedRanks>> SharedRanks::make(const RanksLayout& layout) {
  auto memory = HostMemory::allocate(bytes(layout));
  if (!memory) return memory.error();
  return on(layout, *std::move(memory));
}

std::shared_ptr<SharedRanks> SharedRanks::on(const RanksLayout& layout, HostMemory memory) {
  return std::shared_ptr<SharedRanks>(new SharedRanks(layout, std::move(memory)));
}

std::unique_ptr<RankLink> SharedRanks::link(std::int32_t stage, std::int32_t rank) {
  return std::make_unique<Link>(shared_from_this(), stage, rank);
}

void SharedRanks::abandon() noexcept {
  places_->control->lost.store(1, std::memory_order_release);
  for (const Places::Stage& stage : places_->stages) {
    stage.meeting->turn.wake();
    for (const auto* rings : {&stage.streams, &stage.tokens}) {
      for (const SharedRing& ring : *rings) {
        ring.state->written.wake();
        ring.state->read.wake();
      }
    }
  }
}

}  // namespace weft
