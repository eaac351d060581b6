#include "weft/actors/preprocess/preprocess_pool.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "weft/actors/defaults.h"
#include "weft/actors/request/request_bounds.h"

namespace weft {

PreprocessPool::PreprocessPool(const std::vector<ActorRef<PreprocessProtocol>>& workers) {
  workers_.reserve(workers.size());
  for (const ActorRef<PreprocessProtocol>& actor : workers) {
    workers_.push_back({actor, std::make_shared<PreprocessShare::Load>(0)});
  }
}

PushResult PreprocessPool::try_send(PrepareMsg&& message) const noexcept {
  const std::int64_t bytes = prompt_size(message.ticket->request()).bytes;
  const bool large = bytes >= defaults::kLargePromptBytes;
  const std::span<const Worker> all(workers_);
  const std::span<const Worker> fitting = large ? all.first((all.size() + 1) / 2) : all;
  // The last of the least loaded workers is chosen: it is the last to get a large prompt.
  const auto least =
      std::ranges::min_element(fitting.rbegin(), fitting.rend(), {},
                               [](const Worker& worker) { return worker.load->load(); });
  PushResult result = send_to(*least, message, bytes);
  for (auto next = fitting.begin(); !taken(result) && next != fitting.end(); ++next) {
    result = send_to(*next, message, bytes);
  }
  return result;
}

PushResult PreprocessPool::send_to(const Worker& worker, PrepareMsg& message,
                                   std::int64_t bytes) const noexcept {
  message.share = PreprocessShare(worker.load, defaults::kPreparedBytes + bytes);
  const PushResult result = worker.actor.try_send(std::move(message));
  if (!taken(result)) message.share = {};
  return result;
}

}  // namespace weft
