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

/// The head's question to a rank of another process: it says which rank that is, and asks for its
/// resources.
struct RankQuestion {
  std::int32_t index = 0;  ///< index of the rank in the partition
  std::string partition;
  /// The name and the contents of memory of the head. A rank that reads these contents in that
  /// memory is on the head's host.
  std::string memory;
  std::uint64_t mark = 0;
};

/// The answer: a rank's resources.
struct RankRoom {
  std::string machine;  ///< the same for all processes that share this memory and these processors
  std::int64_t free_bytes = 0;  ///< free memory of its device
  std::int64_t host_bytes = 0;  ///< GPU only: free memory of its machine
  bool sees_memory = false;     ///< whether it sees the head's memory
  std::string address;  ///< where other ranks reach it: ":" and a port; the head adds the host
  std::string device;   ///< GPU only, as the next fields: from properties()
  std::int32_t processors = 0;    ///< multiprocessors
  std::int32_t architecture = 0;  ///< 90 for sm_90
  std::int64_t l2_bytes = 0;
};

/// The head's message to a rank of another process after all have answered. It suffices to load the
/// rank's part of the model, which the rank reads from its own files.
struct RankSetup {
  std::int32_t index = 0;  ///< index of the rank in the partition
  DeviceLimits limits;
  DType kv_dtype = DType::kF32;
  std::int32_t threads = 0;       ///< threads of the machine, for all its ranks; 0: all
  std::int32_t neighbours = 1;    ///< ranks on its machine, this one included
  std::uint64_t fingerprint = 0;  ///< the program's, so that no process runs another model
  std::string partition;
  /// The name of the memory that ranks on the host share; empty: they connect by `addresses`.
  std::string memory;
  std::vector<std::string> addresses;  ///< by process; nothing before the colon: the head's host
  /// The ids by which GPUs find each other, as in cuda::CudaRanks::ids.
  std::vector<std::array<char, 128>> groups;
};

[[nodiscard]] std::vector<std::byte> encode_question(const RankQuestion& question);
[[nodiscard]] std::vector<std::byte> encode_room(const RankRoom& room);
[[nodiscard]] std::vector<std::byte> encode_setup(const RankSetup& setup);

/// Each function decodes such bytes. ByteErrc naming the field that is cut off, or
/// DeviceErrc::kRankLost for values that no process sends.
[[nodiscard]] Result<RankQuestion> decode_question(std::span<const std::byte> bytes);
[[nodiscard]] Result<RankRoom> decode_room(std::span<const std::byte> bytes);
[[nodiscard]] Result<RankSetup> decode_setup(std::span<const std::byte> bytes);

/// Returns the same number for the same program in every process (FNV-1a over describe()'s text).
[[nodiscard]] std::uint64_t fingerprint_of(const Program& program);

/// Returns the rank of the partition that each process has. The first process has the rank that
/// chooses tokens, because it has the actors. `first_of_last` is that rank's index in the
/// partition.
[[nodiscard]] std::int32_t index_of_process(std::int32_t process, std::int32_t ranks,
                                            std::int32_t first_of_last);

}  // namespace weft
