#include "weft/actors/preprocess/preprocess_pool.h"

#include <algorithm>
#include <utility>

#include "weft/actors/defaults.h"
#include "weft/actors/preprocess/preprocess_cost.h"

namespace weft {

PreprocessPool::PreprocessPool(const Workers& for_small, const Workers& for_large)
    : for_small_(with_loads(for_small)), for_large_(with_loads(for_large)) {}

std::vector<PreprocessPool::Worker> PreprocessPool::with_loads(const Workers& actors) {
  std::vector<Worker> workers;
  workers.reserve(actors.size());
  for (const ActorRef<PreprocessProtocol>& actor : actors) {
    workers.push_back({actor, std::make_shared<PreprocessShare::Load>(0)});
  }
  return workers;
}

PushResult PreprocessPool::try_send(PrepareMsg&& message) const noexcept {
  const PreprocessCost cost = preprocess_cost(message.ticket->request());
  const std::vector<Worker>& fitting = cost.large ? for_large_ : for_small_;
  const auto least = std::ranges::min_element(
      fitting, {}, [](const Worker& worker) { return worker.load->load(); });
  PushResult result = send_to(*least, message, cost.bytes);
  for (auto next = fitting.begin(); !taken(result) && next != fitting.end(); ++next) {
    result = send_to(*next, message, cost.bytes);
  }
  return result;
}

PushResult PreprocessPool::send_to(const Worker& worker, PrepareMsg& message,
                                   std::int64_t bytes) noexcept {
  message.share = PreprocessShare(worker.load, defaults::kPreparedBytes + bytes);
  const PushResult result = worker.actor.try_send(std::move(message));
  if (!taken(result)) message.share = {};
  return result;
}

}  // namespace weft
