#include "weft/core/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <latch>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kThreads = 8;
constexpr int kTurns = 500'000;  // Long enough for threads to meet even on two cores.
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::array kBounds{1.0, 2.0, 4.0};

static_assert(!std::is_copy_constructible_v<MetricsRegistry>);
static_assert(noexcept(std::declval<Counter&>().add()));
static_assert(noexcept(std::declval<Gauge&>().set(1)) && noexcept(std::declval<Gauge&>().add(1)) &&
              noexcept(std::declval<Gauge&>().sub(1)));
static_assert(noexcept(std::declval<Histogram&>().observe(1.0, 2)));

/// Runs `body` on kThreads threads that begin together.
template <class Body>
void on_threads(Body body) {
  std::latch begin(kThreads);
  std::array<std::jthread, kThreads> threads;
  for (std::jthread& thread : threads) {
    thread = std::jthread([&] {
      begin.arrive_and_wait();
      body();
    });
  }
}

/// Expects a refusal that names metric "m" and gives `reason`.
template <class Registration>
void expect_refused(Registration registration, const std::string& reason) {
  EXPECT_THAT(registration, ThrowsMessage<std::invalid_argument>(
                                AllOf(HasSubstr("metric \"m\""), HasSubstr(reason))));
}

TEST(Counter, CountsFromZero) {
  Counter counter;
  EXPECT_EQ(counter.value(), 0u);
  counter.add();
  counter.add(41);
  EXPECT_EQ(counter.value(), 42u);
}

TEST(Counter, LosesNothingWhenEightThreadsAdd) {
  Counter counter;
  on_threads([&] {
    for (int n = 0; n < kTurns; ++n) counter.add(3);
  });
  EXPECT_EQ(counter.value(), 3u * kTurns * kThreads);
}

TEST(Gauge, HoldsWhatWasSetAddedAndSubtracted) {
  Gauge gauge;
  EXPECT_EQ(gauge.value(), 0);
  gauge.set(0.75);
  gauge.add();
  gauge.sub(2);
  EXPECT_EQ(gauge.value(), -0.25);
}

TEST(Gauge, LosesNothingWhenEightThreadsAddAndSubtract) {
  Gauge gauge;
  on_threads([&] {
    for (int n = 0; n < kTurns; ++n) {
      gauge.add(3);
      gauge.sub();
    }
  });
  EXPECT_EQ(gauge.value(), 2.0 * kTurns * kThreads);
}

TEST(Histogram, PutsAValueEqualToABoundIntoThatBoundsBucket) {
  Histogram histogram(kBounds);
  histogram.observe(2);
  EXPECT_THAT(histogram.value().buckets, ElementsAre(0, 1, 0, 0));
}

TEST(Histogram, PutsEveryValueIntoTheFirstBucketThatHoldsIt) {
  Histogram histogram(kBounds);
  for (const double value : {-1.0, 0.0, 1.5, 3.0, 3.5, 4.5, 1e300}) histogram.observe(value);
  EXPECT_THAT(histogram.value().buckets, ElementsAre(2, 1, 2, 2));
  EXPECT_EQ(histogram.value().count, 7u);
}

TEST(Histogram, CountsABatchAsThatManyValues) {
  Histogram histogram(kBounds);
  histogram.observe(1.5, 4);
  histogram.observe(100, 0);
  EXPECT_THAT(histogram.value().buckets, ElementsAre(0, 4, 0, 0));
  EXPECT_EQ(histogram.value().sum, 6);
}

TEST(Histogram, DropsValuesThatAreNotFinite) {
  Histogram histogram(kBounds);
  for (const double value : {kNan, kInfinity, -kInfinity}) histogram.observe(value);
  EXPECT_EQ(histogram.value().count, 0u);
  EXPECT_EQ(histogram.value().sum, 0);
}

TEST(Histogram, KeepsABucketForEachOfManyBounds) {
  std::vector<double> bounds(100);
  std::iota(bounds.begin(), bounds.end(), 0);
  Histogram histogram(bounds);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t n = 0; n <= bounds.size(); ++n) {
    histogram.observe(static_cast<double>(n), n + 1);
    expected.push_back(n + 1);
  }
  EXPECT_THAT(histogram.value().buckets, ElementsAreArray(expected));
}

TEST(Histogram, LosesNothingWhenEightThreadsObserve) {
  Histogram histogram(kBounds);
  on_threads([&] {
    for (int n = 0; n < kTurns; ++n) histogram.observe(n % 5);
  });
  const HistogramValue value = histogram.value();
  EXPECT_EQ(value.count, 1u * kTurns * kThreads);
  EXPECT_EQ(value.sum, 2.0 * kTurns * kThreads);
}

TEST(MetricsRegistry, GivesTheSameObjectForTheSameNameAndLabels) {
  MetricsRegistry registry;
  EXPECT_EQ(&registry.counter("a_total", "h"), &registry.counter("a_total", "h"));
  EXPECT_EQ(&registry.gauge("g", "h", {{"x", "1"}, {"y", "2"}}),
            &registry.gauge("g", "h", {{"y", "2"}, {"x", "1"}}));
  EXPECT_EQ(&registry.histogram("s", "h", kBounds), &registry.histogram("s", "h", kBounds));
}

TEST(MetricsRegistry, GivesAnotherObjectForOtherLabels) {
  MetricsRegistry registry;
  EXPECT_NE(&registry.gauge("g", "h"), &registry.gauge("g", "h", {{"x", "1"}}));
  EXPECT_NE(&registry.gauge("g", "h", {{"x", "1"}}), &registry.gauge("g", "h", {{"x", "2"}}));
}

TEST(MetricsRegistry, KeepsReferencesValidWhileItGrows) {
  MetricsRegistry registry;
  Counter& first = registry.counter("m_total", "h");
  for (int n = 0; n < 1000; ++n) {
    registry.counter("m_total", "h", {{"n", std::to_string(n)}});
    registry.gauge(std::string("g").append(std::to_string(n)), "h");
  }
  first.add();
  EXPECT_EQ(registry.counter("m_total", "h").value(), 1u);
}

TEST(MetricsRegistry, KeepsTwoMetricsOffOneCacheLine) {
  MetricsRegistry registry;
  for (const char* n : {"1", "2", "3"}) {
    const auto address = reinterpret_cast<std::uintptr_t>(&registry.gauge("g", "h", {{"n", n}}));
    EXPECT_EQ(address % kCacheLineBytes, 0u);
  }
  static_assert(kCacheLineBytes >= 64);
  static_assert(sizeof(Counter) % kCacheLineBytes == 0 && sizeof(Gauge) % kCacheLineBytes == 0);
  static_assert(sizeof(Histogram) % kCacheLineBytes == 0);
}

TEST(MetricsRegistry, GivesOneObjectToEightThreadsThatAskAtOnce) {
  MetricsRegistry registry;
  on_threads([&] {
    for (int n = 0; n < 100; ++n) {
      registry.counter("m_total", "h", {{"n", std::to_string(n)}}).add();
    }
  });
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(registry.counter("m_total", "h", {{"n", std::to_string(n)}}).value(), kThreads);
  }
}

TEST(MetricsRegistry, WalksFamiliesByNameAndSeriesByLabels) {
  MetricsRegistry registry;
  registry.gauge("b", "h", {{"x", "2"}});
  registry.gauge("c", "h");
  registry.gauge("b", "h", {{"x", "1"}, {"a", "9"}});
  registry.gauge("b", "h", {{"x", "1"}});
  registry.counter("a_total", "h");
  std::vector<std::string> walked;
  registry.for_each_family([&](const std::string& name, const MetricFamily& family) {
    walked.push_back(name);
    const auto add_labels = [&](const auto& series) {
      for (const auto& entry : series) {
        for (const auto& [label, value] : entry.first) walked.push_back(label + value);
      }
    };
    std::visit(add_labels, family.series);
  });
  EXPECT_THAT(walked, ElementsAre("a_total", "b", "a9", "x1", "x1", "x2", "c"));
}

TEST(MetricsRegistry, RefusesTheSameNameWithAnotherTypeHelpOrBounds) {
  MetricsRegistry registry;
  const Labels labels{{"x", "1"}};
  registry.histogram("m", "h", kBounds);
  expect_refused([&] { registry.gauge("m", "h", labels); }, "another type");
  expect_refused([&] { registry.histogram("m", "other", kBounds, labels); }, "another help");
  expect_refused([&] { registry.histogram("m", "h", kTickBounds, labels); }, "other bounds");
}

TEST(MetricsRegistry, RefusesACounterThatDoesNotEndInTotal) {
  MetricsRegistry registry;
  expect_refused([&] { registry.counter("m", "h"); }, "ends in _total");
}

TEST(MetricsRegistry, RefusesInvalidMetricNames) {
  MetricsRegistry registry;
  for (const std::string name : {"", "1a", "a-b", "a b", "\u00e4", "a\n"}) {
    EXPECT_THAT([&] { registry.gauge(name, "h"); },
                ThrowsMessage<std::invalid_argument>(
                    AllOf(HasSubstr('"' + name + '"'), HasSubstr("name does not match"))));
  }
  EXPECT_NO_THROW(registry.gauge("_a:B9", "h"));
  EXPECT_NO_THROW(registry.gauge(":a", "h"));
}

TEST(MetricsRegistry, RefusesNamesOfAHistogramsOwnSamples) {
  MetricsRegistry registry;
  for (const std::string name : {"m_bucket", "m_sum", "m_count"}) {
    EXPECT_THAT([&] { registry.gauge(name, "h"); },
                ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr(name), HasSubstr("suffix"))));
  }
}

TEST(MetricsRegistry, RefusesInvalidLabelNames) {
  MetricsRegistry registry;
  for (const std::string label : {"", "1a", "a:b", "a-b"}) {
    expect_refused([&] { registry.gauge("m", "h", {{label, "v"}}); },
                   "label \"" + label + "\" does not match");
  }
  EXPECT_NO_THROW(registry.gauge("m", "h", {{"_a9", ""}}));
}

TEST(MetricsRegistry, RefusesReservedLabels) {
  MetricsRegistry registry;
  for (const std::string label : {"le", "__name__", "__x"}) {
    expect_refused([&] { registry.gauge("m", "h", {{label, "v"}}); },
                   "label \"" + label + "\" is reserved");
  }
}

TEST(MetricsRegistry, RefusesALabelThatIsGivenTwice) {
  MetricsRegistry registry;
  expect_refused([&] { registry.gauge("m", "h", {{"x", "2"}, {"y", ""}, {"x", "1"}}); },
                 "label \"x\" is given twice");
}

TEST(MetricsRegistry, RefusesBoundsThatAreEmptyUnsortedOrNotFinite) {
  MetricsRegistry registry;
  const auto expect_refused_bounds = [&](const std::vector<double>& bounds, const char* reason) {
    expect_refused([&] { registry.histogram("m", "h", bounds); }, reason);
  };
  expect_refused_bounds({}, "no bounds");
  expect_refused_bounds({2, 1}, "not strictly ascending");
  expect_refused_bounds({1, 1}, "not strictly ascending");
  for (const double bound : {kInfinity, -kInfinity, kNan}) {
    expect_refused_bounds({1, bound}, "not finite");
  }
}

TEST(MetricsRegistry, IsUnchangedByARegistrationThatItRefuses) {
  MetricsRegistry registry;
  EXPECT_THROW(registry.gauge("m", "h", {{"le", ""}}), std::invalid_argument);
  EXPECT_THROW(registry.histogram("m", "h", {}), std::invalid_argument);
  registry.for_each_family([](const std::string& name, const MetricFamily&) { FAIL() << name; });
}

TEST(MetricsRegistry, TakesTheDefaultBounds) {
  MetricsRegistry registry;
  EXPECT_NO_THROW(registry.histogram("latency_seconds", "h", kLatencyBounds));
  EXPECT_NO_THROW(registry.histogram("tick_seconds", "h", kTickBounds));
}

}  // namespace
}  // namespace weft
