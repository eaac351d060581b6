#include <gtest/gtest.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/grammar/grammar_error.h"
#include "weft/tests/fixture/doc_page.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/text/json/json_text.h"

/// The cases of data/schema_suite, which are laid out as the JSON-Schema-Test-Suite's are: a file
/// for each keyword of a draft, with schemas, their documents, and whether each document is
/// valid. Beyond that layout a schema may say `refused`: the place that the error names,
/// or "nothing" where no text is possible; or `let_pass`: the places that a lenient reader
/// names. A document may say `narrow`: it is valid and yet never written, by the rule
/// of docs/http-api.md with this name; `relaxed`: it is not valid, and written all the
/// same, because the place is let pass; and `text` in place of `data`.
namespace weft::grammar {
namespace {

using boost::json::value;

std::string string_of(const value& text) {
  return {text.as_string().data(), text.as_string().size()};
}

/// A value without white space, its numbers as people write them: 1.5, where Boost has 1.5E0.
std::string compact(const value& one) {
  std::string text;
  if (const auto* object = one.if_object()) {
    for (const auto& member : *object) {
      text += text.empty() ? "{" : ",";
      text += boost::json::serialize(member.key()) + ":" + compact(member.value());
    }
    return text.empty() ? "{}" : text + "}";
  }
  if (const auto* array = one.if_array()) {
    for (const value& item : *array) text += (text.empty() ? "[" : ",") + compact(item);
    return text.empty() ? "[]" : text + "]";
  }
  if (!one.is_double()) return boost::json::serialize(one);
  std::array<char, 400> digits{};
  const auto end =
      std::to_chars(digits.begin(), digits.end(), one.get_double(), std::chars_format::fixed);
  return {digits.begin(), end.ptr};
}

value read_json(const std::filesystem::path& path) {
  const auto file = read_text_file(path, 1U << 20U);
  std::string problem;
  value read = parse_json(file.value(), 100, problem);
  EXPECT_EQ(problem, "") << path;
  return read;
}

/// The files, in an order that is the same everywhere.
std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           test::source_path("tests/grammar/data/schema_suite"))) {
    if (entry.path().extension() == ".json") all.push_back(entry.path());
  }
  std::ranges::sort(all);
  return all;
}

/// The rules of docs/http-api.md: "- **order**: properties come ...".
std::set<std::string> documented_rules() {
  const auto page = test::doc_page("http-api.md");
  const std::size_t begin = page.find("less is written than it allows");
  const std::string list = page.substr(begin, page.find("\n\n", page.find("- **", begin)) - begin);
  std::set<std::string> rules;
  for (std::size_t at = list.find("- **"); at != std::string::npos; at = list.find("- **", at)) {
    at += 4;
    rules.insert(list.substr(at, list.find("**", at) - at));
  }
  return rules;
}

std::string text_of(const value& document) {
  const auto& fields = document.as_object();
  const value* const text = fields.if_contains("text");
  return text != nullptr ? string_of(*text) : compact(fields.at("data"));
}

bool is_written(const value& document) {
  return document.at("valid").as_bool() && !document.as_object().contains("narrow");
}

/// Expects a lenient reader to allow each valid document of a schema that a strict reader
/// refuses.
void expect_superset(const std::string& schema, const value& documents) {
  Error error;
  const auto grammar = lenient_grammar(schema, &error);
  if (!grammar) {
    EXPECT_EQ(error.code, GrammarErrc::kBadSchema) << to_string(error);
    return;
  }
  for (const value& document : documents.as_array()) {
    if (is_written(document)) {
      EXPECT_TRUE(accepts(*grammar, text_of(document))) << text_of(document);
    }
  }
}

void expect_refusal(const std::string& place, const std::shared_ptr<const Grammar>& grammar,
                    const Error& error) {
  EXPECT_EQ(grammar, nullptr);
  if (place == "nothing") {
    EXPECT_EQ(error.code, GrammarErrc::kBadGrammar) << to_string(error);
  } else {
    EXPECT_TRUE(error.detail.starts_with(place + ": ")) << to_string(error);
  }
}

TEST(SchemaSuiteTest, AcceptsWhatIsValidButForTheRulesThatAreStated) {
  std::size_t documents = 0;
  std::set<std::string> used;
  for (const auto& path : files()) {
    const value cases = read_json(path);
    for (const value& one : cases.as_array()) {
      const std::string schema = boost::json::serialize(one.at("schema"));
      SCOPED_TRACE(path.filename().string() + ", " + string_of(one.at("description")) + ": " +
                   schema);
      Error error;
      const auto grammar = schema_grammar(schema, &error);
      if (one.as_object().contains("let_pass")) continue;
      if (const value* place = one.as_object().if_contains("refused")) {
        expect_refusal(string_of(*place), grammar, error);
        if (*place != "nothing") expect_superset(schema, one.at("tests"));
        continue;
      }
      const auto lenient = lenient_grammar(schema);
      EXPECT_NE(grammar, nullptr) << to_string(error);
      if (!grammar || !lenient) continue;
      EXPECT_TRUE(lenient->not_enforced().empty());
      for (const value& document : one.at("tests").as_array()) {
        const auto& fields = document.as_object();
        const value* const rule = fields.if_contains("narrow");
        const std::string written = text_of(document);
        EXPECT_EQ(accepts(*grammar, written), is_written(document))
            << written << ", " << string_of(fields.at("description"));
        EXPECT_EQ(accepts(*lenient, written), is_written(document)) << written;
        if (rule != nullptr) used.insert(string_of(*rule));
        ++documents;
      }
    }
  }
  EXPECT_GT(documents, 1000U);
  EXPECT_EQ(used, documented_rules());
}

TEST(SchemaSuiteTest, HoldsALenientSchemaToAllButWhatItNames) {
  std::size_t documents = 0;
  for (const auto& path : files()) {
    const value cases = read_json(path);
    for (const value& one : cases.as_array()) {
      const value* const places = one.as_object().if_contains("let_pass");
      if (places == nullptr) continue;
      const std::string schema = boost::json::serialize(one.at("schema"));
      SCOPED_TRACE(string_of(one.at("description")) + ": " + schema);
      Error error;
      const auto grammar = lenient_grammar(schema, &error);
      ASSERT_NE(grammar, nullptr) << to_string(error);
      boost::json::array named;
      for (const std::string& place : grammar->not_enforced()) named.emplace_back(place);
      EXPECT_EQ(value(named), *places);
      for (const value& document : one.at("tests").as_array()) {
        const bool expected = is_written(document) || document.as_object().contains("relaxed");
        EXPECT_EQ(accepts(*grammar, text_of(document)), expected) << text_of(document);
        ++documents;
      }
    }
  }
  EXPECT_GT(documents, 50U);
}

}  // namespace
}  // namespace weft::grammar
