#include "weft/actors/request/prompt/prompt_parts.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/request_text.h"
#include "weft/gpu/device_adapter.h"
#include "weft/sampling/drafters/draft_text.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

// Hashes a client's name; two clients with the same hash would only share a counter.
ClientId client_of(const std::string& name) {
  return name.empty() ? ClientId{} : ClientId{std::hash<std::string>{}(name) | 1U};
}

// Returns the text that identifies requests which may share cached beginnings.
std::shared_ptr<const std::string> cache_domain_of(const Request& request, CacheShare share) {
  const std::string client = share == CacheShare::kAll ? "" : request.client;
  if (client.empty() && request.cache_salt.empty()) return nullptr;
  // The client's length goes first: no salt makes one client another.
  return std::make_shared<const std::string>(std::to_string(client.size()) + ":" + client +
                                             request.cache_salt);
}

/// Tokenizes the output that a request predicts.
Result<void> set_prediction(GroupSpec& spec, const std::string& text, const ServedModel& model) {
  const auto context = static_cast<std::size_t>(std::max<std::int64_t>(model.context, 0));
  std::vector<TokenId> ids;
  // An output's text stands between other texts, so no BOS and the like come around it.
  const auto encoded =
      model.tokenizer.encode(text, {.add_special = false, .max_tokens = context}, ids);
  if (!encoded && encoded.error().code == TextErrc::kTooManyTokens) {
    return bad_request("prediction: has " + encoded.error().detail +
                       ", more than the model's context of " + std::to_string(context));
  }
  if (!encoded) return bad_request("prediction: " + to_string(encoded.error()));
  if (ids.empty()) return {};
  spec.drafts.prediction =
      std::make_shared<const DraftText>(ids, static_cast<std::size_t>(model.vocabulary));
  return {};
}

}  // namespace

Error bad_request(std::string detail) { return {EngineErrc::kBadRequest, std::move(detail)}; }

Result<void> check_tokens(const std::vector<TokenId>& ids, const ServedModel& model) {
  if (ids.empty()) return bad_request("prompt: has no tokens");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < model.vocabulary) continue;
    return bad_request("prompt_tokens[" + std::to_string(i) + "]: " + std::to_string(ids[i]) +
                       " is not in the vocabulary of " + std::to_string(model.vocabulary));
  }
  return {};
}

Result<void> set_cache_domain(GroupSpec& spec, const Request& request, const ServedModel& model) {
  if (request.cache_salt.size() > Request::kMaxCacheSaltBytes) {
    return bad_request("cache_salt: has more than " + std::to_string(Request::kMaxCacheSaltBytes) +
                       " bytes");
  }
  spec.cache_domain = cache_domain_of(request, model.cache_share);
  return {};
}

Result<void> set_guesses(GroupSpec& spec, const Request& request, const ServedModel& model) {
  const SpeculationWish& wish = request.speculation;
  if (wish.max_tokens < 0 || wish.max_tokens > SpeculationWish::kMostTokens) {
    return bad_request("speculation.max_tokens: " + std::to_string(wish.max_tokens) +
                       " is not in 1 .. " + std::to_string(SpeculationWish::kMostTokens));
  }
  if (wish.max_tokens > 0) spec.most_guesses = wish.max_tokens;
  const bool predicts = model.takes_predictions && !wish.prediction.empty();
  if (wish.kind == SpeculationKind::kOff || (!model.guesses_unasked && !predicts)) {
    spec.most_guesses = 0;
  } else if (predicts) {
    return set_prediction(spec, wish.prediction, model);
  }
  return {};
}

void set_adapter(GroupSpec& spec, const std::shared_ptr<const PreparedAdapter>& adapter) {
  if (adapter == nullptr) return;
  spec.adapter = adapter;
  spec.traits.kv.adapter = adapter->id;
}

std::unique_ptr<RequestGroup> make_group(GroupSpec spec, RequestTicket& ticket,
                                         std::unique_ptr<RequestText> text) {
  const Request& request = ticket->request();
  const RequestClass cls = request.request_class;
  const std::int32_t priority = request.priority;
  const ClientId client = client_of(request.client);
  auto group = std::make_unique<RequestGroup>(std::move(spec), std::move(ticket), std::move(text));
  group->cls = cls;
  group->priority = priority;
  group->client = client;
  return group;
}

}  // namespace weft
