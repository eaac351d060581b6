#pragma once

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

/// What the head tells a rank of another process: enough to load its part of the model, which it
/// reads from its own files.
struct RankSetup {
  std::int32_t index = 0;  ///< which rank of the partition it is
  DeviceLimits limits;
  DType kv_dtype = DType::kF32;
  std::int32_t threads = 0;
  std::uint64_t fingerprint = 0;  ///< of its program, so that nobody runs with another model
  std::string partition;
  std::string memory;  ///< the name of the memory that ranks of this host share
};

[[nodiscard]] std::vector<std::byte> encode_setup(const RankSetup& setup);
/// ByteErrc naming the field that is cut off; DeviceErrc::kRankLost for what no head sends.
[[nodiscard]] Result<RankSetup> decode_setup(std::span<const std::byte> bytes);

/// The same for the same program, in whatever process (FNV-1a over what describe() says of it).
[[nodiscard]] std::uint64_t fingerprint_of(const Program& program);

/// Which rank of a partition each process has: the ranks that choose tokens stand first, since
/// process 0 has the actors. `first_of_last` is the partition's rank that does.
[[nodiscard]] std::int32_t index_of_process(std::int32_t process, std::int32_t ranks,
                                            std::int32_t first_of_last);

}  // namespace weft
