#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/string_lengths.h"

namespace weft::grammar {

/// Reads a JSON schema (2020-12, and draft 7 where it writes things otherwise) into a grammar of
/// the JSON texts that it allows. What is read:
/// - type (one or several), nullable, enum, const, $ref within the document, $defs and definitions,
///   recursion included; anyOf, oneOf whose alternatives exclude each other, allOf;
/// - properties in the order in which they stand there, required, additionalProperties,
///   patternProperties and propertyNames of objects without properties, minProperties,
///   maxProperties, dependentRequired;
/// - items, prefixItems (items and additionalItems of draft 7), minItems, maxItems, uniqueItems
///   where all values of an item can be listed;
/// - minLength, maxLength, pattern (regex.h), format: date, time, date-time, duration, email,
///   hostname, ipv4, ipv6, uuid, uri;
/// - minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf (multiples.h).
/// Where a schema leaves more open than helps a model, a narrower language is taken, every text of
/// which the schema allows, by the rules of docs/http-api.md ("Structured output"), of which the
/// tests have each; the readers below say where they follow one.
///
/// Any other keyword that is no annotation is unsupported. So are two keywords that would silently
/// change a schema's meaning: an `$id` of its own around references, which would start at it, and
/// prefixItems where `$schema` names a draft that does not know it. Strictness::kStrict refuses
/// such a keyword with kUnsupportedSchema and names its place. Strictness::kLenient ignores it,
/// so that the grammar has every text that a strict reader would allow, and reports the place
/// with GrammarBuilder::let_pass(); `not`, if/then/else, dependentSchemas and values beside given
/// ones are then enforced where that is easy (schema_conditions.cc).
class SchemaReader {
 public:
  using Part = GrammarBuilder::Part;
  using Value = boost::json::value;
  using Object = boost::json::object;
  using Array = boost::json::array;

  /// `name` precedes places in errors. Borrows all arguments.
  SchemaReader(GrammarBuilder& builder, const Value& root, std::string_view name,
               Strictness strictness = Strictness::kStrict);

  [[nodiscard]] Result<Part> read();

  /// Lets all conditions of a lenient schema pass from now on, for a schema that is too large with
  /// its conditions.
  void leave_out_conditions() noexcept { takes_conditions_ = false; }
  /// Returns whether a condition was read.
  [[nodiscard]] bool has_branched() const noexcept { return has_branched_; }

 private:
  /// A property, or a required name without a property.
  struct Member {
    std::string name;
    const Value* schema = nullptr;  ///< null: additionalProperties gives the schema
    bool is_required = false;
  };

  /// One element of a list in a fixed order; an element may be missing if it is not required.
  struct Listed {
    Part part;
    bool is_required = false;
  };

  /// The bounds on a list's number of elements.
  struct Counts {
    std::uint64_t least = 0;
    std::uint64_t most = kNoBound;
  };

  /// A combined schema; `body` is set once it has been read.
  struct Whole {
    Part rule;
    std::optional<Part> body = {};
    bool leads_back = false;
  };

  // Each function reads the schema at `path`; after the first mistake the parts are meaningless.
  Part schema(const Value& value, const std::string& path);
  Part open_schema(const Object& object, const std::string& path);
  Part plain_schema(const Object& object, const std::string& path);
  Part reference(const Object& object, const std::string& path);
  Part alternatives(const Object& object, std::string_view keyword, const std::string& path);
  bool check_exclusive(const Array& schemas, const std::string& path);
  Part given(const Object& object, const std::string& path);
  Part typed(const Object& object, const std::string& path);
  Part of_type(std::string_view type, const Object& object, const std::string& path);
  Part object_part(const Object& object, const std::string& path);
  Part members(const Object& object, const std::string& path, Part additional_member,
               bool has_additional);
  std::vector<Member> members_of(const Object& object, const std::string& path);
  bool needs_others(const Object& object, const std::string& path);
  Part other_member(const Object& object, const std::string& path, bool& exists);
  Part pattern_member(const Object& object, const std::string& path);
  Part member(Part name, Part value);
  /// Returns some of the parts in `all`, with commas between them, then `others` where others may
  /// follow.
  Part some_in_order(std::span<const Listed> all, std::optional<Part> others, Counts counts,
                     const std::string& path);
  Part array_part(const Object& object, const std::string& path);
  /// Returns arrays that contain each value at most once; nothing where that is not enforced.
  std::optional<Part> unique_array(const Value* items, Counts counts, const std::string& path);
  bool list_values(const Value& schema, std::vector<Value>& values, int depth);
  bool list_typed_values(const Object& schema, std::vector<Value>& values);
  Part string_part(const Object& object, const std::string& path);
  Part plain_string(const Object& object, TextLength length, const std::string& path);
  std::optional<Part> string_contents(const Object& object, TextLength length,
                                      const std::string& path);
  std::optional<Part> uncounted(Part contents, const std::string& path);
  Part number_part(const Object& object, bool whole, const std::string& path);
  /// Returns the multiples as an automaton. Nothing: numbers with so many digits suffice, or there
  /// is a mistake.
  std::optional<Part> multiples(const Value& multiple, bool whole,
                                const std::optional<NumberBound>& low,
                                const std::optional<NumberBound>& high, const std::string& path,
                                std::uint32_t& fraction_digits);
  Part numbers_between(const std::optional<NumberBound>& low,
                       const std::optional<NumberBound>& high, std::span<const std::string> except,
                       std::uint32_t fraction_digits, const std::string& path);
  bool read_bounds(const Object& object, const std::string& path, std::optional<NumberBound>& low,
                   std::optional<NumberBound>& high);

  const Value* resolve(std::string_view reference, const std::string& path);
  bool is_resource(const Value& value) const;
  /// Returns the part of a combined schema; a schema that leads back to itself becomes a rule.
  Part whole_schema(const Value& whole, const std::string& path);
  /// Returns a schema for the values that both schemas allow.
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
  /// Returns whether rewritten() has nothing to do.
  [[nodiscard]] bool is_plain(const Object& object) const;
  /// Returns the schema with only keywords that the readers know, without the parts that are let
  /// pass.
  Object rewritten(const Object& object, const std::string& path);
  void restate(std::string_view keyword, const Object& object, Object& into, Array& conditions,
               const std::string& path);
  void restate_dependencies(std::string_view keyword, const Object& object, Array& conditions,
                            const std::string& path);
  void restate_if(const Object& object, Array& conditions, const std::string& path);
  /// Counts a condition of a schema; each one doubles the alternatives. Returns false when there
  /// are too many.
  bool may_branch(const Object& object);
  /// Returns a schema for the values that another schema does not allow; nothing where there is
  /// none.
  std::optional<Value> opposite(const Value& schema, int depth);
  bool add_opposites(std::string_view keyword, const Value& argument, Array& ways, int depth);
  bool keep_allowed(const Object& object, std::vector<Value>& values, const std::string& path);
  bool exclude_each_other(const Value& a, const Value& b, int depth);
  bool told_apart(const Object& one, const Object& other, int depth);
  const Value& target(const Value& value, int depth);

  bool work(std::size_t amount);
  [[nodiscard]] bool is_lenient() const noexcept { return strictness_ == Strictness::kLenient; }
  /// Lets the unsupported keyword at `path` pass, or fails where the schema is strict. Returns
  /// whether the keyword is let pass.
  bool lets_pass(const std::string& path, std::string what);
  Part fail(const std::string& path, std::string what, bool unsupported = true);

  GrammarBuilder& builder_;
  const Value& root_;
  const std::string name_;
  const Strictness strictness_;
  std::optional<Error> error_{};
  std::map<std::string, Part, std::less<>> references_;  ///< keyed by the text after $ref
  std::map<std::string, Whole, std::less<>> wholes_;     ///< keyed by their texts
  std::map<std::string, std::optional<Part>, std::less<>>
      multiples_;                ///< keyed by divisor and bounds
  const bool has_prefix_items_;  ///< whether the schema's draft has prefixItems
  std::size_t unordered_ = 0;    ///< nodes of arrays in any order
  std::size_t conditions_ = 0;   ///< conditions of the current schema
  bool takes_conditions_ = true;
  bool has_branched_ = false;
  std::size_t depth_ = 0;            ///< nesting depth of the current schema
  std::size_t reference_depth_ = 0;  ///< depth of references into each other
};

/// Whether a keyword has no effect on the text.
[[nodiscard]] bool is_annotation(std::string_view keyword);

/// Returns whether SchemaReader enforces a keyword under any strictness.
[[nodiscard]] bool is_supported(std::string_view keyword);

/// A keyword of Weft's own, a list of values that are not allowed: SchemaReader::opposite() makes
/// it of `enum` and `const`.
inline constexpr std::string_view kExcept =
    "\x01"
    "except";

/// Returns the type that a keyword applies to; empty where it applies to all types.
[[nodiscard]] std::string_view type_of_keyword(std::string_view keyword);

/// Returns the types that a schema states or, without `type`, the types of its keywords.
[[nodiscard]] std::vector<std::string> types_of(const boost::json::object& schema);

[[nodiscard]] bool has_type(const boost::json::value& value, std::string_view type);

/// Returns whether one keyword, such as `minimum`, allows a value; nothing where a look at the
/// value does not decide it.
[[nodiscard]] std::optional<bool> allows(std::string_view keyword,
                                         const boost::json::value& argument,
                                         const boost::json::value& value);

/// The reason for refusing texts that may write a tag in ValueForm::kTagged.
inline constexpr const char* kNotBetweenTags =
    "is not supported for a model that writes arguments between tags";

/// The keyword of llguidance and Guidance for the text between the tokens of a whole text.
inline constexpr std::string_view kSpacingKeyword = "x-guidance";

/// Returns the spacing between tokens that a schema's root asks for. kBadSchema, or
/// kUnsupportedSchema for a pattern of white space, with the place.
[[nodiscard]] Result<JsonSpacing> spacing_of(const boost::json::value& schema,
                                             std::string_view name);

/// Returns all keywords of a schema except one, and except annotations.
[[nodiscard]] boost::json::object without(const boost::json::object& object,
                                          std::string_view keyword);

/// Joins two places: "properties" below "schema" is "schema.properties".
[[nodiscard]] std::string below(const std::string& path, std::string_view name);

/// Returns the number of values in a value, itself included.
[[nodiscard]] std::size_t size_of(const boost::json::value& value);

/// Writes equal numbers equally, 2.0 as 2, so that values that are equal in JSON schema have equal
/// texts.
void write_numbers_alike(boost::json::value& value);

/// Returns the regular expression of a format; nothing for a format that is not supported.
[[nodiscard]] std::optional<std::string_view> format_regex(std::string_view format);

/// Returns a regular expression with fewer states for a format beside minLength or maxLength;
/// format_regex() where there is no smaller one.
[[nodiscard]] std::string_view countable_format_regex(std::string_view format);

}  // namespace weft::grammar
