#include "weft/tests/cuda_host/machine.h"

#include <sanitizer/common_interface_defs.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "weft/tests/cuda_host/fiber.h"
#include "weft/tests/cuda_host/shared_memory.h"

namespace weft::cuda_host {

Place place;

namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024;  // of a block
constexpr unsigned kThreadsOfProcessor = 2048;
constexpr std::size_t kPlainBytes = 1024;  // of shared memory that a block has besides its own
constexpr std::uint32_t kCopyOdds = 4;     // one turn of so many does a copy that is under way

class Random {
 public:
  Random() {
    const char* seed = std::getenv("WEFT_CUDA_HOST_SEED");
    state_ = (seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10)) * 0x9e3779b97f4a7c15U + 1;
  }
  std::uint32_t next() {  // xorshift64*
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1dU) >> 32U);
  }
  std::size_t below(std::size_t limit) { return next() % limit; }

 private:
  std::uint64_t state_ = 1;
};

Random& numbers() {
  static Random random;
  return random;
}

template <class T>
T take_any(std::vector<T>& from) {
  std::swap(from[numbers().below(from.size())], from.back());
  T taken = std::move(from.back());
  from.pop_back();
  return taken;
}

/// Fibers that no thread has. They stay for later launches.
std::vector<Fiber*>& idle_fibers() {
  static auto* const fibers = new std::vector<Fiber*>;
  return *fibers;
}

}  // namespace

struct Thread {
  unsigned number = 0;
  Index index;
  Fiber* fiber = nullptr;  ///< from its start to its end
  bool is_done = false;
  // While it waits: what for, and where in the kernel.
  const char* waits_for = nullptr;
  void* waits_at = nullptr;
  Pending fetches;
  Pending products;
  // By read_changed().
  const unsigned* read_from = nullptr;
  unsigned read = 0;
};

namespace {

/// Lanes of a warp that meet.
struct Meeting {
  const char* what = nullptr;
  std::uint32_t mask = 0;
  std::uint32_t present = 0;
  void* brought[kWarp] = {};
  Combine combine = nullptr;
};

struct Barrier {
  unsigned expected = 0;
  std::vector<Thread*> waiting;
};

class Block {
 public:
  Block(const Launch& launch, Index in_grid, unsigned in_cluster)
      : index(in_grid),
        rank(in_cluster),
        threads(std::size_t{launch.block.x} * launch.block.y * launch.block.z),
        meetings((threads.size() + kWarp - 1) / kWarp),
        live_lanes(meetings.size()),
        live(static_cast<unsigned>(threads.size())) {
    for (unsigned i = 0; i < threads.size(); ++i) {
      threads[i].number = i;
      threads[i].index = {i % launch.block.x, i / launch.block.x % launch.block.y,
                          i / launch.block.x / launch.block.y};
      ready.push_back(&threads[i]);
      live_lanes[i / kWarp] |= 1U << i % kWarp;
    }
  }

  void release(std::vector<Thread*>& waiting) {
    ready.insert(ready.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }

  Index index;
  unsigned rank;  ///< in its cluster
  std::vector<Thread> threads;
  std::vector<std::vector<Meeting>> meetings;  ///< by warp
  std::vector<std::uint32_t> live_lanes;       ///< by warp: those that have not ended
  std::array<Barrier, 16> barriers;
  std::vector<Thread*> ready;
  std::vector<Thread*> polling;
  std::vector<Thread*> at_cluster_barrier;
  std::vector<std::function<void()>> copies;  ///< under way
  std::vector<Block*> cluster;
  std::vector<std::byte> image;  ///< its shared memory, while another block runs
  unsigned live;
  std::uint64_t seen = 0;  ///< the changes when it could not go on
};

struct Running {
  const Launch* launch = nullptr;
  Block* block = nullptr;
  Thread* thread = nullptr;
  std::uint64_t changes = 1;
};
Running running;

std::string name_of(const void* code) {
  char text[512];
  __sanitizer_symbolize_pc(const_cast<void*>(code), "%f", text, sizeof(text));
  return text;
}
std::string line_of(void* code) {
  char text[1024];
  __sanitizer_symbolize_pc(code, "%f %S", text, sizeof(text));
  return text;
}

void print_place(const Launch& launch, const Block* block, const Thread* thread) {
  std::fprintf(stderr, "  in %s", name_of(launch.kernel).c_str());
  if (block != nullptr) {
    std::fprintf(stderr, ", block (%u, %u, %u) of (%u, %u, %u)", block->index.x, block->index.y,
                 block->index.z, launch.grid.x, launch.grid.y, launch.grid.z);
  }
  if (thread != nullptr) {
    std::fprintf(stderr, ", thread (%u, %u, %u) of (%u, %u, %u)", thread->index.x, thread->index.y,
                 thread->index.z, launch.block.x, launch.block.y, launch.block.z);
  }
  std::fprintf(stderr, "\n");
}

/// Prints what the threads of blocks that cannot go on wait for, a line for all that wait at one
/// place.
[[noreturn]] void report_deadlock(const Launch& launch,
                                  const std::vector<std::unique_ptr<Block>>& blocks) {
  std::fprintf(stderr, "cuda_host: deadlock\n");
  for (const auto& block : blocks) {
    print_place(launch, block.get(), nullptr);
    std::map<std::pair<const char*, void*>, std::vector<unsigned>> places;
    for (const Thread& thread : block->threads) {
      if (!thread.is_done) places[{thread.waits_for, thread.waits_at}].push_back(thread.number);
    }
    for (const auto& [at, waiting] : places) {
      std::fprintf(stderr, "    %zu threads from thread %u on wait for %s: %s\n", waiting.size(),
                   waiting.front(), at.first, line_of(at.second).c_str());
    }
    std::fprintf(stderr, "    %zu threads have ended\n", block->threads.size() - block->live);
  }
  std::abort();
}

/// Gives the processor back until another makes the thread ready.
void wait_for(const char* what, void* at) {
  Thread& thread = *running.thread;
  thread.waits_for = what;
  thread.waits_at = at;
  thread.fiber->suspend();
}

bool end_block_barrier(Block& block) {
  Barrier& barrier = block.barriers[0];
  if (barrier.waiting.empty() || barrier.waiting.size() < block.live) return false;
  ++running.changes;
  block.release(barrier.waiting);
  return true;
}

bool end_cluster_barrier(Block& block) {
  for (const Block* one : block.cluster) {
    if (one->at_cluster_barrier.size() < one->live) return false;
  }
  ++running.changes;
  for (Block* one : block.cluster) one->release(one->at_cluster_barrier);
  return true;
}

void end_meeting(Block& block, unsigned warp, std::size_t which, const Thread* last) {
  Meeting meeting = block.meetings[warp][which];
  block.meetings[warp].erase(block.meetings[warp].begin() + static_cast<std::ptrdiff_t>(which));
  meeting.combine(meeting.brought, meeting.present);
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    Thread& thread =
        block.threads[std::min<std::size_t>(warp * kWarp + lane, block.threads.size() - 1)];
    if ((meeting.present >> lane & 1U) != 0 && &thread != last) block.ready.push_back(&thread);
  }
}

/// Barriers do not wait for threads that have ended.
void end_thread(Block& block, Thread& thread) {
  thread.is_done = true;
  --block.live;
  ++running.changes;
  idle_fibers().push_back(std::exchange(thread.fiber, nullptr));
  end_block_barrier(block);
  if (block.cluster.size() > 1) end_cluster_barrier(block);
  const unsigned warp = thread.number / kWarp;
  auto& meetings = block.meetings[warp];
  const std::uint32_t lanes = block.live_lanes[warp] &= ~(1U << thread.number % kWarp);
  for (std::size_t i = meetings.size(); i-- > 0;) {
    if (meetings[i].present == (meetings[i].mask & lanes)) end_meeting(block, warp, i, nullptr);
  }
}

void run_thread(Block& block, Thread& thread) {
  running.thread = &thread;
  place.thread = thread.index;
  if (thread.fiber == nullptr) {
    if (idle_fibers().empty()) idle_fibers().push_back(new Fiber);
    thread.fiber = idle_fibers().back();
    idle_fibers().pop_back();
    thread.fiber->start([&thread] {
      running.launch->body();
      thread.is_done = true;
    });
  }
  thread.fiber->resume();
  running.thread = nullptr;
  if (thread.is_done) end_thread(block, thread);
}

void do_a_copy(Block& block) {
  const std::function<void()> copy = take_any(block.copies);
  copy();
  ++running.changes;
}

/// Runs threads in a random order until the block ends or all wait.
void run_block(Block& block) {
  while (true) {
    if (!block.copies.empty() && (block.ready.empty() || numbers().below(kCopyOdds) == 0)) {
      do_a_copy(block);
    } else if (!block.ready.empty()) {
      run_thread(block, *take_any(block.ready));
    } else if (!block.polling.empty() && block.seen != running.changes) {
      block.seen = running.changes;
      block.release(block.polling);
    } else {
      return;
    }
  }
}

/// The blocks of a launch.
class Grid {
 public:
  explicit Grid(const Launch& launch) : launch_(launch) {
    const unsigned blocks = launch.grid.x * launch.grid.y * launch.grid.z;
    for (unsigned first = 0; first < blocks; first += launch.cluster) unstarted_.push_back(first);
    const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
    at_once_ = static_cast<std::size_t>(kProcessors) *
               static_cast<std::size_t>(blocks_of_processor(threads, launch.shared_bytes));
    at_once_ = std::max<std::size_t>(at_once_, launch.cluster);
    // All that a launch may count on is 16 bytes.
    SharedMemory::instance().begin_launch(launch.shared_bytes, numbers().below(64) * 16);
  }

  void run() {
    while (true) {
      if (Block* const block = any_that_may_go_on()) {
        activate(*block);
        run_block(*block);
        if (block->live == 0) end(*block);
      } else if (!unstarted_.empty() && blocks_.size() + launch_.cluster <= at_once_) {
        start(take_any(unstarted_));
      } else if (blocks_.empty()) {
        return;
      } else {
        report_deadlock(launch_, blocks_);
      }
    }
  }

 private:
  void start(unsigned first) {
    std::vector<Block*> cluster;
    for (unsigned rank = 0; rank < launch_.cluster; ++rank) {
      const unsigned number = first + rank;
      const Index index{number % launch_.grid.x, number / launch_.grid.x % launch_.grid.y,
                        number / launch_.grid.x / launch_.grid.y};
      blocks_.push_back(std::make_unique<Block>(launch_, index, rank));
      cluster.push_back(blocks_.back().get());
    }
    for (Block* block : cluster) {
      block->cluster = cluster;
      if (cluster.size() == 1) continue;
      leave();
      SharedMemory::instance().forget();
      block->image = SharedMemory::instance().save();
    }
  }

  Block* any_that_may_go_on() {
    std::vector<Block*> some;
    for (const auto& block : blocks_) {
      const bool hears = !block->polling.empty() && block->seen != running.changes;
      if (!block->ready.empty() || hears) some.push_back(block.get());
    }
    return some.empty() ? nullptr : some[numbers().below(some.size())];
  }

  void leave() {
    if (active_ != nullptr) active_->image = SharedMemory::instance().save();
    active_ = nullptr;
  }

  void activate(Block& block) {
    if (active_ != &block) {
      leave();
      if (block.image.empty()) {
        SharedMemory::instance().forget();
      } else {
        SharedMemory::instance().restore(block.image);
      }
      active_ = &block;
    }
    running.block = &block;
    place.block = block.index;
  }

  void end(Block& block) {
    // Others of its cluster may still read its memory, until they end.
    if (std::ranges::any_of(block.cluster, [](Block* one) { return one->live > 0; })) return;
    active_ = nullptr;
    std::erase_if(blocks_, [cluster = block.cluster](const auto& one) {
      return std::ranges::find(cluster, one.get()) != cluster.end();
    });
  }

  const Launch& launch_;
  std::vector<unsigned> unstarted_;  ///< first blocks of clusters
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t at_once_ = 1;
  Block* active_ = nullptr;
};

}  // namespace

int blocks_of_processor(unsigned threads, std::size_t shared_bytes) {
  if (threads == 0 || threads > kMostThreads || shared_bytes > most_dynamic_bytes()) return 0;
  return static_cast<int>(std::min<std::size_t>(kThreadsOfProcessor / threads,
                                                kBytesOfProcessor / (shared_bytes + kPlainBytes)));
}

void run(const Launch& launch) {
  running.launch = &launch;
  place.block_size = launch.block;
  place.grid_size = launch.grid;
  Grid(launch).run();
  running = {};
}

void report(const char* what) {
  std::fprintf(stderr, "cuda_host: %s\n", what);
  if (running.launch != nullptr) print_place(*running.launch, running.block, running.thread);
  __sanitizer_print_stack_trace();
  std::abort();
}

unsigned thread_number() { return running.thread->number; }
std::uint32_t random_number() { return numbers().next(); }
void note_change() { ++running.changes; }

void meet_block() {
  running.block->barriers[0].waiting.push_back(running.thread);
  end_block_barrier(*running.block);
  wait_for("barrier 0 of the block", __builtin_return_address(0));
}

void meet_some(int barrier, int threads) {
  Block& block = *running.block;
  if (barrier < 0 || barrier > 15 || threads <= 0 || static_cast<unsigned>(threads) % kWarp != 0) {
    report("a barrier that there is not, or of no whole warps");
  }
  Barrier& own = block.barriers[static_cast<std::size_t>(barrier)];
  if (!own.waiting.empty() && own.expected != static_cast<unsigned>(threads)) {
    report("threads meet at one barrier and expect different numbers of them");
  }
  own.expected = static_cast<unsigned>(threads);
  own.waiting.push_back(running.thread);
  if (own.waiting.size() == own.expected) {
    ++running.changes;
    block.release(own.waiting);
  }
  wait_for("a barrier of some threads", __builtin_return_address(0));
}

namespace {

Block& block_of_cluster(int rank) {
  const std::vector<Block*>& cluster = running.block->cluster;
  if (rank < 0 || static_cast<std::size_t>(rank) >= cluster.size()) {
    report("a block that is not in the cluster");
  }
  return *cluster[static_cast<std::size_t>(rank)];
}

}  // namespace

void meet_blocks() {
  running.block->at_cluster_barrier.push_back(running.thread);
  end_cluster_barrier(*running.block);
  wait_for("the barrier of a cluster", __builtin_return_address(0));
}

void* in_block(int rank, void* variable) {
  Block& other = block_of_cluster(rank);
  if (&other == running.block) return variable;
  if (other.live == 0) report("shared memory of a block that has ended");
  return SharedMemory::instance().in_image(other.image, variable);
}

void meet_lanes(const char* what, std::uint32_t mask, void* brought, Combine combine) {
  Block& block = *running.block;
  const unsigned number = running.thread->number;
  const unsigned warp = number / kWarp;
  const std::uint32_t own = 1U << number % kWarp;
  if ((mask & own) == 0) report("a lane that is not in its own mask");
  auto& meetings = block.meetings[warp];
  std::size_t which = 0;
  // Some lanes may meet while others wait for all. Lanes that name different masks wait for ever.
  while (which < meetings.size() && meetings[which].mask != mask) ++which;
  if (which == meetings.size()) {
    Meeting meeting;
    meeting.what = what;
    meeting.mask = mask;
    meeting.combine = combine;
    meetings.push_back(meeting);
  }
  Meeting& meeting = meetings[which];
  if (meeting.combine != combine) {
    std::fprintf(stderr, "cuda_host: %s here, %s in other lanes\n", what, meeting.what);
    report("lanes of a warp meet in different instructions");
  }
  meeting.present |= own;
  meeting.brought[number % kWarp] = brought;
  if (meeting.present == mask || meeting.present == (mask & block.live_lanes[warp])) {
    end_meeting(block, warp, which, running.thread);
    // The last one goes on no earlier than the others.
    block.ready.push_back(running.thread);
  }
  wait_for(what, __builtin_return_address(0));
}

namespace {

struct Exchange {
  std::uint64_t bits;
  unsigned from;
  std::uint64_t result = ~std::uint64_t{0};

  static void combine(void* const (&brought)[kWarp], std::uint32_t present) {
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((present >> lane & 1U) == 0) continue;
      auto& own = *static_cast<Exchange*>(brought[lane]);
      if ((present >> own.from & 1U) != 0) {
        own.result = static_cast<const Exchange*>(brought[own.from])->bits;
      }
    }
  }
};

struct Folded {
  std::uint32_t number;
  Fold by;

  static void combine(void* const (&brought)[kWarp], std::uint32_t present) {
    std::uint32_t all = 0;
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((present >> lane & 1U) == 0) continue;
      const auto& one = *static_cast<const Folded*>(brought[lane]);
      if (one.by == Fold::kSum) all += one.number;
      if (one.by == Fold::kMost) all = std::max(all, one.number);
      if (one.by == Fold::kBallot) all |= one.number << lane;
    }
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((present >> lane & 1U) != 0) static_cast<Folded*>(brought[lane])->number = all;
    }
  }
};

}  // namespace

std::uint64_t exchange_bits(const char* what, std::uint32_t mask, std::uint64_t bits,
                            unsigned from) {
  Exchange own{bits, from};
  meet_lanes(what, mask, &own, Exchange::combine);
  return own.result;
}

std::uint32_t fold(const char* what, std::uint32_t mask, std::uint32_t number, Fold by) {
  Folded own{number, by};
  meet_lanes(what, mask, &own, Folded::combine);
  return own.number;
}

void let_others_run(const char* what) {
  running.block->polling.push_back(running.thread);
  wait_for(what, __builtin_return_address(0));
}

unsigned read_changed(const unsigned* from) {
  Thread& thread = *running.thread;
  if (thread.read_from == from && thread.read == *from) let_others_run("another block");
  thread.read_from = from;
  return thread.read = *from;
}

void do_later(std::function<void()> work) { running.block->copies.push_back(std::move(work)); }

void do_later_in(int rank, std::function<void()> work) {
  Block& other = block_of_cluster(rank);
  if (other.live == 0) report("shared memory of a block that has ended");
  other.copies.push_back(std::move(work));
  ++running.changes;
}

void Pending::add(std::function<void()> work) {
  if (groups_.empty()) groups_.emplace_back();
  groups_.back().push_back(std::move(work));
  if (random_number() % 2 == 0) do_all();
}

void Pending::end_group() {
  if (groups_.empty()) groups_.emplace_back();
  groups_.emplace_back();
}

void Pending::do_all() {
  for (Group& group : groups_) {
    for (const auto& work : group) work();
    group.clear();
  }
}

void Pending::wait(std::size_t left) {
  while (groups_.size() > left + 1) {
    for (const auto& work : groups_.front()) work();
    groups_.erase(groups_.begin());
  }
}

void Pending::do_later(std::function<void()> last) {
  end_group();
  Group all;
  for (Group& group : groups_) {
    for (auto& work : group) all.push_back(std::move(work));
  }
  groups_.clear();
  cuda_host::do_later([all = std::move(all), last = std::move(last)] {
    for (const auto& work : all) work();
    last();
  });
}

Pending& pending_fetches() { return running.thread->fetches; }
Pending& pending_products() { return running.thread->products; }

}  // namespace weft::cuda_host
