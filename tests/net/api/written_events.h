#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/event_batch.h"

namespace weft::test {

/// One event as a client gets it.
struct WrittenEvent {
  std::string name{};  ///< the value of its "event:" line
  std::string data{};
};

inline void expect_valid_json(const std::string& text) {
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.parse(text).error(), simdjson::SUCCESS) << text;
}

inline WrittenEvent event_of(std::string_view lines) {
  constexpr std::string_view kName = "event: ";
  constexpr std::string_view kData = "data: ";
  WrittenEvent event;
  if (lines.starts_with(kName)) {
    const std::size_t end = lines.find('\n');
    event.name = lines.substr(kName.size(), end - kName.size());
    lines.remove_prefix(end + 1);
  }
  EXPECT_TRUE(lines.starts_with(kData)) << lines;
  event.data = lines.substr(kData.size());
  EXPECT_EQ(event.data.find('\n'), std::string::npos) << "one line of data an event";
  return event;
}

/// Returns the events of a batch. All but [DONE] must be valid JSON.
inline std::vector<WrittenEvent> events_of(const EventBatch& batch) {
  std::vector<WrittenEvent> events;
  std::string_view bytes = batch.bytes();
  if (batch.framing() == Framing::kWebSocket) {
    std::size_t begin = 0;
    for (const std::size_t end : batch.message_ends()) {
      events.push_back({{}, std::string(bytes.substr(begin, end - begin))});
      begin = end;
    }
    EXPECT_EQ(begin, bytes.size());
  } else if (batch.framing() == Framing::kSse) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find("\n\n");
      EXPECT_NE(end, std::string_view::npos);
      if (end == std::string_view::npos) break;
      events.push_back(event_of(bytes.substr(0, end)));
      bytes.remove_prefix(end + 2);
    }
  } else if (batch.framing() == Framing::kLines) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      EXPECT_NE(end, std::string_view::npos);
      if (end == std::string_view::npos) break;
      events.push_back({{}, std::string(bytes.substr(0, end))});
      bytes.remove_prefix(end + 1);
    }
  } else {
    events.push_back({{}, std::string(bytes)});
  }
  for (const WrittenEvent& event : events) {
    if (event.data != "[DONE]") expect_valid_json(event.data);
  }
  return events;
}

inline std::vector<std::string> data_of(const EventBatch& batch) {
  std::vector<std::string> data;
  for (WrittenEvent& event : events_of(batch)) data.push_back(std::move(event.data));
  return data;
}

inline boost::json::value json_of(std::string_view text) { return boost::json::parse(text); }

}  // namespace weft::test
