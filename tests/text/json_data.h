#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One of the files of tests/text/data.
inline boost::json::value read_test_data(std::string_view name) {
  const auto path = std::filesystem::path(source_path("tests/text/data")) / name;
  return boost::json::parse(read_file(path));
}

/// Data that is not part of the tree and may be absent.
inline std::filesystem::path shared_data() { return source_path("../shared/data"); }

inline std::string text_of(const boost::json::value& value) {
  return std::string(value.as_string());
}

inline std::vector<TokenId> ids_of(const boost::json::value& value) {
  return boost::json::value_to<std::vector<TokenId>>(value);
}

inline std::vector<std::string> texts_of(const boost::json::value& value) {
  return boost::json::value_to<std::vector<std::string>>(value);
}

}  // namespace weft::test
