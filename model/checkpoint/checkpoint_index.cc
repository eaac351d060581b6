#include "weft/model/checkpoint/checkpoint_index.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxIndexBytes = 64ULL << 20U;  // a million tensors
constexpr std::size_t kMaxIndexDepth = 64;            // "metadata" may hold anything

using NamePair = std::pair<std::string_view, std::string_view>;  // tensor, file

/// Whether the text is the plain name of a file in the same folder.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

Result<std::vector<NamePair>> read_weight_map(dom::object map, std::string_view index) {
  std::vector<NamePair> pairs;
  for (const auto field : map) {
    std::string_view file;
    if (field.value.get(file) != simdjson::SUCCESS)
      return bad_checkpoint(index, "the file of tensor " + in_quotes(field.key) + " is no text");
    if (!is_plain_file_name(file))
      return bad_checkpoint(index, "tensor " + in_quotes(field.key) + " is in " + in_quotes(file) +
                                       ", which is no plain file name");
    pairs.emplace_back(field.key, file);
  }
  if (pairs.empty()) return bad_checkpoint(index, "weight_map is empty");
  std::ranges::sort(pairs);
  const auto twice = std::ranges::adjacent_find(pairs, {}, &NamePair::first);
  if (twice != pairs.end())
    return bad_checkpoint(index, "tensor " + in_quotes(twice->first) + " stands there twice");
  return pairs;
}

CheckpointIndex make_index(std::vector<NamePair>& pairs) {
  std::ranges::sort(pairs, {},
                    [](const NamePair& pair) { return NamePair(pair.second, pair.first); });
  CheckpointIndex index;
  for (const auto& [tensor, file] : pairs) {
    if (index.shards.empty() || index.shards.back().file != file)
      index.shards.push_back({.file = std::string(file), .tensors = {}});
    index.shards.back().tensors.emplace_back(tensor);
  }
  return index;
}

}  // namespace

Result<CheckpointIndex> parse_checkpoint_index(std::string_view text, std::string_view name) {
  if (text.empty()) return bad_checkpoint(name, "is empty");
  dom::parser parser;
  if (parser.allocate(text.size(), kMaxIndexDepth) != simdjson::SUCCESS)
    return bad_checkpoint(name, "is too large to parse");
  dom::element document;
  const simdjson::error_code error = parser.parse(text.data(), text.size()).get(document);
  if (error != simdjson::SUCCESS) return bad_checkpoint(name, simdjson::error_message(error));
  dom::object map;
  if (document["weight_map"].get(map) != simdjson::SUCCESS)
    return bad_checkpoint(name, "has no object weight_map");
  auto pairs = read_weight_map(map, name);
  if (!pairs) return pairs.error();
  return make_index(*pairs);
}

Result<CheckpointIndex> read_checkpoint_index(const std::filesystem::path& path) {
  const auto text = read_text_file(path, kMaxIndexBytes);
  if (!text) return text.error();
  return parse_checkpoint_index(*text, path.string());
}

}  // namespace weft
