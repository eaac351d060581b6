#include "weft/gpu/ranks/world/network_link.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "weft/core/actor/supervision.h"

namespace weft {
namespace {

/// The most numbers of a piece: longer messages go in pieces, as through shared memory.
constexpr std::int64_t kPieceNumbers = std::int64_t{64} * 1024;
/// Bytes kept from a peer that is ahead. Ranks are a step or two apart; further unread bytes wait
/// in the system's buffers and at the peer.
constexpr std::size_t kMostKept = std::size_t{16} << 20U;
/// A message's cost beside its bytes, so that the number of empty messages is bounded too.
constexpr std::size_t kMessageCost = 64;

template <class Work>
void for_network_pieces(std::size_t size, std::int64_t most, const Work& work) {
  for (std::size_t first = 0; first < size; first += static_cast<std::size_t>(most)) {
    work(first, std::min(static_cast<std::size_t>(most), size - first));
  }
}

std::size_t most_bytes_of(const RanksLayout& layout, std::int64_t slot_numbers) {
  return std::max(static_cast<std::size_t>(slot_numbers) * sizeof(float),
                  static_cast<std::size_t>(layout.rows) * sizeof(SlotToken));
}

}  // namespace

NetworkLink::NetworkLink(const RanksLayout& layout, std::int32_t stage, std::int32_t rank,
                         std::vector<std::unique_ptr<RankSocket>> peers)
    : layout_(layout),
      stage_(static_cast<std::size_t>(stage)),
      rank_(static_cast<std::size_t>(rank)),
      width_(static_cast<std::size_t>(layout.widths[stage_])),
      own_(number(stage_, rank_)),
      slot_numbers_(std::max(kPieceNumbers, layout.columns)),
      most_bytes_(most_bytes_of(layout, slot_numbers_)),
      peers_(peers.size()),
      parts_(width_) {
  for (std::size_t i = 0; i < peers.size(); ++i) peers_[i].socket = std::move(peers[i]);
}

std::size_t NetworkLink::number(std::size_t stage, std::size_t rank) const noexcept {
  const auto first = layout_.widths.begin();
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(stage), rank);
}

void NetworkLink::all_reduce(std::span<float> values) {
  if (width_ == 1) return;
  for_network_pieces(values.size(), slot_numbers_, [&](std::size_t first, std::size_t count) {
    const auto piece = values.subspan(first, count);
    const auto bytes = std::as_bytes(piece);
    parts_[rank_].assign(bytes.begin(), bytes.end());
    for (std::size_t to = 0; to < width_; ++to) {
      if (to != rank_) post(number(stage_, to), RankMessage::kNumbers, bytes);
    }
    for (std::size_t from = 0; from < width_; ++from) {
      if (from == rank_) continue;
      parts_[from] = take(number(stage_, from), RankMessage::kNumbers, bytes.size());
    }
    std::memcpy(piece.data(), parts_[0].data(), bytes.size());
    for (std::size_t from = 1; from < width_; ++from) {
      const auto* part = reinterpret_cast<const float*>(parts_[from].data());
      for (std::size_t i = 0; i < count; ++i) piece[i] += part[i];
    }
  });
  flush();
}

void NetworkLink::gather(const ConstRows& part, std::span<const Extent> columns,
                         const Rows& whole) {
  const std::int64_t widest = std::ranges::max(columns, {}, &Extent::count).count;
  const std::int64_t most = std::max<std::int64_t>(slot_numbers_ / widest, 1);
  std::vector<float> packed;
  for (std::int64_t first = 0; first < part.count; first += most) {
    const std::int64_t rows = std::min(most, part.count - first);
    if (rank_ != 0) {
      packed.clear();
      for (std::int64_t i = 0; i < rows; ++i) {
        const float* row = part.row(first + i);
        packed.insert(packed.end(), row, row + part.width);
      }
      post(number(stage_, 0), RankMessage::kNumbers, std::as_bytes(std::span(packed)));
      flush();
      continue;
    }
    for (std::size_t from = 0; from < width_; ++from) {
      const Extent& place = columns[from];
      const auto size = static_cast<std::size_t>(rows * place.count) * sizeof(float);
      Bytes bytes;
      if (from != 0) bytes = take(number(stage_, from), RankMessage::kNumbers, size);
      for (std::int64_t i = 0; i < rows; ++i) {
        const float* row = from == 0
                               ? part.row(first + i)
                               : reinterpret_cast<const float*>(bytes.data()) + i * place.count;
        std::copy_n(row, place.count, whole.row(first + i) + place.first);
      }
    }
  }
}

void NetworkLink::send(std::span<const float> values) {
  const auto next = static_cast<std::size_t>(layout_.widths[stage_ + 1]);
  for (std::size_t to = rank_; to < next; to += width_) {
    for_network_pieces(values.size(), kPieceNumbers, [&](std::size_t first, std::size_t count) {
      post(number(stage_ + 1, to), RankMessage::kStream,
           std::as_bytes(values.subspan(first, count)));
    });
  }
  flush();
}

void NetworkLink::receive(std::span<float> values) {
  const auto before = static_cast<std::size_t>(layout_.widths[stage_ - 1]);
  for_network_pieces(values.size(), kPieceNumbers, [&](std::size_t first, std::size_t count) {
    const Bytes bytes =
        take(number(stage_ - 1, rank_ % before), RankMessage::kStream, count * sizeof(float));
    std::memcpy(values.data() + first, bytes.data(), bytes.size());
  });
}

void NetworkLink::tell_tokens(std::span<const SlotToken> tokens) {
  for (std::size_t to = 0; std::cmp_less(to, layout_.widths.front()); ++to) {
    if (to != own_) post(to, RankMessage::kTokens, std::as_bytes(tokens));
  }
  flush();
}

std::span<const SlotToken> NetworkLink::hear_tokens() {
  const std::size_t chooser = number(layout_.widths.size() - 1, 0);
  const Bytes bytes = take(chooser, RankMessage::kTokens, 0);
  if (bytes.size() % sizeof(SlotToken) != 0) lose(chooser, "it sent what is no message");
  heard_.resize(bytes.size() / sizeof(SlotToken));
  if (!heard_.empty()) std::memcpy(heard_.data(), bytes.data(), heard_.size() * sizeof(SlotToken));
  return heard_;
}

void NetworkLink::abandon() noexcept {
  lost_.store(true, std::memory_order_release);
  for (const Peer& peer : peers_) {
    if (peer.socket) peer.socket->shut_down();
  }
}

void NetworkLink::check() const {
  if (!lost_.load(std::memory_order_acquire)) return;
  throw ActorFailure(ExitKind::kDeviceLost, "another rank of the model was lost");
}

void NetworkLink::lose(std::size_t number, const std::string& why) {
  check();
  throw ActorFailure(ExitKind::kDeviceLost, "rank " + std::to_string(number) + ": " + why);
}

NetworkLink::Inbox& NetworkLink::inbox(Peer& peer, RankMessage kind) {
  return *std::ranges::find(peer.inboxes, kind, &Inbox::kind);
}

void NetworkLink::post(std::size_t to, RankMessage kind, std::span<const std::byte> bytes) {
  check();
  Peer& peer = peers_[to];
  if (auto sealed = peer.socket->seal(kind, bytes, peer.unsent); !sealed) {
    lose(to, sealed.error().detail);
  }
  write_to(to);
}

void NetworkLink::flush() {
  const auto is_sent = [](const Peer& peer) { return peer.unsent.empty(); };
  wait_until([&] { return std::ranges::all_of(peers_, is_sent); });
}

NetworkLink::Bytes NetworkLink::take(std::size_t from, RankMessage kind, std::size_t size) {
  check();
  std::deque<Bytes>& messages = inbox(peers_[from], kind).messages;
  if (messages.empty()) wait_until([&] { return !messages.empty(); });
  Bytes bytes = std::move(messages.front());
  messages.pop_front();
  peers_[from].kept -= bytes.size() + kMessageCost;
  if (size != 0 && bytes.size() != size) lose(from, "it runs another step");
  return bytes;
}

template <class Done>
void NetworkLink::wait_until(const Done& done) {
  if (done()) return;
  const auto began = std::chrono::steady_clock::now();
  // Bytes that were read earlier and not processed do not wake a poll.
  for (std::size_t i = 0; i < peers_.size(); ++i) read_from(i);
  std::vector<pollfd> sockets;
  std::vector<std::size_t> numbers;
  while (!done()) {
    check();
    sockets.clear();
    numbers.clear();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const Peer& peer = peers_[i];
      if (!peer.socket) continue;
      const int reads = peer.kept < kMostKept ? POLLIN : 0;
      const int writes = peer.unsent.empty() ? 0 : POLLOUT;
      sockets.push_back({peer.socket->descriptor(), static_cast<short>(reads | writes), 0});
      numbers.push_back(i);
    }
    // No timeout: abandon() ends the connections, which wakes this call.
    if (::poll(sockets.data(), sockets.size(), -1) < 0 && errno != EINTR) continue;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if ((sockets[i].revents & POLLOUT) != 0) write_to(numbers[i]);
      if ((sockets[i].revents & ~POLLOUT) == 0) continue;
      if ((sockets[i].events & POLLIN) == 0) lose(numbers[i], "the connection ended");
      read_from(numbers[i]);
    }
  }
  waited_ += std::chrono::steady_clock::now() - began;
}

void NetworkLink::write_to(std::size_t number) {
  Peer& peer = peers_[number];
  const auto left = std::span<const std::byte>(peer.unsent).subspan(peer.sent);
  const auto written = peer.socket->write_some(left);
  if (!written) lose(number, written.error().detail);
  peer.sent += *written;
  if (peer.sent < peer.unsent.size()) return;
  peer.unsent.clear();
  peer.sent = 0;
}

void NetworkLink::read_from(std::size_t number) {
  Peer& peer = peers_[number];
  while (peer.socket && peer.kept < kMostKept) {
    const auto frame = peer.socket->poll(most_bytes_);
    if (!frame) lose(number, frame.error().detail);
    if (!*frame) return;
    const auto place = std::ranges::find(peer.inboxes, (*frame)->kind, &Inbox::kind);
    if (place == peer.inboxes.end()) lose(number, "it sent what is no message");
    place->messages.emplace_back((*frame)->payload.begin(), (*frame)->payload.end());
    peer.kept += (*frame)->payload.size() + kMessageCost;
  }
}

}  // namespace weft
