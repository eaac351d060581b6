#include "weft/gpu/ranks/world/handshake.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/device_error.h"

namespace weft {
namespace {

/// Changes with every change of the messages between processes.
constexpr std::uint32_t kProtocol = 7;
/// The time for a whole greeting: its messages have some hundred bytes, and are answered at once.
constexpr std::chrono::seconds kPatience{5};
/// The time for the rank's side of a greeting: the other process may still be busy loading.
constexpr std::chrono::seconds kPatienceOfRank{10};

using Steady = std::chrono::steady_clock;

int patience_left(Steady::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

using Block = std::array<std::byte, 32>;

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  Block challenge{};
};

struct Proof {
  Block answer{};
  Block challenge{};
};

Error refused(const std::string& why) { return {DeviceErrc::kRankLost, why}; }

Block random_block() {
  Block block;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(block.data()), static_cast<int>(block.size())) !=
      1) {
    internal_error("there are no random numbers");
  }
  return block;
}

/// Returns the answer to a challenge on this connection; it requires the key. `who` makes the
/// answers of the two sides different.
Block answer_to(const Block& challenge, std::string_view who, const Hello& hello,
                const std::string& key, const RankSocket& socket) {
  std::vector<unsigned char> said(who.begin(), who.end());
  const auto add = [&said](const void* from, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(from);
    said.insert(said.end(), bytes, bytes + size);
  };
  add(&hello.rank, sizeof(hello.rank));
  add(&hello.size, sizeof(hello.size));
  add(challenge.data(), challenge.size());
  add(socket.binding().data(), socket.binding().size());
  Block answer{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), said.data(), said.size(),
       reinterpret_cast<unsigned char*>(answer.data()), &size);
  return answer;
}

bool same(const Block& a, const Block& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class T>
Result<T> expect(RankSocket& socket, RankMessage kind, Steady::time_point end) {
  // The other side has not proved that it has the key, so it gets no memory.
  const auto frame = socket.receive(patience_left(end), sizeof(T));
  if (!frame) return frame.error();
  T value;
  if (frame->kind != kind || frame->payload.size() != sizeof(value)) {
    return refused("it speaks another protocol");
  }
  std::memcpy(static_cast<void*>(&value), frame->payload.data(), sizeof(value));
  return value;
}

}  // namespace

Result<std::int32_t> greet_rank(RankSocket& socket, const RankWorld& world, const RankTls* tls) {
  const auto end = Steady::now() + kPatience;
  if (tls != nullptr) {
    if (auto encrypted = socket.encrypt(*tls, true, patience_left(end)); !encrypted) {
      return encrypted.error();
    }
  }
  const auto hello = expect<Hello>(socket, RankMessage::kHello, end);
  if (!hello) return hello.error();
  if (hello->protocol != kProtocol) return refused("it is another version of weft");
  if (hello->size != world.size || hello->rank < 1 || hello->rank >= world.size) {
    return refused("it is rank " + std::to_string(hello->rank) + " of " +
                   std::to_string(hello->size) + ", and there are " + std::to_string(world.size));
  }
  const Proof own{answer_to(hello->challenge, "head", *hello, world.key, socket), random_block()};
  if (auto sent = socket.send(RankMessage::kProof, bytes_of(own)); !sent) return sent.error();
  const auto proof = expect<Proof>(socket, RankMessage::kProof, end);
  if (!proof) return proof.error();
  if (!same(proof->answer, answer_to(own.challenge, "rank", *hello, world.key, socket))) {
    return refused("it has another key");
  }
  return hello->rank;
}

Result<void> greet_head(RankSocket& socket, const RankWorld& world, const RankTls* tls) {
  const auto end = Steady::now() + kPatienceOfRank;
  if (tls != nullptr) {
    if (auto encrypted = socket.encrypt(*tls, false, patience_left(end)); !encrypted)
      return encrypted;
  }
  const Hello hello{kProtocol, world.rank, world.size, random_block()};
  if (auto sent = socket.send(RankMessage::kHello, bytes_of(hello)); !sent) return sent;
  const auto proof = expect<Proof>(socket, RankMessage::kProof, end);
  if (!proof) return proof.error();
  if (!same(proof->answer, answer_to(hello.challenge, "head", hello, world.key, socket))) {
    return refused("it has another key");
  }
  const Proof own{answer_to(proof->challenge, "rank", hello, world.key, socket), {}};
  return socket.send(RankMessage::kProof, bytes_of(own));
}

}  // namespace weft
