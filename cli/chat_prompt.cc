#include "weft/cli/chat_prompt.h"

#include <boost/json/object.hpp>

namespace weft::cli {

namespace json = boost::json;

json::array one_question(const std::string& system, const std::string& user) {
  json::array messages;
  if (!system.empty()) messages.push_back(json::object{{"role", "system"}, {"content", system}});
  messages.push_back(json::object{{"role", "user"}, {"content", user}});
  return messages;
}

}  // namespace weft::cli
