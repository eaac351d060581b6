#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/step_device.h"
#include "weft/model/program/program.h"

namespace weft {

/// The head's question to a rank of another process: which rank it is, and what it has.
struct RankQuestion {
  std::int32_t index = 0;  ///< which rank of the partition it is
  std::string partition;
  /// The name and the contents of memory of the head: a rank that reads these contents there is on
  /// the head's host.
  std::string memory;
  std::uint64_t mark = 0;
};

/// The answer: what a rank has.
struct RankRoom {
  std::string machine;            ///< the same for all who share this memory and these processors
  std::int64_t free_bytes = 0;    ///< of its device's memory
  std::int64_t host_bytes = 0;    ///< free, of its machine's memory; of a GPU alone
  bool sees_memory = false;       ///< of the head's
  std::string address;            ///< where other ranks reach it, ":" and a port; see the head
  std::string device;             ///< of a GPU what properties() says, here and below
  std::int32_t processors = 0;    ///< multiprocessors
  std::int32_t architecture = 0;  ///< 90 of sm_90
  std::int64_t l2_bytes = 0;
};

/// What the head sends a rank of another process once all have answered: enough to load its part of
/// the model, which it reads from its own files.
struct RankSetup {
  std::int32_t index = 0;  ///< which rank of the partition it is
  DeviceLimits limits;
  DType kv_dtype = DType::kF32;
  std::int32_t threads = 0;       ///< of the machine, for all ranks there; 0: all
  std::int32_t neighbours = 1;    ///< ranks on its machine, itself among them
  std::uint64_t fingerprint = 0;  ///< of its program, so that nobody runs with another model
  std::string partition;
  /// The name of the memory that ranks on the host share; empty: they meet at `addresses`.
  std::string memory;
  std::vector<std::string> addresses;  ///< by process, "" before the colon: where the head is
  /// The ids by which GPUs find each other, as cuda::CudaRanks::ids.
  std::vector<std::array<char, 128>> groups;
};

[[nodiscard]] std::vector<std::byte> encode_question(const RankQuestion& question);
[[nodiscard]] std::vector<std::byte> encode_room(const RankRoom& room);
[[nodiscard]] std::vector<std::byte> encode_setup(const RankSetup& setup);

/// Each decodes such bytes. ByteErrc naming the field that is cut off, or DeviceErrc::kRankLost for
/// values that no process sends.
[[nodiscard]] Result<RankQuestion> decode_question(std::span<const std::byte> bytes);
[[nodiscard]] Result<RankRoom> decode_room(std::span<const std::byte> bytes);
[[nodiscard]] Result<RankSetup> decode_setup(std::span<const std::byte> bytes);

/// The same number for the same program in every process (FNV-1a over describe()'s text).
[[nodiscard]] std::uint64_t fingerprint_of(const Program& program);

/// Which rank of a partition each process has: the ranks that choose tokens stand first, since
/// process 0 has the actors. `first_of_last` is the partition's rank that does.
[[nodiscard]] std::int32_t index_of_process(std::int32_t process, std::int32_t ranks,
                                            std::int32_t first_of_last);

}  // namespace weft
