#include "weft/model/checkpoint/header_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using test::is_bad;

/// A source with the greatest possible size and no content.
class EndlessSource final : public ByteSource {
 public:
  EndlessSource() : ByteSource("endless", std::uint64_t{1} << 60U) {}

 private:
  [[nodiscard]] Result<void> read_within(std::uint64_t, std::span<std::byte> out) const override {
    for (std::byte& byte : out) byte = std::byte{1};
    return {};
  }
};

/// A text of so many bytes, from the window's begin on.
auto text_of(std::uint64_t count) {
  return [count](ByteWindow& window) -> Result<std::string> {
    ByteReader reader(window);
    const auto text = reader.read_text(count, "text");
    if (!text) return text.error();
    return std::string(*text);
  };
}

TEST(HeaderBytesTest, AreAsManyAsTheParserWants) {
  const std::string text = "0123456789";
  const auto source = test::source_of(std::as_bytes(std::span(text)), "m");
  for (const std::uint64_t guess : {1U, 2U, 7U, 8U, 100U}) {
    EXPECT_EQ(HeaderBytes(*source, 2, 10, guess).parse(text_of(7)).value(), "2345678") << guess;
  }
  EXPECT_THAT(HeaderBytes(*source, 2, 9, 1).parse(text_of(8)),
              FailsWith(ByteErrc::kEndOfData, "text at offset 2 needs 8 bytes, there are 7"));
  EXPECT_EQ(HeaderBytes(*source, 10, 10, 1).parse(text_of(0)).value(), "");
}

TEST(HeaderBytesTest, AreParsedFromTheirStartEachTime) {
  const auto source = test::source_of(std::vector<std::byte>(1000), "m");
  std::vector<std::size_t> windows;
  HeaderBytes header(*source, 0, 1000, 10);
  const auto parsed = header.parse([&](ByteWindow& window) -> Result<void> {
    windows.push_back(window.bytes.size());
    ByteReader reader(window);
    for (int i = 0; i < 100; ++i) {
      if (const auto read = reader.read<std::uint8_t>("a byte"); !read) return read.error();
    }
    return {};
  });
  EXPECT_TRUE(parsed);
  EXPECT_EQ(windows, (std::vector<std::size_t>{10, 20, 40, 80, 160})) << "each twice the last";
}

TEST(HeaderBytesTest, AreForgottenAlthoughTheParserIsContentWithout) {
  const auto source = test::source_of(std::vector<std::byte>(1000), "m");
  HeaderBytes header(*source, 0, 1000, 10);
  const auto parsed = header.parse([](ByteWindow& window) -> Result<bool> {
    FieldReader fields(window);
    fields.skip(500, "what is not read");
    fields.take<std::uint8_t>("flag");
    return !fields.failed();
  });
  EXPECT_TRUE(parsed.value());
}

TEST(HeaderBytesTest, HaveABound) {
  const EndlessSource endless;
  EXPECT_THAT(HeaderBytes(endless, 5, endless.size()).parse(text_of(kMaxHeldBytes + 1)),
              is_bad("endless: a header of 268435457 bytes or more at offset 5"));
  EXPECT_THAT(HeaderBytes(endless, 0, endless.size()).parse(text_of(std::uint64_t{1} << 59U)),
              is_bad("more than 268435456"));
  EXPECT_THAT(read_held(endless, 0, kMaxHeldBytes + 1), is_bad("more than 268435456"));
  EXPECT_EQ(read_held(endless, 7, 3).value(), std::vector<std::byte>(3, std::byte{1}));
}

TEST(HeaderBytesTest, OfAFileThatWasCutAreAnError) {
  const auto whole = test::source_of(std::vector<std::byte>(100), "m");
  const test::CutSource cut(whole, 50);
  EXPECT_TRUE(HeaderBytes(cut, 0, 100, 1).parse(text_of(32)));
  EXPECT_THAT(HeaderBytes(cut, 0, 100, 1).parse(text_of(51)), FailsWith(FileErrc::kCut, "m"));
}

}  // namespace
}  // namespace weft
