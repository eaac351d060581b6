#include "weft/model/adapters/adapter_hash.h"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft {
namespace {

/// Hashes each length before its contents and each list's size before the list, so that different
/// adapters give different bytes.
class ContentHash {
 public:
  ContentHash() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(std::span<const std::byte> bytes) {
    const auto size = static_cast<std::uint64_t>(bytes.size());
    check(EVP_DigestUpdate(context_.get(), &size, sizeof(size)) == 1);
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  void add_size(std::size_t size) {
    const std::array<std::int64_t, 1> number = {static_cast<std::int64_t>(size)};
    add(std::span<const std::int64_t>(number));
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(std::span<const float> values) { add(std::as_bytes(values)); }
  void add(std::span<const std::int64_t> values) { add(std::as_bytes(values)); }

  [[nodiscard]] std::array<std::byte, 32> finish() {
    std::array<std::byte, 32> hash{};
    check(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(hash.data()),
                             nullptr) == 1);
    return hash;
  }

 private:
  static void check(bool done) {
    if (!done) internal_error("ContentHash: OpenSSL has no SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Result<std::array<std::byte, 32>> hash_of(const Adapter& adapter) {
  ContentHash hash;
  hash.add_size(adapter.targets.size());
  for (const AdapterTarget& each : adapter.targets) {
    hash.add(each.tensor);
    const std::array<std::int64_t, 5> numbers = {each.expert, each.outputs, each.inputs, each.rank,
                                                 std::bit_cast<std::int32_t>(each.scale)};
    hash.add(std::span<const std::int64_t>(numbers));
    for (const auto* values : {&each.a, &each.b, &each.magnitude})
      hash.add(std::span<const float>(*values));
  }
  hash.add_size(adapter.biases.size());
  for (const AdapterBiasTarget& each : adapter.biases) {
    hash.add(each.tensor);
    hash.add(std::span<const float>(each.values));
  }
  hash.add_size(adapter.whole.size());
  for (const CheckpointTensor& each : adapter.whole) {
    std::size_t count = 1;
    for (const std::int64_t extent : each.shape) count *= static_cast<std::size_t>(extent);
    std::vector<float> values(count);
    if (auto read = read_values(each, 0, 1, values); !read) return read.error();
    hash.add(each.name);
    hash.add(std::span<const float>(values));
  }
  hash.add_size(adapter.rows.size());
  for (const AdapterRows& each : adapter.rows) {
    hash.add(each.tensor);
    hash.add(std::span<const std::int64_t>(each.rows));
    hash.add(std::span<const float>(each.values));
  }
  return hash.finish();
}

}  // namespace weft
