#include "weft/core/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/metrics.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr double kPlusInfinity = std::numeric_limits<double>::infinity();

/// Returns the text of a registry with one gauge named g of this value.
std::string text_of_gauge(double value) {
  MetricsRegistry registry;
  registry.gauge("g", "h").set(value);
  return prometheus_text(registry);
}

std::string text_of_label(const std::string& value) {
  MetricsRegistry registry;
  registry.gauge("g", "h", {{"x", value}});
  return prometheus_text(registry);
}

TEST(PrometheusText, OfAnEmptyRegistryIsEmpty) {
  EXPECT_EQ(prometheus_text(MetricsRegistry()), "");
}

TEST(PrometheusText, HasOneHelpAndOneTypeForAllSeriesOfAFamily) {
  MetricsRegistry registry;
  registry.counter("weft_requests_total", "Requests.", {{"class", "chat"}}).add(7);
  registry.counter("weft_requests_total", "Requests.", {{"class", "batch"}}).add(2);
  EXPECT_EQ(prometheus_text(registry),
            "# HELP weft_requests_total Requests.\n"
            "# TYPE weft_requests_total counter\n"
            "weft_requests_total{class=\"batch\"} 2\n"
            "weft_requests_total{class=\"chat\"} 7\n");
}

TEST(PrometheusText, HasFamiliesByNameAndLabelsByName) {
  MetricsRegistry registry;
  registry.gauge("weft_rows", "Rows.", {{"device", "0"}, {"class", "chat"}}).set(3);
  registry.gauge("weft_pages", "Pages.").set(0.5);
  EXPECT_EQ(prometheus_text(registry),
            "# HELP weft_pages Pages.\n"
            "# TYPE weft_pages gauge\n"
            "weft_pages 0.5\n"
            "# HELP weft_rows Rows.\n"
            "# TYPE weft_rows gauge\n"
            "weft_rows{class=\"chat\",device=\"0\"} 3\n");
}

TEST(PrometheusText, HasCumulativeBucketsThenSumThenCount) {
  MetricsRegistry registry;
  Histogram& waits =
      registry.histogram("wait_seconds", "Wait.", std::array{0.001, 0.5, 1.0}, {{"zone", "a"}});
  for (const double value : {0.5, 0.25, 1.0, 8.0}) waits.observe(value);
  EXPECT_EQ(prometheus_text(registry),
            "# HELP wait_seconds Wait.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{zone=\"a\",le=\"0.001\"} 0\n"
            "wait_seconds_bucket{zone=\"a\",le=\"0.5\"} 2\n"
            "wait_seconds_bucket{zone=\"a\",le=\"1\"} 3\n"
            "wait_seconds_bucket{zone=\"a\",le=\"+Inf\"} 4\n"
            "wait_seconds_sum{zone=\"a\"} 9.75\n"
            "wait_seconds_count{zone=\"a\"} 4\n");
}

TEST(PrometheusText, GivesAHistogramWithoutLabelsOnlyItsBounds) {
  MetricsRegistry registry;
  registry.histogram("s", "h", std::array{1.0});
  EXPECT_THAT(prometheus_text(registry), HasSubstr("s_bucket{le=\"1\"} 0\n"));
  EXPECT_THAT(prometheus_text(registry), HasSubstr("s_sum 0\ns_count 0\n"));
}

TEST(PrometheusText, EscapesBackslashAndNewlineInHelpButNotQuotes) {
  MetricsRegistry registry;
  registry.gauge("g", "a\\b\nc\"d");
  EXPECT_THAT(prometheus_text(registry), HasSubstr("# HELP g a\\\\b\\nc\"d\n"));
}

TEST(PrometheusText, EscapesBackslashQuoteAndNewlineInLabelValues) {
  EXPECT_THAT(text_of_label("a\\b\nc\"d"), HasSubstr("\ng{x=\"a\\\\b\\nc\\\"d\"} 0\n"));
  EXPECT_THAT(text_of_label("\\n"), HasSubstr("\ng{x=\"\\\\n\"} 0\n"));
  EXPECT_THAT(text_of_label(""), HasSubstr("\ng{x=\"\"} 0\n"));
  EXPECT_THAT(text_of_label("{a=b},"), HasSubstr("\ng{x=\"{a=b},\"} 0\n"));
}

TEST(PrometheusText, PassesUtf8InHelpAndLabelValues) {
  MetricsRegistry registry;
  registry.gauge("g", "Gr\u00f6\u00dfe \u2014 \u7e2e", {{"x", "\U0001f9f5"}});
  EXPECT_THAT(prometheus_text(registry), HasSubstr("# HELP g Gr\u00f6\u00dfe \u2014 \u7e2e\n"));
  EXPECT_THAT(prometheus_text(registry), HasSubstr("{x=\"\U0001f9f5\"}"));
}

TEST(PrometheusText, PrintsTheShortestNumberThatReadsBackTheSame) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, 0.1, 1.0 / 3, -2.5e-7, 1e22, Limits::max(), Limits::lowest(),
                             Limits::min(), Limits::denorm_min()}) {
    const std::string text = text_of_gauge(value);
    EXPECT_EQ(std::strtod(text.c_str() + text.find("\ng ") + 3, nullptr), value) << text;
  }
  EXPECT_THAT(text_of_gauge(0.1), HasSubstr("\ng 0.1\n"));
  EXPECT_THAT(text_of_gauge(1e22), HasSubstr("\ng 1e+22\n"));
}

TEST(PrometheusText, PrintsNumbersThatAreNotFiniteAsTheFormatWants) {
  EXPECT_THAT(text_of_gauge(std::numeric_limits<double>::quiet_NaN()), HasSubstr("\ng NaN\n"));
  EXPECT_THAT(text_of_gauge(kPlusInfinity), HasSubstr("\ng +Inf\n"));
  EXPECT_THAT(text_of_gauge(-kPlusInfinity), HasSubstr("\ng -Inf\n"));
}

TEST(PrometheusText, PrintsTheWholeRangeOfACounter) {
  MetricsRegistry registry;
  registry.counter("m_total", "h").add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(prometheus_text(registry), HasSubstr("\nm_total 18446744073709551615\n"));
}

/// Returns the counts that a text gives for one histogram: its buckets, then _count.
std::vector<std::uint64_t> counts_in(const std::string& text) {
  std::vector<std::uint64_t> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("s_bucket") || line.starts_with("s_count")) {
      counts.push_back(std::stoull(line.substr(line.rfind(' '))));
    }
  }
  return counts;
}

TEST(PrometheusText, IsConsistentWhileObserversRun) {
  MetricsRegistry registry;
  Histogram& histogram = registry.histogram("s", "h", std::array{1.0, 2.0, 3.0});
  std::array<std::jthread, 3> observers;
  for (std::jthread& observer : observers) {
    observer = std::jthread([&](const std::stop_token& stop) {
      for (int n = 0; !stop.stop_requested(); n = (n + 1) % 5) histogram.observe(n);
    });
  }
  std::uint64_t before = 0;
  for (int changes = 0; changes < 30;) {  // Not 30 texts: the observers may start late.
    const std::vector<std::uint64_t> counts = counts_in(prometheus_text(registry));
    ASSERT_EQ(counts.size(), 5u);
    ASSERT_TRUE(std::ranges::is_sorted(counts)) << testing::PrintToString(counts);
    ASSERT_EQ(counts[3], counts[4]);
    ASSERT_LE(before, counts[4]);
    if (counts[4] != before) ++changes;
    before = counts[4];
  }
}

TEST(PrometheusText, IsWholeWhileSeriesAreRegistered) {
  MetricsRegistry registry;
  const std::jthread registrar([&] {
    for (int n = 100; n < 600; ++n) registry.gauge("g", "h", {{"n", std::to_string(n)}});
  });
  std::string text;
  while (text.find("g{n=\"599\"} 0\n") == std::string::npos) {
    text = prometheus_text(registry);
    ASSERT_TRUE(text.empty() || (text.starts_with("# HELP g h\n") && text.ends_with(" 0\n")));
  }
}

// Returns a text with every kind of metric, and all that the format makes hard.
std::string rich_text() {
  MetricsRegistry registry;
  registry.counter("weft_requests_total", "A \\ and\na \"line\", \u7e2e.", {{"class", "chat"}})
      .add();
  registry.counter("weft_requests_total", "A \\ and\na \"line\", \u7e2e.",
                   {{"class", "a\\b\nc\"d \U0001f9f5"}, {"other", ""}});
  int n = 0;
  for (const double value : {0.1, 1e22, 5e-324, kPlusInfinity, -kPlusInfinity,
                             std::numeric_limits<double>::quiet_NaN()}) {
    registry.gauge("weft_level", "A level.", {{"n", std::to_string(n++)}}).set(value);
  }
  registry.histogram("weft_step_seconds", "A step.", kTickBounds).observe(0.003, 5);
  for (const char* tier : {"chat", "batch"}) {
    registry.histogram("weft_wait_seconds", "A wait.", kLatencyBounds, {{"class", tier}})
        .observe(9);
  }
  return prometheus_text(registry);
}

struct ShellResult {
  int status;
  std::string output;
};

ShellResult run_shell(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

TEST(PrometheusText, SatisfiesPromtool) {
  const char* const variable = std::getenv("WEFT_PROMTOOL");
  const std::string tool = variable != nullptr ? variable : "promtool";
  if (run_shell("command -v '" + tool + "'").status != 0) {
    GTEST_SKIP() << "no promtool in WEFT_PROMTOOL or on PATH; Debian's package prometheus has it";
  }
  const std::string path =
      testing::TempDir() + "weft_prometheus_test." + std::to_string(getpid()) + ".txt";
  std::ofstream(path, std::ios::binary) << rich_text();
  const ShellResult result = run_shell("'" + tool + "' check metrics < '" + path + "'");
  std::filesystem::remove(path);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "");
}

}  // namespace
}  // namespace weft
