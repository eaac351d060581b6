#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/gpu/ranks/rank_link.h"
#include "weft/gpu/ranks/shared_ranks.h"
#include "weft/gpu/ranks/world/rank_socket.h"

namespace weft {

/// Exchanges numbers with ranks on other machines, over a connection to each of them. Sums are
/// added up in the order of the ranks, as in SharedRanks, so that both give the same bits. An
/// all-reduce is one-shot: each rank of a stage of n sends its numbers to the n - 1 others.
///
/// A call sends its messages and meanwhile reads incoming messages, so two ranks that send to each
/// other do not block. It returns when the system has all its messages. Messages that arrive early
/// are kept. If kMostKept bytes of a peer are kept, its connection is not read, so the peer waits.
class NetworkLink final : public RankLink {
 public:
  /// `peers` are indexed by rank among all ranks; this rank's own entry is null.
  NetworkLink(const RanksLayout& layout, std::int32_t stage, std::int32_t rank,
              std::vector<std::unique_ptr<RankSocket>> peers);

  void all_reduce(std::span<float> values) override;
  void gather(const ConstRows& part, std::span<const Extent> columns, const Rows& whole) override;
  void send(std::span<const float> values) override;
  void receive(std::span<float> values) override;
  void tell_tokens(std::span<const SlotToken> tokens) override;
  std::span<const SlotToken> hear_tokens() override;
  [[nodiscard]] Duration waited() const noexcept override { return waited_; }
  void abandon() noexcept override;

 private:
  using Bytes = std::vector<std::byte>;

  /// The unread messages of one kind from a peer, the oldest first.
  struct Inbox {
    RankMessage kind;
    std::deque<Bytes> messages{};
  };
  struct Peer {
    std::unique_ptr<RankSocket> socket;
    Bytes unsent;  // bytes to send; next: how many of these are sent
    std::size_t sent = 0;
    std::vector<Inbox> inboxes{
        {RankMessage::kNumbers}, {RankMessage::kStream}, {RankMessage::kTokens}};
    std::size_t kept = 0;  // bytes in the inboxes
  };

  [[nodiscard]] std::size_t number(std::size_t stage, std::size_t rank) const noexcept;
  [[nodiscard]] static Inbox& inbox(Peer& peer, RankMessage kind);
  void post(std::size_t to, RankMessage kind, std::span<const std::byte> bytes);
  /// Returns when the system has all posted messages.
  void flush();
  /// Returns the next message of a kind from a peer. It must have `size` bytes, unless that is 0.
  [[nodiscard]] Bytes take(std::size_t from, RankMessage kind, std::size_t size);
  template <class Done>
  void wait_until(const Done& done);
  void write_to(std::size_t number);
  void read_from(std::size_t number);
  void check() const;
  [[noreturn]] void lose(std::size_t number, const std::string& why);

  const RanksLayout layout_;
  const std::size_t stage_, rank_, width_, own_;
  const std::int64_t slot_numbers_;
  const std::size_t most_bytes_;  // most bytes of a message
  std::vector<Peer> peers_;
  std::vector<SlotToken> heard_;
  std::vector<Bytes> parts_;  // parts of a sum
  Duration waited_{};
  std::atomic<bool> lost_{false};
};

}  // namespace weft
