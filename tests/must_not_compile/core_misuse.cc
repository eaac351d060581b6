// Each CASE is a mistake that the compiler must stop; CASE 0 is the same without a mistake.

#include <boost/asio/io_context.hpp>

#include "weft/core/actor/actor_system.h"

namespace {

struct GoodMsg {
  int number = 0;
};
struct OtherMsg {};
struct ThrowingMoveMsg {
  ThrowingMoveMsg(ThrowingMoveMsg&&) noexcept(false) {}
};

struct Actor {
#if CASE == 1  // expects: <Message... Msgs>
  using Accepts = weft::Protocol<GoodMsg, ThrowingMoveMsg>;
#else
  using Accepts = weft::Protocol<GoodMsg>;
#endif
  explicit Actor(weft::ActorContext& /*context*/) {}
  void on(GoodMsg&& /*message*/) {}
#if CASE != 2  // expects: ActorBehavior
  void undelivered(GoodMsg&& /*message*/, const weft::Error& /*why*/) {}
#endif
};

// The example of core/actor/actor.h.
struct PingMsg {};
struct Echo {
  using Accepts = weft::Protocol<PingMsg>;
  explicit Echo(weft::ActorContext& context);
  void on(PingMsg&& message);
  void undelivered(PingMsg&& message, const weft::Error& why);
  void exiting(const weft::Error& why);  // may be left out
};
static_assert(weft::ActorBehavior<Echo>);

struct SilentWaker final : weft::Waker {
  void wake() noexcept override {}
};

}  // namespace

int main() {
  boost::asio::io_context context;
  weft::ActorSystem system(context.get_executor());
#if CASE == 3  // expects: constructible_from
  const auto actor = system.spawn<Actor>({.name = "actor"}, 5);
#else
  const auto actor = system.spawn<Actor>({.name = "actor"});
#endif
#if CASE == 4  // expects: MessageOf
  actor.try_send(OtherMsg{});
#elif CASE == 5  // expects: is_lvalue_reference_v
  GoodMsg message;
  actor.try_send(message);
#else
  actor.try_send(GoodMsg{});
#endif

  SilentWaker waker;
  weft::Mailbox<GoodMsg> mailbox(1, waker);
#if CASE == 6  // expects: an answer that throws would lose the messages behind it
  mailbox.close([](weft::Envelope<GoodMsg>&&) {});
#else
  mailbox.close([](weft::Envelope<GoodMsg>&&) noexcept {});
#endif

#if CASE == 7  // expects: RequestId
  return weft::ActorId(1) == weft::RequestId(1) ? 1 : 0;
#else
  return weft::ActorId(1) == weft::ActorId(1) ? 0 : 1;
#endif
}
