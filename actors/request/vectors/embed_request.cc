#include "weft/actors/request/vectors/embed_request.h"

#include <utility>

namespace weft {

Request to_request(EmbedRequest asked) {
  Request request;
  request.model = std::move(asked.model);
  request.adapter = std::move(asked.adapter);
  request.prompt = std::move(asked.text);
  request.prompt_tokens = std::move(asked.tokens);
  request.vector = std::move(asked.wish);
  request.request_class = asked.request_class;
  request.priority = asked.priority;
  request.client = std::move(asked.client);
  request.cache_salt = std::move(asked.cache_salt);
  request.timeout = asked.timeout;
  return request;
}

}  // namespace weft
