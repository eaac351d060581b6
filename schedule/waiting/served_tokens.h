#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/ids.h"
#include "weft/schedule/waiting/keyed_pool.h"
#include "weft/schedule/waiting/rising_heap.h"

namespace weft {

/// Counts the weighted tokens that each client has been served: the Virtual Token Counter (Sheng et
/// al., "Fairness in Serving Large Language Models", arXiv 2401.00588, Algorithm 2). The client
/// with the lowest counter is next, which bounds how much the service of two waiting clients can
/// differ. All anonymous requests are one client.
///
/// A client is *active* while it has a waiting request, as in the paper. A client whose requests
/// all run is not active: it gets all it asks for, and if its low counter were compared it would
/// save up credit and lower the level to which newcomers are lifted. Clients compete inside one
/// class, so each class has one object.
///
/// Owner only. Counters are integers in units of 1/1024 token, so rounding loses nothing over
/// time. At a million weighted tokens a second for one client they last for 285 years, and then
/// saturate.
class ServedTokens {
 public:
  /// How many clients are remembered after they have left: 0.6 MB of memory. It is far more than
  /// rows, so no client with running requests is forgotten: these are charged each tick, and the
  /// most recently charged clients are forgotten last.
  static constexpr std::size_t kRememberedClients = 4096;

  /// The weights are the paper's: an output token costs about two of a prompt. They are rounded to
  /// 1/1024 and lie within 0 .. 2^20, not all 0. Room for `remembered` clients that have left and
  /// as many active ones is allocated here; more active ones allocate when they come.
  explicit ServedTokens(double prompt_weight = 1, double output_weight = 2,
                        std::size_t remembered = kRememberedClients);

  /// A request of the client begins to wait. Its first waiting request makes the client active and
  /// lifts its counter to the lowest counter of active clients or, if there is none, to the counter
  /// of the client that left last; service not used while away is not owed. Logarithmic in the
  /// active clients.
  void arrive(ClientId client);
  /// A request of the client waits no more. After its last waiting request the client has left; it
  /// is still charged for running requests.
  ///
  /// Beyond `remembered` such clients, the one that was charged or left longest ago is forgotten.
  /// If its counter was above the others', it comes back as a newcomer, and its excess is forgiven.
  /// Otherwise forgetting changes nothing.
  void leave(ClientId client);

  /// Charges a client, in constant time. An unknown client is first added at a newcomer's level.
  void charge_prompt(ClientId client, std::int64_t tokens);
  void charge_output(ClientId client, std::int64_t tokens);

  /// A client's counter in weighted tokens; for an unknown client the level of a newcomer. While a
  /// client is active its counter never falls.
  [[nodiscard]] double counter(ClientId client) const;

  /// The number of known clients, active and remembered.
  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }
  [[nodiscard]] std::size_t active() const noexcept { return active_.size(); }

 private:
  struct Client {
    std::int64_t counter = 0;  // in 1/1024 token
    std::int32_t waiting = 0;  // requests; active while > 0
    Slot older = kNoSlot;      // in the list of clients that have left, by last use
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
  mutable RisingHeap<std::int64_t> active_;  // by counter; look-ups update keys
  std::size_t remembered_ = 0;
  Slot oldest_ = kNoSlot;
  Slot newest_ = kNoSlot;
  Slot last_left_ = kNoSlot;          // the client that left last; kNoSlot once forgotten
  std::int64_t last_left_level_ = 0;  // its counter when it was forgotten
};

}  // namespace weft
