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
/// which the schema allows: an object that lists properties has no others unless
/// additionalProperties says so, and an array with prefixItems no more unless items does; without
/// `type` the type is that which the keywords are about; numbers under bounds have no exponent;
/// white space is that of JsonParts;
/// strings with a pattern, and names that must not be those of properties, have their shortest
/// escapes.
/// Any other keyword that is no annotation is refused with kUnsupportedSchema, by its place.
class SchemaReader {
 public:
  using Part = GrammarBuilder::Part;
  using Value = boost::json::value;
  using Object = boost::json::object;

  /// `name` goes before places in errors. Borrows all.
  SchemaReader(GrammarBuilder& builder, const Value& root, std::string_view name)
      : builder_(builder), root_(root), name_(name) {}

  [[nodiscard]] Result<Part> read();

 private:
  /// A property, or a required name that none of them has.
  struct Member {
    std::string name;
    const Value* schema = nullptr;  ///< null: what additionalProperties says
    bool is_required = false;
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
  /// A schema for what both allow.
  Value merged(const Value& a, const Value& b, const std::string& path);
  void merge_keyword(Object& into, std::string_view keyword, const Value& value,
                     const std::string& path);
  Value both(const Value& a, const Value& b);
  Object followed(const Object& object, const std::string& path);
  void close_properties(Object& object, const Object& other);

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
  std::size_t depth_ = 0;                                ///< of the schema that is read
  std::size_t reference_depth_ = 0;                      ///< of references into each other
};

/// Whether a keyword says nothing about the text.
[[nodiscard]] bool is_annotation(std::string_view keyword);

/// Why what may write a tag is refused in ValueForm::kTagged.
inline constexpr const char* kNotBetweenTags =
    "is not supported for a model that writes arguments between tags";

/// "properties" below "schema": "schema.properties".
[[nodiscard]] std::string below(const std::string& path, std::string_view name);

/// The regular expression of a format; nothing for one that is not supported.
[[nodiscard]] std::optional<std::string_view> format_regex(std::string_view format);

}  // namespace weft::grammar
