#include "weft/kernels/encoding/encoding.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/kernels/encoding/integer_codes.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

const Encoding* encoding_numbered(std::uint32_t type) {
  const auto found = std::ranges::find(encodings(), type, &Encoding::gguf_type);
  return found == encodings().end() ? nullptr : &*found;
}

/// Blocks of one type with the hashes of what they decode to.
struct KnownBlocks {
  const Encoding* encoding = nullptr;
  std::vector<std::vector<std::byte>> blocks;
  std::vector<std::uint64_t> hashes;
};

class KnownBlocksReader {
 public:
  /// Types are written as GGUF's numbers, or by name.
  KnownBlocksReader(std::string_view bytes, bool named) : bytes_(bytes), named_(named) {}

  std::vector<KnownBlocks> read() {
    std::vector<KnownBlocks> all;
    while (!bytes_.empty()) {
      KnownBlocks known;
      known.encoding = named_ ? take_named() : encoding_numbered(take<std::uint32_t>());
      if (known.encoding == nullptr) return {};
      const auto count = take<std::uint32_t>();
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto size = static_cast<std::size_t>(block_of(known.encoding->dtype).bytes);
        const auto* from = reinterpret_cast<const std::byte*>(bytes_.data());
        known.blocks.emplace_back(from, from + size);
        bytes_.remove_prefix(size);
        known.hashes.push_back(take<std::uint64_t>());
      }
      all.push_back(std::move(known));
    }
    return all;
  }

 private:
  template <class T>
  T take() {
    T value;
    bytes_.copy(reinterpret_cast<char*>(&value), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }

  const Encoding* take_named() {
    const std::string_view name = bytes_.substr(0, 8);
    bytes_.remove_prefix(8);
    const auto dtype = dtype_named(name.substr(0, name.find('\0')));
    return dtype ? &encoding_of(*dtype) : nullptr;
  }

  std::string_view bytes_;
  bool named_;
};

std::vector<KnownBlocks> known_blocks(const std::string& name, bool named) {
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  const auto file = read_text_file(test::source_path("tests/kernels/encoding/data/" + name), kMost);
  EXPECT_TRUE(file) << to_string(file.error());
  return KnownBlocksReader(*file, named).read();
}

/// FNV-1a over the numbers' bits, every NaN as the same.
std::uint64_t hash_of(const std::vector<float>& numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const float number : numbers) {
    const auto bits = std::isnan(number) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(number);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (bits >> shift & 0xffU)) * 0x100000001b3;
    }
  }
  return hash;
}

std::vector<float> decode(DType dtype, const std::vector<std::byte>& bytes) {
  const DTypeBlock block = block_of(dtype);
  const auto count = static_cast<std::int64_t>(bytes.size()) / block.bytes;
  std::vector<float> numbers(static_cast<std::size_t>(count * block.elements));
  decode_blocks({.dtype = dtype, .data = bytes.data(), .count = count}, numbers.data());
  return numbers;
}

std::vector<std::byte> joined(const std::vector<std::vector<std::byte>>& blocks) {
  std::vector<std::byte> all;
  for (const auto& block : blocks) all.insert(all.end(), block.begin(), block.end());
  return all;
}

class EncodingTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

void expect_known_numbers(const std::vector<KnownBlocks>& all) {
  for (const KnownBlocks& known : all) {
    for (std::size_t i = 0; i < known.blocks.size(); ++i) {
      EXPECT_EQ(hash_of(decode(known.encoding->dtype, known.blocks[i])), known.hashes[i])
          << to_string(known.encoding->dtype) << " block " << i;
    }
  }
}

std::int64_t count_in_gguf() {
  return std::ranges::count_if(encodings(), [](const Encoding& encoding) {
    return encoding.gguf_type != Encoding::kNotInGguf;
  });
}

TEST_P(EncodingTest, DecodesEveryBlockToTheBitsOfGgufPy) {
  const auto all = known_blocks("blocks.bin", false);
  ASSERT_EQ(std::ssize(all), count_in_gguf());
  expect_known_numbers(all);
}

TEST_P(EncodingTest, DecodesEveryBlockOfOtherFormatsToTheBitsOfItsFormula) {
  auto all = known_blocks("group_blocks.bin", true);
  std::ranges::move(known_blocks("plane_blocks.bin", true), std::back_inserter(all));
  ASSERT_EQ(std::ssize(all), std::ssize(encodings()) - count_in_gguf());
  expect_known_numbers(all);
}

TEST_P(EncodingTest, DecodesBlocksThatStandApartAtAnyAddress) {
  std::mt19937 random(3);
  for (const Encoding& encoding : encodings()) {
    const auto size = static_cast<std::size_t>(block_of(encoding.dtype).bytes);
    const auto first = test::random_block(encoding, random);
    const auto second = test::random_block(encoding, random);
    const std::size_t stride = size + 5;
    std::vector<std::byte> apart(1 + stride + size);
    std::ranges::copy(first, apart.begin() + 1);
    std::ranges::copy(second, apart.begin() + 1 + static_cast<std::ptrdiff_t>(stride));
    std::vector<float> numbers(static_cast<std::size_t>(2 * block_of(encoding.dtype).elements));
    decode_blocks({.dtype = encoding.dtype,
                   .data = apart.data() + 1,
                   .count = 2,
                   .stride = static_cast<std::int64_t>(stride)},
                  numbers.data());
    EXPECT_EQ(numbers, decode(encoding.dtype, joined({first, second})))
        << to_string(encoding.dtype);
  }
}

/// The last block ends where the memory does.
TEST_P(EncodingTest, ReadsNothingBeyondTheLastBlock) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kPages = 8;
  void* memory = mmap(nullptr, (kPages + 1) * kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* end = static_cast<std::byte*>(memory) + kPages * kPage;
  ASSERT_EQ(mprotect(end, kPage, PROT_NONE), 0);
  for (const Encoding& encoding : encodings()) {
    const DTypeBlock block = block_of(encoding.dtype);
    for (const std::int64_t count : {1, 2, 3, 5, 7}) {
      for (const std::int64_t stride : {block.bytes, 16 * block.bytes}) {
        const std::int64_t size = (count - 1) * stride + block.bytes;
        if (size > static_cast<std::int64_t>(kPages * kPage)) continue;
        std::vector<float> numbers(static_cast<std::size_t>(count * block.elements), 1);
        decode_blocks(
            {.dtype = encoding.dtype, .data = end - size, .count = count, .stride = stride},
            numbers.data());
        EXPECT_TRUE(std::isfinite(numbers.back())) << to_string(encoding.dtype);
      }
    }
  }
  munmap(memory, (kPages + 1) * kPage);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, EncodingTest, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST(EncodingTable, StatesHowManyValuesAGroupHas) {
  std::mt19937 random(7);
  for (const Encoding& encoding : encodings()) {
    std::size_t most = 0;
    for (int block = 0; block < 400; ++block) {
      const auto numbers = decode(encoding.dtype, test::random_block(encoding, random));
      for (std::size_t at = 0; at < numbers.size();
           at += static_cast<std::size_t>(encoding.group)) {
        std::set<std::uint32_t> values;
        for (std::int64_t i = 0; i < encoding.group; ++i) {
          values.insert(std::bit_cast<std::uint32_t>(numbers[at + static_cast<std::size_t>(i)]));
        }
        most = std::max(most, values.size());
      }
    }
    EXPECT_LE(most, encoding.levels) << to_string(encoding.dtype);
    EXPECT_GE(most, std::min(encoding.levels, encoding.group) * 2 / 3) << to_string(encoding.dtype);
  }
}

TEST(EncodingTable, HasARowForEveryEncodedType) {
  std::set<std::uint32_t> numbers;
  for (const Encoding& encoding : encodings()) {
    EXPECT_EQ(&encoding_of(encoding.dtype), &encoding);
    EXPECT_EQ(block_of(encoding.dtype).elements % encoding.group, 0);
    if (encoding.gguf_type != Encoding::kNotInGguf) numbers.insert(encoding.gguf_type);
  }
  EXPECT_EQ(std::ssize(numbers), count_in_gguf());
  WEFT_EXPECT_BUG(static_cast<void>(encoding_of(DType::kBF16)), "a plain type");
}

TEST(EncodingTable, LaysIntegersOutInAsManyBytesAsTheirTypeHas) {
  for (const IntegerCodes& codes : kIntegerCodes) {
    EXPECT_EQ(block_of(codes.dtype).elements, codes.elements()) << to_string(codes.dtype);
    EXPECT_EQ(block_of(codes.dtype).bytes, codes.bytes()) << to_string(codes.dtype);
    EXPECT_EQ(integer_codes_of(codes.dtype), &codes);
  }
  EXPECT_EQ(integer_codes_of(DType::kQ4_0), nullptr);
}

TEST(EncodingTable, FindsTheFirstScaleThatIsNoNumber) {
  std::mt19937 random(5);
  for (const Encoding& encoding : encodings()) {
    const auto size = block_of(encoding.dtype).bytes;
    std::vector<std::byte> good;
    for (int i = 0; i < 5; ++i) good = joined({good, test::random_block(encoding, random)});
    ASSERT_EQ(first_bad_scale(encoding, good), std::nullopt) << to_string(encoding.dtype);
    std::vector<std::int64_t> places;
    if (encoding.scale_type == ScaleType::kF32) places.push_back(encoding.scale_at + 3);
    if (encoding.scale_type == ScaleType::kF16) {
      for (std::int64_t i = 0; i < encoding.scales; ++i) {
        places.push_back(encoding.scale_at + 2 * i + 1);
      }
      if (encoding.has_minimum) places.push_back(encoding.minimum_at + 1);
    }
    for (const std::int64_t place : places) {
      for (unsigned bits : {0x7cU, 0xfcU, 0x7eU}) {
        auto bad = good;
        if (encoding.scale_type == ScaleType::kF32) bits |= 3U;
        for (const std::int64_t block : {4, 2}) {
          bad[static_cast<std::size_t>(block * size + place)] = static_cast<std::byte>(bits);
          if (encoding.scale_type == ScaleType::kF32)
            bad[static_cast<std::size_t>(block * size + place - 1)] = std::byte{0xff};
          EXPECT_EQ(first_bad_scale(encoding, bad), block) << to_string(encoding.dtype);
        }
      }
    }
  }
}

TEST(EncodingTable, FindsScalesThatAreNoF16InOnePiece) {
  std::mt19937 random(5);
  const Encoding& powers = encoding_of(DType::kMXFP4);
  auto block = test::random_block(powers, random);
  block[0] = std::byte{0xfe};
  EXPECT_EQ(first_bad_scale(powers, block), std::nullopt);
  block[0] = std::byte{0xff};
  EXPECT_EQ(first_bad_scale(powers, block), 0);

  const Encoding& nibbles = encoding_of(DType::kIQ1_M);
  block = test::random_block(nibbles, random);
  block[53] = std::byte{0xcf};
  block[55] = std::byte{0x7f};
  EXPECT_EQ(first_bad_scale(nibbles, block), 0) << "0x7c.. is infinite or no number";
  block[53] = std::byte{0xbf};
  EXPECT_EQ(first_bad_scale(nibbles, block), std::nullopt) << "0x7b.. is a number";
}

}  // namespace
}  // namespace weft
