// Serving under load, in one process: requests of a Poisson process, virtual users as sinks.
//
//   overload   chat beside batch work of twice what the device can carry: chat's time to first
//   token
//              over that of a chat request that is alone
//   prefill    running streams while long prompts arrive: their inter-token times with and without
//              target_inter_token
//
// They are on a device that computes nothing and whose steps last as long as the cost that is
// printed, and `overload` also on the demo model on the host.
//
//   weft_serving_bench [overload|prefill, default both]

#include <cstdio>
#include <string_view>

#include "weft/bench/actors/serving_experiments.h"

int main(int count, char** arguments) {
  using namespace weft::bench;
  const std::string_view only = count > 1 ? arguments[1] : "";
  if (only.empty() || only == "overload") run_overload();
  if (only.empty() || only == "prefill") run_prefill();
}
