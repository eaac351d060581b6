#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/ids.h"
#include "weft/schedule/waiting/keyed_pool.h"
#include "weft/schedule/waiting/rising_heap.h"

namespace weft {

/// How much each client has been served, in weighted tokens: the Virtual Token Counter (Sheng et
/// al., "Fairness in Serving Large Language Models", arXiv 2401.00588, Algorithm 2). Whoever has
/// the lowest counter is next, which bounds by how much the service of two clients that both wait
/// can differ. All anonymous requests are one client.
///
/// A client is *active* while it has a request that waits, as in the paper. One whose requests all
/// run is not: it asks for no more than it gets, and if its low counter stayed in the comparison it
/// would save up credit, and hold down what newcomers are lifted to. Clients compete inside one
/// class, so there is one object for each class.
///
/// Owner only. Counters are whole numbers of 1/1024 token, so nothing is rounded away however long
/// it goes on; at a million weighted tokens a second for one client they last for 285 years, then
/// stay where they are.
class ServedTokens {
 public:
  /// Clients that are remembered after they have left. Far more than rows, so that none is
  /// forgotten while it still has running requests (they are charged each tick, and who was charged
  /// or has left last is forgotten last); 0.6 MB of memory.
  static constexpr std::size_t kRememberedClients = 4096;

  /// The weights are the paper's: an output token costs about two of a prompt. They are rounded to
  /// 1/1024 and lie within 0 .. 2^20, not all 0. Room for `remembered` clients that have left and
  /// as many active ones is allocated here; more active ones allocate when they come.
  explicit ServedTokens(double prompt_weight = 1, double output_weight = 2,
                        std::size_t remembered = kRememberedClients);

  /// A request of the client begins to wait. With the first one the client is active, and what it
  /// did not use while it was away is not owed to it: its counter is lifted to the lowest of the
  /// active clients or, where there is none, to that of the one who left last. Logarithmic in the
  /// active clients.
  void arrive(ClientId client);
  /// A request of the client waits no more. With the last one the client has left; it goes on to be
  /// charged for what runs.
  ///
  /// Beyond `remembered` such clients the one that was charged or left longest ago is forgotten. If
  /// its counter was above the others' it comes back as a newcomer: what it had received beyond
  /// them is forgiven. If not, nothing is lost.
  void leave(ClientId client);

  /// Constant time. A client that is not known is taken in at a newcomer's level first.
  void charge_prompt(ClientId client, std::int64_t tokens);
  void charge_output(ClientId client, std::int64_t tokens);

  /// Weighted tokens; what a newcomer gets for a client that is not known. While a client is active
  /// its counter never falls.
  [[nodiscard]] double counter(ClientId client) const;

  /// Clients that are known: the active ones and those remembered.
  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }
  [[nodiscard]] std::size_t active() const noexcept { return active_.size(); }

 private:
  struct Client {
    std::int64_t counter = 0;  // in 1/1024 token
    std::int32_t waiting = 0;  // requests; active while > 0
    Slot older = kNoSlot;      // among those that have left, by when they were used last
    Slot newer = kNoSlot;
  };

  [[nodiscard]] std::int64_t newcomer_level() const;
  Slot find_or_insert(ClientId client);
  void charge(ClientId client, std::int64_t tokens, std::int64_t weight);
  void remember(Slot slot);
  void recall(Slot slot);
  void forget_surplus();

  std::int64_t prompt_weight_;
  std::int64_t output_weight_;
  std::size_t limit_;
  KeyedPool<ClientId, Client> clients_;
  mutable RisingHeap<std::int64_t> active_;  // by counter; a look brings keys up to date
  std::size_t remembered_ = 0;
  Slot oldest_ = kNoSlot;
  Slot newest_ = kNoSlot;
  Slot last_left_ = kNoSlot;          // kNoSlot when it is forgotten
  std::int64_t last_left_level_ = 0;  // its counter when it was forgotten
};

}  // namespace weft
