#include "weft/gpu/load_progress.h"

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>

namespace weft {

void LoadProgress::operator()(std::int64_t done, std::int64_t total) const {
  if (tell) tell(done, total);
  throw_if_stopped(stop);
}

void throw_if_stopped(const std::stop_token& stop) {
  if (!stop.stop_requested()) return;
  // The code of Asio's operation_aborted.
  throw boost::system::system_error(ECANCELED, boost::system::system_category());
}

}  // namespace weft
