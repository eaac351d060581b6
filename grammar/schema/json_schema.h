#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

/// Reads a JSON schema (2020-12, and draft 7 where it writes things otherwise) into a grammar of
/// the JSON texts that it allows. What is read:
/// - type (one or several), enum, const, $ref within the document, $defs and definitions, recursion
///   included; anyOf, oneOf whose alternatives exclude each other, allOf;
/// - properties in the order in which they stand there, required, additionalProperties,
///   patternProperties and propertyNames of objects without properties, minProperties and
///   maxProperties where properties do not interfere;
/// - items, prefixItems (items and additionalItems of draft 7), minItems, maxItems;
/// - minLength, maxLength, pattern (regex.h), format: date, time, date-time, duration, email,
///   hostname, ipv4, ipv6, uuid, uri;
/// - minimum, maximum, exclusiveMinimum, exclusiveMaximum; multipleOf of whole numbers without
///   bounds, and powers of ten below 1.
/// Where a schema leaves more open than helps a model, a narrower language is taken, every text of
/// which the schema allows, by the rules of docs/http-api.md ("Structured output"), of which the
/// tests have each; the readers below say where they follow one.
/// Any other keyword that is no annotation is refused with kUnsupportedSchema, by its place. So is
/// what would change a meaning unseen: a schema with an `$id` of its own around references, which
/// would start at it, and prefixItems where `$schema` names a draft that does not know it.
class SchemaReader {
 public:
  using Part = GrammarBuilder::Part;
  using Value = boost::json::value;
  using Object = boost::json::object;

  /// `name` goes before places in errors. Borrows all.
  SchemaReader(GrammarBuilder& builder, const Value& root, std::string_view name);

  [[nodiscard]] Result<Part> read();

 private:
  /// A property, or a required name that none of them has.
  struct Member {
    std::string name;
    const Value* schema = nullptr;  ///< null: what additionalProperties says
    bool is_required = false;
  };

  /// A schema that was put together; `body` is set once it has been read.
  struct Whole {
    Part rule;
    std::optional<Part> body = {};
    bool leads_back = false;
  };

  // Each reads what stands at `path`; after the first mistake they make parts that mean nothing.
  Part schema(const Value& value, const std::string& path);
  Part open_schema(const Object& object, const std::string& path);
  Part reference(const Object& object, const std::string& path);
  Part alternatives(const Object& object, std::string_view keyword, const std::string& path);
  Part given(const Object& object, const std::string& path);
  Part typed(const Object& object, const std::string& path);
  Part of_type(std::string_view type, const Object& object, const std::string& path);
  Part object_part(const Object& object, const std::string& path);
  Part members(const Object& object, const std::string& path, Part additional_member,
               bool has_additional);
  std::vector<Member> members_of(const Object& object, const std::string& path);
  bool check_member_counts(const Object& object, const std::string& path,
                           const std::vector<Member>& all, bool has_additional);
  Part other_member(const Object& object, const std::string& path, bool& exists);
  Part member(Part name, Part value);
  Part array_part(const Object& object, const std::string& path);
  Part string_part(const Object& object, const std::string& path);
  Part bounded_pattern(Part pattern, std::uint64_t least, std::uint64_t most,
                       const std::string& path);
  Part number_part(const Object& object, bool whole, const std::string& path);
  std::optional<Part> multiples(const Object& object, bool whole, const std::string& path,
                                std::uint32_t& fraction_digits);

  const Value* resolve(std::string_view reference, const std::string& path);
  bool is_resource(const Value& value) const;
  /// What a schema that was put together allows; one that leads back to itself is a rule.
  Part whole_schema(const Value& whole, const std::string& path);
  /// A schema for what both allow.
  Value merged(const Value& a, const Value& b, const std::string& path);
  void merge_keyword(Object& into, std::string_view keyword, const Value& value,
                     const std::string& path);
  Value both(const Value& a, const Value& b);
  Object followed(const Object& object, const std::string& path);
  void close_properties(Object& object, const Object& other);
  void merge_items(Object& into, Object& other, const std::string& path);

  std::optional<std::uint64_t> count(const Object& object, std::string_view keyword,
                                     const std::string& path);
  bool check_keywords(const Object& object, const std::string& path);
  bool exclude_each_other(const Value& a, const Value& b, int depth);
  bool told_apart(const Object& one, const Object& other, int depth);
  const Value& target(const Value& value, int depth);

  bool work(std::size_t amount);
  Part fail(const std::string& path, std::string what, bool unsupported = true);

  GrammarBuilder& builder_;
  const Value& root_;
  const std::string name_;
  std::optional<Error> error_{};
  std::map<std::string, Part, std::less<>> references_;  ///< by what is written behind $ref
  std::map<std::string, Whole, std::less<>> wholes_;     ///< by their texts
  const bool has_prefix_items_;                          ///< in the draft of the schema
  std::size_t depth_ = 0;                                ///< of the schema that is read
  std::size_t reference_depth_ = 0;                      ///< of references into each other
};

/// Whether a keyword says nothing about the text.
[[nodiscard]] bool is_annotation(std::string_view keyword);

/// Why what may write a tag is refused in ValueForm::kTagged.
inline constexpr const char* kNotBetweenTags =
    "is not supported for a model that writes arguments between tags";

/// What else a schema says: all but a keyword and annotations.
[[nodiscard]] boost::json::object without(const boost::json::object& object,
                                          std::string_view keyword);

/// "properties" below "schema": "schema.properties".
[[nodiscard]] std::string below(const std::string& path, std::string_view name);

/// How many values a value is, with those inside of it.
[[nodiscard]] std::size_t size_of(const boost::json::value& value);

/// Writes whole numbers alike, 2.0 as 2, so that values that JSON schema takes for the same are.
void write_numbers_alike(boost::json::value& value);

/// The regular expression of a format; nothing for one that is not supported.
[[nodiscard]] std::optional<std::string_view> format_regex(std::string_view format);

}  // namespace weft::grammar
