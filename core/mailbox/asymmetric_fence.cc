#include "weft/core/mailbox/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft {
namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

void heavy_fence() noexcept { membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

bool has_heavy_fence() noexcept {
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return registered;
}

}  // namespace weft
