// The priorities of a server's threads, as the system has them.

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "weft/tests/fixture/nice_values.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using ThreadPrioritiesTest = ServedPipeline;

TEST_F(ThreadPrioritiesTest, ThreadsForLargeWorkLetTheModelGoFirst) {
  constexpr int kLowest = 19;
  start();
  // Threads that are new get their names and priorities by themselves.
  const auto is_there = [](const char* name) {
    return eventually([name] { return nice_values().contains(name); });
  };
  if (nice_values().empty()) GTEST_SKIP() << "there is no /proc with this process's threads";
  server->service().body_workers().post([] {});
  const char* const last[] = {"large-bodies", "large-prompts-0", "text-worker"};
  for (const char* name : last) ASSERT_TRUE(is_there(name)) << name;
  const std::map<std::string, int> values = nice_values();
  ASSERT_TRUE(values.contains("executor"));
  const int model = values.at("executor");
  if (model >= kLowest) GTEST_SKIP() << "the tests have the lowest priority already: " << model;
  for (const char* name : {"scheduler", "detokenizer", "preprocess-0"}) {
    EXPECT_EQ(values.at(name), model) << name;
  }
  for (const char* name : last) EXPECT_GT(values.at(name), model) << name;
}

}  // namespace
}  // namespace weft::test
