#include "weft/actors/adapters/adapter_actor.h"

#include <algorithm>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/failure.h"

namespace weft {

AdapterActor::AdapterActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                           PreprocessPool next, ActorRef<AdapterReaderProtocol> reader,
                           std::shared_ptr<EndingRequests> ending)
    : context_(context),
      model_(std::move(model)),
      next_(std::move(next)),
      reader_(std::move(reader)),
      ending_(std::move(ending)) {}

void AdapterActor::on(PrepareMsg&& message) {
  ActiveRequest& request = *message.ticket;
  request.set_early_ending(ending_);
  if (request.end_cause() != EndCause::kNone) {
    give_on(std::move(message));
    return end_asked();
  }
  auto found = find_adapter(*model_, request.request().adapter);
  if (!found) {
    std::move(message.ticket).fail(found.error());
  } else if (*found != nullptr) {
    message.adapter = *std::move(found);
    give_on(std::move(message));
  } else {
    const auto [place, is_new] = waiting_.try_emplace(request.request().adapter);
    if (is_new) next_names_.push_back(place->first);
    message.share = {};  // the worker has nothing to do for it meanwhile
    place->second.push_back(std::move(message));
    read_next();
  }
  end_asked();
}

void AdapterActor::on(AdapterEndingMsg&& /*message*/) { end_asked(); }

void AdapterActor::on(AdapterReadMsg&& message) {
  if (message.name == reading_) reading_.clear();
  const auto found = waiting_.find(message.name);
  // A predecessor may have asked for the name.
  if (found != waiting_.end() &&
      std::ranges::find(next_names_, message.name) == next_names_.end()) {
    std::vector<PrepareMsg> all = std::move(found->second);
    waiting_.erase(found);
    for (PrepareMsg& one : all) {
      if (!message.adapter) {
        std::move(one.ticket).fail(message.adapter.error());
        continue;
      }
      one.adapter = *message.adapter;
      give_on(std::move(one));
    }
  }
  read_next();
  end_asked();
}

/// Ends the waiting requests that were asked to end. A wake-up may be refused when the mailbox is
/// full, so this is done after each message.
void AdapterActor::end_asked() {
  ending_->take_all([this](const std::shared_ptr<ActiveRequest>& request) {
    const auto found = waiting_.find(request->request().adapter);
    if (found == waiting_.end()) return;
    std::vector<PrepareMsg>& all = found->second;
    const auto place = std::ranges::find(all, request->id(),
                                         [](const PrepareMsg& one) { return one.ticket->id(); });
    if (place == all.end()) return;
    PrepareMsg message = std::move(*place);
    all.erase(place);
    give_on(std::move(message));
  });
}

/// Sends a request to the pool with its adapter, or, if it is to end, without; or ends it here.
void AdapterActor::give_on(PrepareMsg&& message) const {
  const EndCause cause = message.ticket->end_cause();
  if (cause != EndCause::kNone && cause != EndCause::kStop) {
    return std::move(message.ticket).fail(request_ending(cause));
  }
  const PushResult result = next_.try_send(std::move(message));
  if (!taken(result)) {
    std::move(message.ticket).fail(refusal_of(result, context_.system_ready()));
  }
}

/// Asks for the next name for which requests wait, if none is being read.
void AdapterActor::read_next() {
  while (reading_.empty() && !next_names_.empty()) {
    const std::string name = std::move(next_names_.front());
    next_names_.pop_front();
    const auto found = waiting_.find(name);
    if (found->second.empty()) {
      waiting_.erase(found);
      continue;
    }
    reading_ = name;
    const PushResult result = reader_.try_send(ReadAdapterMsg{name}, context_.id());
    if (taken(result)) return;
    reading_.clear();
    for (PrepareMsg& one : found->second) {
      std::move(one.ticket).fail(refusal_of(result, context_.system_ready()));
    }
    waiting_.erase(found);
  }
}

void AdapterActor::exiting(const Error& why) {
  for (auto& [name, all] : waiting_) {
    for (PrepareMsg& one : all) std::move(one.ticket).fail(why);
  }
  waiting_.clear();
}

void AdapterActor::undelivered(PrepareMsg&& message, const Error& why) {
  std::move(message.ticket).fail(why);
}

}  // namespace weft
