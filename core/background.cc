#include "weft/core/background.h"

#include <sys/resource.h>
#include <unistd.h>

namespace weft {

void let_others_go_first() noexcept {
  // Of the thread alone in Linux, whatever POSIX says of processes.
  constexpr int kNice = 5;
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice));
}

}  // namespace weft
