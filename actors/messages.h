#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/pipeline_tick.h"
#include "weft/actors/replicas/replica_loads.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/request_messages.h"
#include "weft/core/error/error.h"
#include "weft/core/mailbox/message.h"
#include "weft/schedule/group.h"

namespace weft {

class RequestText;

/// A request that a scheduler has: the group that it plans by, the right to finish it, its texts,
/// and its part of the replica's load.
struct RequestGroup final : Group {
  RequestGroup(GroupSpec what, RequestTicket whose, std::unique_ptr<RequestText> texts);
  ~RequestGroup() override;

  RequestTicket ticket;
  std::unique_ptr<RequestText> text;
  ReplicaLoads::Share share;  ///< of the replica that gets it, once that is chosen
};

/// PreprocessPool -> SchedulerActor. The message owns the request and all that is made of it.
struct EnqueueMsg {
  std::unique_ptr<RequestGroup> group;
};

/// Anyone -> SchedulerActor: look at the requests that were asked to end. It carries nothing and
/// may be lost when the mailbox is full, since the scheduler looks after each message.
struct EndingMsg {};

/// SchedulerActor -> ExecutorActor: the plan of this number waits in the tick. The tick's holder
/// word says who owns it; a message about a plan that was taken back or has run means nothing.
/// From the first rank's executor to the others': run it too.
struct StepMsg {
  PipelineTick* tick = nullptr;
  std::uint64_t number = 0;
};

/// The device -> ExecutorActor of the first rank: between two steps it was found lost.
struct DeviceLostMsg {
  std::string why;
};

/// ExecutorActor -> SchedulerActor: the step has run, or was lost (PipelineTick::lost), and why.
/// Gives the tick back; sent by the last rank that had it, so those of several ranks come in any
/// order.
struct StepDoneMsg {
  PipelineTick* tick = nullptr;
  std::unique_ptr<Error> failure;
};

/// SchedulerActor -> Detokenizer: what a tick produced. The tick is the detokenizer's until it
/// frees it or sends it back by TickFreeMsg.
struct DeliverMsg {
  PipelineTick* tick = nullptr;
};

/// Detokenizer -> SchedulerActor: gives the tick back, with the stop strings that were hit. Without
/// a tick it says that one is free for which the scheduler waits.
struct TickFreeMsg {
  PipelineTick* tick = nullptr;
};

/// The end of one output.
struct OutputEnd {
  std::int32_t sequence = 0;
  SequenceEnd end = SequenceEnd::kNone;  ///< kNone: it was running
  double cumulative_logprob = 0;
  // The outputs of a beam search, which are known only now; empty for others.
  std::vector<TokenId> tokens{};
  std::vector<float> logprobs{};  ///< one for each token
};

/// SchedulerActor -> Detokenizer: a request has ended, after all its tokens. The message owns it.
/// Its outputs are those that the caller gets, best first where they were ranked.
struct EndMsg {
  RequestTicket ticket;
  std::unique_ptr<RequestText> text;
  GroupEnd how = GroupEnd::kDone;
  Error error;
  std::vector<OutputEnd> outputs;
  std::int32_t cached_tokens = 0;  ///< of the prompt, found in the KV cache
  GuessCounts guesses{};
};

using SchedulerProtocol = Protocol<EnqueueMsg, EndingMsg, StepDoneMsg, TickFreeMsg>;
using ExecutorProtocol = Protocol<StepMsg, DeviceLostMsg>;
using DetokenizerProtocol = Protocol<DeliverMsg, EndMsg>;

}  // namespace weft
