#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <string>
#include <vector>

#include "weft/measure/load/outcome.h"
#include "weft/measure/server/load_client.h"

namespace weft::cli {

/// The outcomes of a load, and why it ended.
struct PlayedLoad {
  std::vector<measure::Outcome> outcomes{};    ///< one for each request sent
  std::size_t not_sent = 0;                    ///< requests not sent, because a signal ended the
                                               ///< load
  std::map<std::string, std::string> words{};  ///< the first words about each kind of error
  int ended_by = 0;                            ///< the signal that ended the load; 0: none
};

/// Runs `context` until the load has ended and shows on a line how far it is. Ctrl-C and SIGTERM
/// break it off. `client` asks on that context.
[[nodiscard]] PlayedLoad play_load(boost::asio::io_context& context, measure::LoadClient& client,
                                   measure::Load load, const std::string& label);

}  // namespace weft::cli
