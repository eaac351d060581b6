#include "weft/net/client/event_splitter.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns the events of a stream whose bytes come in pieces of `size`, each in memory that is
/// freed before the next.
std::vector<std::string> events_of(std::string_view stream, std::size_t size,
                                   std::size_t most = 1000) {
  EventSplitter splitter(most);
  std::vector<std::string> events;
  while (!stream.empty()) {
    std::string piece(stream.substr(0, size));
    stream.remove_prefix(piece.size());
    piece.shrink_to_fit();
    splitter.put(piece);
    while (const auto event = splitter.next()) events.emplace_back(*event);
    piece.assign(piece.size(), '#');
  }
  return events;
}

TEST(EventSplitter, FindsTheSameEventsWhereverTheBytesAreCut) {
  constexpr std::string_view kStream =
      "\xEF\xBB\xBF"
      "data: one\n\n"
      ": a comment\r\n\r\n"
      "event: named\r\nid: 7\r\ndata:two\r\n\r\n"
      "data: of\r\ndata\r\ndata:  three\n\n"
      "data: returns\rdata: alone\r\r"
      "database: no field of ours\n\n"
      "data\n\n"
      "data: [DONE]\n\n"
      "data: not whole\n";
  for (std::size_t size = 1; size <= kStream.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_THAT(events_of(kStream, size),
                ElementsAre("one", "two", "of\n\n three", "returns\nalone", "[DONE]"));
  }
}

TEST(EventSplitter, ShowsWhatLiesWholeInItsInputWithoutACopy) {
  const std::string input = "data: first\n\ndata: second\n\n";
  EventSplitter splitter(1000);
  splitter.put(input);
  const auto first = splitter.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(static_cast<const void*>(first->data()), input.data() + 6);
  EXPECT_EQ(splitter.next(), "second");
  EXPECT_EQ(splitter.next(), std::nullopt);
}

TEST(EventSplitter, StopsAtALineThatIsTooLargeBeforeItsEnd) {
  EventSplitter splitter(10);
  for (int i = 0; i < 3; ++i) {
    splitter.put("data: ");
    EXPECT_EQ(splitter.next(), std::nullopt);
  }
  EXPECT_TRUE(splitter.too_large());
  splitter.put("data: x\n\n");
  EXPECT_EQ(splitter.next(), std::nullopt);
  splitter.clear();
  splitter.put("data: x\n\n");
  EXPECT_EQ(splitter.next(), "x");
}

TEST(EventSplitter, StopsAtAnEventThatIsTooLargeForItsManyLines) {
  EXPECT_THAT(events_of("data: 12345678\n\ndata: 1234\ndata: 5678\ndata: 9\n\n", 7, 14),
              ElementsAre("12345678", "1234\n5678\n9"));
  EXPECT_THAT(events_of("data: 1234\ndata: 5678\ndata: 9\n\n", 100, 10), IsEmpty());
}

}  // namespace
}  // namespace weft
