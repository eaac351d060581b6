#include <algorithm>
#include <array>
#include <memory_resource>
#include <string>
#include <vector>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/values/attribute.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"

/// map, select and similar filters: generators, which do their work when their elements are
/// requested.
namespace weft::jinja {
namespace {

/// The arguments of a call, kept for later calls.
class KeptArguments {
 public:
  KeptArguments(Run& run, const Arguments& arguments)
      : positional_(arguments.positional.begin(), arguments.positional.end(), run.memory()),
        keywords_(arguments.keywords.begin(), arguments.keywords.end(), run.memory()) {}

  [[nodiscard]] Arguments get() const { return {positional_, keywords_}; }

 private:
  std::pmr::vector<Value> positional_;
  std::pmr::vector<Keyword> keywords_;
};

/// An iterator over the elements of another iterator.
class DerivedIterator : public Iterator {
 protected:
  explicit DerivedIterator(Iterator& source) : Iterator(source.depth() + 1), source_(source) {}
  ~DerivedIterator() = default;

  std::optional<Value> fetch(Run& run) { return run.step() ? source_.next(run) : std::nullopt; }

 private:
  Iterator& source_;
};

/// map('filter', ...)
class FilterIterator final : public DerivedIterator {
 public:
  FilterIterator(Run& run, Iterator& source, const Builtin& filter, const Arguments& arguments)
      : DerivedIterator(source), filter_(filter), arguments_(run, arguments) {}

  std::optional<Value> next(Run& run) override {
    const auto item = fetch(run);
    if (!item) return std::nullopt;
    return call(run, filter_, *item, arguments_.get());
  }

 private:
  const Builtin& filter_;
  KeptArguments arguments_;
};

/// map(attribute=..., default=...)
class AttributeIterator final : public DerivedIterator {
 public:
  AttributeIterator(Iterator& source, const Value& path, const Value& fallback)
      : DerivedIterator(source), path_(path), fallback_(fallback) {}

  std::optional<Value> next(Run& run) override {
    const auto item = fetch(run);
    if (!item) return std::nullopt;
    const Value value = attribute_path(run, *item, path_);
    return value.is_undefined() && !fallback_.is_none() ? fallback_ : value;
  }

 private:
  Value path_;
  Value fallback_;
};

/// The elements for which a test returns `wanted`. With a `path` the test applies to that
/// attribute. A null test means the truth of the value.
class PickIterator final : public DerivedIterator {
 public:
  PickIterator(Run& run, Iterator& source, const Value& path, const Builtin* test,
               const Arguments& arguments, bool wanted)
      : DerivedIterator(source),
        path_(path),
        test_(test),
        arguments_(run, arguments),
        wanted_(wanted) {}

  std::optional<Value> next(Run& run) override {
    for (auto item = fetch(run); item; item = fetch(run)) {
      const Value value = attribute_path(run, *item, path_);
      const bool holds =
          truth(test_ != nullptr ? call(run, *test_, value, arguments_.get()) : value);
      if (holds == wanted_) return item;
    }
    return std::nullopt;
  }

 private:
  Value path_;
  const Builtin* test_;
  KeptArguments arguments_;
  bool wanted_;
};

/// Returns the iterator that a generator walks. Null, and the run has failed, when the value has no
/// elements or too many generators are chained. Jinja treats every false value as empty.
Iterator* source_of(Run& run, const Value& self) {
  Iterator* source = iterate(run, truth(self) ? self : Value());
  if (source != nullptr && source->depth() >= kMaxDataDepth) {
    run.fail_limit("too many generators behind each other");
    return nullptr;
  }
  return source;
}

Value map_attribute(Run& run, Iterator& source, const Arguments& arguments) {
  Value path;
  Value fallback = None{};
  for (const Keyword& keyword : arguments.keywords) {
    if (keyword.name == "attribute") {
      path = keyword.value;
    } else if (keyword.name == "default") {
      fallback = keyword.value;
    } else {
      return run.fail("Unexpected keyword argument '", keyword.name, "'");
    }
  }
  return static_cast<Iterator*>(run.make<AttributeIterator>(source, path, fallback));
}

bool names_attribute(const Arguments& arguments) {
  return std::ranges::find(arguments.keywords, "attribute", &Keyword::name) !=
         arguments.keywords.end();
}

Value filter_map(Run& run, const Value& self, const Slots& slots) {
  Iterator* source = source_of(run, self);
  if (source == nullptr) return {};
  const Arguments& all = slots.all();
  if (all.positional.empty() && names_attribute(all)) return map_attribute(run, *source, all);
  if (!truth(self)) return source;
  const Text* name = all.positional.empty() ? nullptr : all.positional[0].text();
  if (name == nullptr) return run.fail("map requires a filter argument");
  const Builtin* filter = find_filter(name->view);
  if (filter == nullptr) return run.fail("No filter named '", name->view, "'.");
  const Arguments arguments{all.positional.subspan(1), all.keywords};
  return static_cast<Iterator*>(run.make<FilterIterator>(run, *source, *filter, arguments));
}

Value pick(Run& run, const Value& self, const Arguments& all, bool wanted, bool by_attribute) {
  Iterator* source = source_of(run, self);
  if (source == nullptr) return {};
  if (!truth(self)) return source;
  const std::size_t first = by_attribute ? 1 : 0;
  if (all.positional.size() < first) return run.fail("Missing parameter for attribute name");
  const Builtin* test = nullptr;
  Arguments arguments{{}, all.keywords};
  if (all.positional.size() > first) {
    const Text* name = all.positional[first].text();
    test = name == nullptr ? nullptr : find_test(name->view);
    if (test == nullptr) return run.fail("there is no test of that name");
    arguments.positional = all.positional.subspan(first + 1);
  }
  const Value path = by_attribute ? all.positional[0] : Value(None{});
  return static_cast<Iterator*>(
      run.make<PickIterator>(run, *source, path, test, arguments, wanted));
}

Value filter_select(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), true, false);
}

Value filter_reject(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), false, false);
}

Value filter_selectattr(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), true, true);
}

Value filter_rejectattr(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), false, true);
}

constexpr std::array kSelectionFilters = {
    Builtin{"map", filter_map, kVariadic, {}},
    Builtin{"select", filter_select, kVariadic, {}},
    Builtin{"reject", filter_reject, kVariadic, {}},
    Builtin{"selectattr", filter_selectattr, kVariadic, {}},
    Builtin{"rejectattr", filter_rejectattr, kVariadic, {}},
};

}  // namespace

std::span<const Builtin> selection_filters() { return kSelectionFilters; }

}  // namespace weft::jinja
