#include "weft/cli/serve/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace weft::cli {
namespace {

/// Files of the program's own: input, output, the context's descriptors, and files that a resolver
/// or TLS opens meanwhile.
constexpr rlim_t kOwnFiles = 32;

}  // namespace

std::size_t connections_at_once(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < wanted + kOwnFiles) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t room = limit.rlim_cur - std::min(limit.rlim_cur, kOwnFiles);
  return static_cast<std::size_t>(std::clamp<rlim_t>(room, 1, wanted));
}

}  // namespace weft::cli
