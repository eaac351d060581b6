#include "weft/actors/messages.h"

#include <utility>

#include "weft/actors/request/request_text.h"

namespace weft {

RequestGroup::RequestGroup(GroupSpec what, RequestTicket whose, std::unique_ptr<RequestText> texts)
    : Group(std::move(what)), ticket(std::move(whose)), text(std::move(texts)) {}

RequestGroup::~RequestGroup() = default;

}  // namespace weft
