// weft_mask_bench VOCABULARY CASES: measures the time of masks. bench/grammar/compare_masks.py
// writes its files and compares its output with other engines. VOCABULARY: for each token its size
// in 4 bytes, then its bytes. CASES: a JSON list of objects with a `schema`, which may be a text,
// and the `ids` of documents. Prints, as JSON, the nanoseconds of compiling, of refusing, and of
// the mask and the advance of every step.

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;
namespace json = boost::json;

std::int64_t nanoseconds_since(Clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
}

std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> vocabulary(const std::string& file) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= file.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, file.data() + at, sizeof(size));
    tokens.push_back(file.substr(at + sizeof(size), size));
    at += sizeof(size) + size;
  }
  return tokens;
}

using Compiled = Result<std::shared_ptr<const grammar::CompiledGrammar>>;

Compiled compile(const std::string& schema, const std::shared_ptr<const grammar::TokenTrie>& trie) {
  GrammarBuilder builder;
  const auto part = builder.json_schema(schema, "schema");
  if (!part) return part.error();
  const auto grammar = std::move(builder).finish(*part);
  if (!grammar) return grammar.error();
  return grammar::CompiledGrammar::make(**grammar, trie);
}

/// Runs one schema and its documents; returns false when they do not fit, because the other engines
/// are to see only valid documents.
bool run(const json::value& one, const std::shared_ptr<const grammar::TokenTrie>& trie,
         json::object& out) {
  const json::value& given = one.at("schema");
  const std::string schema =
      given.is_string() ? std::string(given.get_string()) : json::serialize(given);
  const auto began = Clock::now();
  const Compiled compiled = compile(schema, trie);
  out[compiled ? "compile" : "refuse"].as_array().push_back(nanoseconds_since(began));
  if (!compiled) return false;
  for (const json::value& document : one.at("ids").as_array()) {
    const auto state = (*compiled)->begin();
    for (const json::value& id : document.as_array()) {
      const TokenId token = static_cast<TokenId>(id.to_number<std::int32_t>());
      const auto asked = Clock::now();
      const AllowedTokens allowed = state->allowed();
      out["mask"].as_array().push_back(nanoseconds_since(asked));
      if (allowed.count == 0) return false;
      const auto told = Clock::now();
      state->advance({&token, 1});
      out["advance"].as_array().push_back(nanoseconds_since(told));
    }
    if (!state->allowed().may_end) return false;
  }
  return true;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft;
  if (argc != 3) {
    std::cerr << "usage: weft_mask_bench VOCABULARY CASES\n";
    return 2;
  }
  const auto began = bench::Clock::now();
  const auto trie = std::make_shared<const grammar::TokenTrie>(
      bench::vocabulary(bench::contents(argv[1])), std::unordered_map<std::string, TokenId>{});
  boost::json::object out{
      {"trie", bench::nanoseconds_since(began)}, {"compile", boost::json::array()},
      {"refuse", boost::json::array()},          {"mask", boost::json::array()},
      {"advance", boost::json::array()},         {"refused", boost::json::array()}};
  const auto cases = boost::json::parse(bench::contents(argv[2]));
  std::int64_t index = 0;
  for (const auto& one : cases.as_array()) {
    if (!bench::run(one, trie, out)) out["refused"].as_array().push_back(index);
    ++index;
  }
  std::cout << boost::json::serialize(out) << "\n";
  return 0;
}
