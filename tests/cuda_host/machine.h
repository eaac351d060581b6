#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

/// Runs a kernel's threads on the host: what the stand-ins for CUDA's headers call.
namespace weft::cuda_host {

/// Has `__shared__` variables.
inline constexpr const char* kSharedSection = "weft.shared";

struct Index {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

/// Where the running thread is, as CUDA's variables of these names.
struct Place {
  Index thread;
  Index block;
  Index block_size;
  Index grid_size;
};
extern Place place;

struct Launch {
  Index grid;
  Index block;
  unsigned cluster = 1;  ///< blocks
  std::size_t shared_bytes = 0;
  const void* kernel = nullptr;
  std::function<void()> body;  ///< what a thread runs
};

/// Runs all blocks to their end. Whatever a kernel does wrong is printed with the kernel, its block
/// and its thread, and ends the process.
void run(const Launch& launch);

/// Processors of the device: few, so that small sizes are cut too.
inline constexpr int kProcessors = 6;

/// Blocks of a kernel that run at once on a processor.
[[nodiscard]] int blocks_of_processor(unsigned threads, std::size_t shared_bytes);

/// Prints what the running kernel did wrong, and where, and aborts.
[[noreturn]] void report(const char* what);

// The running thread calls the functions below.

[[nodiscard]] unsigned thread_number();  ///< in its block

/// Numbers from the seed of WEFT_CUDA_HOST_SEED: what decides which thread goes on, and when what
/// is asynchronous happens.
[[nodiscard]] std::uint32_t random_number();

void meet_block();
void meet_some(int barrier, int threads);
void meet_blocks();  ///< waits for the blocks of the cluster

/// Where `variable` of the shared memory of another block of the cluster is.
[[nodiscard]] void* in_block(int rank, void* variable);

/// Waits for the lanes of `mask`. The last one calls combine() with what each of them brought,
/// and which of them there are; then all go on. `what` names the instruction.
using Combine = void (*)(void* const (&brought)[32], std::uint32_t present);
void meet_lanes(const char* what, std::uint32_t mask, void* brought, Combine combine);

/// Returns the number that lane `from` of those of `mask` brought to its call; all bits of a number
/// of a lane that is not there.
[[nodiscard]] std::uint64_t exchange_bits(const char* what, std::uint32_t mask, std::uint64_t bits,
                                          unsigned from);

/// How fold() combines the numbers of all lanes of `mask`.
enum class Fold { kSum, kMost, kBallot };
[[nodiscard]] std::uint32_t fold(const char* what, std::uint32_t mask, std::uint32_t number,
                                 Fold by);

/// Lets others run, because what the thread waits for has not happened: it is called again and
/// again.
void let_others_run(const char* what);

/// Returns the number, which another block may change. If it is the number that this thread read
/// last, from the same place, others run before.
[[nodiscard]] unsigned read_changed(const unsigned* from);

/// Says that something has happened which a thread may wait for.
void note_change();

/// Does work at some time before the block's end, on its shared memory: bulk copies.
void do_later(std::function<void()> work);
/// Does work in the shared memory of block `rank` of the cluster, likewise.
void do_later_in(int rank, std::function<void()> work);

/// Work of a thread that is under way, in groups of which the oldest ends first.
class Pending {
 public:
  /// May do it, and what was added before, at once.
  void add(std::function<void()> work);
  void end_group();
  /// Until no more than `left` groups are under way.
  void wait(std::size_t left);
  /// Does all that is under way, and then `last`, at some time before the block's end.
  void do_later(std::function<void()> last);

 private:
  using Group = std::vector<std::function<void()>>;

  void do_all();

  std::vector<Group> groups_;  ///< the last one is open
};
[[nodiscard]] Pending& pending_fetches();   ///< cp.async
[[nodiscard]] Pending& pending_products();  ///< wgmma

}  // namespace weft::cuda_host
