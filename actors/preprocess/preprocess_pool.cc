#include "weft/actors/preprocess/preprocess_pool.h"

#include <algorithm>

namespace weft {

PushResult PreprocessPool::try_send(PrepareMsg&& message) const noexcept {
  const auto send = [&](const ActorRef<PreprocessProtocol>& worker) {
    return worker.try_send(std::move(message));
  };
  PushResult result = send(*std::ranges::min_element(
      workers_, {}, [](const ActorRef<PreprocessProtocol>& worker) { return worker.size(); }));
  for (auto next = workers_.begin(); !taken(result) && next != workers_.end(); ++next) {
    result = send(*next);
  }
  return result;
}

}  // namespace weft
