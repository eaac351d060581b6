#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"
#include "weft/schedule/group.h"

/// Shared by the preparation of requests for text and for vectors.
namespace weft {

/// Returns kBadRequest; `detail` begins with the parameter's name.
[[nodiscard]] Error bad_request(std::string detail);

/// Checks that there are tokens, all in the vocabulary.
[[nodiscard]] Result<void> check_tokens(const std::vector<TokenId>& ids, const ServedModel& model);

/// Sets how many guesses the request lets the engine make, and tokenizes the output that it
/// predicts.
[[nodiscard]] Result<void> set_guesses(GroupSpec& spec, const Request& request,
                                       const ServedModel& model);

/// Sets with whom the request shares pages of the KV cache.
[[nodiscard]] Result<void> set_cache_domain(GroupSpec& spec, const Request& request,
                                            const ServedModel& model);

/// Gives the group's sequences an adapter, unless it is null.
void set_adapter(GroupSpec& spec, const std::shared_ptr<const PreparedAdapter>& adapter);

/// Makes the group, and takes the ticket.
[[nodiscard]] std::unique_ptr<RequestGroup> make_group(GroupSpec spec, RequestTicket& ticket,
                                                       std::unique_ptr<RequestText> text);

}  // namespace weft
