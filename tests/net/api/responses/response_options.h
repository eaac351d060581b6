#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "weft/net/api/responses/response_api.h"

namespace weft::test {

/// The options of a response with few fields that are echoed and a conversation of one message.
inline ResponseOptions response_options() {
  ResponseOptions options;
  options.id = "resp_1";
  options.message_id = "msg_1";
  options.created = 1700;
  options.echo = {{"model", "demo"}, {"metadata", {{"k", "v"}}}};
  options.conversation = {{{"role", "user"}, {"content", "Hi"}}};
  return options;
}

}  // namespace weft::test
