#include "weft/text/json/json_text.h"

#include <boost/json/stream_parser.hpp>

namespace weft {

boost::json::value parse_json(std::string_view text, std::size_t max_depth, std::string& problem) {
  boost::json::stream_parser parser({}, {.max_depth = max_depth});
  boost::system::error_code error;
  const std::size_t read = parser.write(text, error);
  if (!error) parser.finish(error);
  problem.clear();
  if (!error) return parser.release();
  problem.append(error.message()).append(" at byte ").append(std::to_string(read));
  return nullptr;
}

}  // namespace weft
