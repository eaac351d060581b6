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

/// A scheduler's request: its group, the right to finish it, its texts, and its share of the
/// replica's load.
struct RequestGroup final : Group {
  RequestGroup(GroupSpec what, RequestTicket whose, std::unique_ptr<RequestText> texts);
  ~RequestGroup() override;

  RequestTicket ticket;
  std::unique_ptr<RequestText> text;
  ReplicaLoads::Share share;  ///< the replica's load; set once it is chosen
};

/// PreprocessPool -> SchedulerActor: a prepared request, which the message owns.
struct EnqueueMsg {
  std::unique_ptr<RequestGroup> group;
};

/// Any thread -> SchedulerActor: end the requests in EndingRequests. The message is empty. It may
/// be lost if the mailbox is full, since the scheduler checks that list after each message.
struct EndingMsg {};

/// Any thread -> SchedulerActor: the training task has begun, ended, paused or resumed. The message
/// is empty. It may be lost if the mailbox is full, since the scheduler asks the TrainingSlot after
/// each message.
struct TrainingMsg {};

/// SchedulerActor -> ExecutorActor: the plan of this number waits in the tick. The tick's holder
/// word says which actor owns it; the executor ignores a message about a plan that was taken back
/// or has run. The first rank's executor sends it on to the other ranks' executors.
struct StepMsg {
  PipelineTick* tick = nullptr;
  std::uint64_t number = 0;
};

/// Device -> ExecutorActor of the first rank: the device was lost between two steps.
struct DeviceLostMsg {
  std::string why;
};

/// ExecutorActor -> itself: the next piece of training of the plan of this number, which has no
/// entries. So an executor takes other messages between two pieces. It ignores a message about a
/// plan whose training has ended.
struct PieceMsg {
  std::uint64_t number = 0;
};

/// ExecutorActor -> SchedulerActor: the step has run or was lost (PipelineTick::lost), and why. It
/// gives the tick back. The last rank to finish sends it, so with several ranks the messages of
/// different ticks come in any order.
struct StepDoneMsg {
  PipelineTick* tick = nullptr;
  std::unique_ptr<Error> failure;
};

/// SchedulerActor -> DetokenizerActor: a tick's tokens. The detokenizer owns the tick until it
/// frees it or sends it back by TickFreeMsg.
struct DeliverMsg {
  PipelineTick* tick = nullptr;
};

/// DetokenizerActor -> SchedulerActor: gives the tick back, with the stop strings that were hit.
/// Without a tick, it says that a tick that the scheduler waits for is free.
struct TickFreeMsg {
  PipelineTick* tick = nullptr;
};

/// The end of one output.
struct OutputEnd {
  std::int32_t sequence = 0;
  SequenceEnd end = SequenceEnd::kNone;  ///< kNone: it was still running
  double cumulative_logprob = 0;
  // A beam search's output, which is known only now; otherwise empty.
  std::vector<TokenId> tokens{};
  std::vector<float> logprobs{};  ///< one for each token
};

/// SchedulerActor -> DetokenizerActor: a request has ended, after all its tokens. The message owns
/// the request. Its outputs are the caller's, best first if they were ranked.
struct EndMsg {
  RequestTicket ticket;
  std::unique_ptr<RequestText> text;
  GroupEnd how = GroupEnd::kDone;
  Error error;
  std::vector<OutputEnd> outputs;
  std::int32_t cached_tokens = 0;  ///< prompt tokens found in the KV cache
  GuessCounts guesses{};
};

using SchedulerProtocol = Protocol<EnqueueMsg, EndingMsg, TrainingMsg, StepDoneMsg, TickFreeMsg>;
using ExecutorProtocol = Protocol<StepMsg, PieceMsg, DeviceLostMsg>;
using DetokenizerProtocol = Protocol<DeliverMsg, EndMsg>;

}  // namespace weft
