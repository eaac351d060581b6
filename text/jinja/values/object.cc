#include "weft/text/jinja/values/object.h"

#include <array>
#include <string>

#include "weft/text/jinja/values/print.h"

namespace weft::jinja {
namespace {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      return "dict view";
    case Kind::kIterator:
      return "generator";
    case Kind::kObject:
      return "object";
  }
  return "object";
}

Cycler& cycler_of(const Value& self) { return static_cast<Cycler&>(*self.object()); }

Value cycler_next(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  Cycler& cycler = cycler_of(self);
  const Value value = cycler.current();
  cycler.advance();
  return value;
}

Value cycler_reset(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  cycler_of(self).reset();
  return None{};
}

constexpr std::array kCyclerMethods = {
    Builtin{"next", cycler_next, 0, {}},
    Builtin{"reset", cycler_reset, 0, {}},
};

}  // namespace

std::string_view type_name(const Value& value) {
  if (const Object* object = value.object()) return object->type_name();
  if (const List* list = value.list(); list != nullptr && list->is_tuple()) return "tuple";
  return kind_name(value.kind());
}

std::string undefined_message(const Undefined& undefined) {
  switch (undefined.cause) {
    case Undefined::Cause::kName:
      return concat({"'", undefined.text, "' is undefined"});
    case Undefined::Cause::kAttribute:
      return concat({"'", kind_name(undefined.owner), "' has no attribute '", undefined.text, "'"});
    case Undefined::Cause::kSentence:
      break;
  }
  return std::string(undefined.text.empty() ? "an undefined value is used" : undefined.text);
}

void Object::print(TextBuilder& out, std::size_t /*depth*/) const {
  out.append("<");
  out.append(type_name());
  out.append(" object>");
}

std::optional<Value> Object::attribute(Run& /*run*/, std::string_view /*name*/) {
  return std::nullopt;
}

Value Object::call(Run& run, const Arguments& /*arguments*/) {
  return run.fail("'", type_name(), "' object is not callable");
}

void Namespace::print(TextBuilder& out, std::size_t depth) const {
  out.append("<Namespace ");
  print_repr(out, Value(&attributes_), depth + 1);
  out.append(">");
}

std::optional<Value> Namespace::attribute(Run& /*run*/, std::string_view name) {
  const Value* value = attributes_.find(name);
  if (value == nullptr) return std::nullopt;
  return *value;
}

void Namespace::set(std::string_view name, const Value& value) {
  attributes_.set(Value(Text{name}), value);
}

std::optional<Value> Cycler::attribute(Run& run, std::string_view name) {
  if (name == "current") return current();
  for (const Builtin& method : kCyclerMethods) {
    if (method.name == name) {
      return Value(
          static_cast<Object*>(run.make<BoundBuiltin>(method, Value(static_cast<Object*>(this)))));
    }
  }
  return std::nullopt;
}

Value Joiner::call(Run& run, const Arguments& arguments) {
  if (!arguments.positional.empty() || !arguments.keywords.empty()) {
    return run.fail("a joiner takes no arguments");
  }
  if (used_) return separator_;
  used_ = true;
  return Text{};
}

}  // namespace weft::jinja
