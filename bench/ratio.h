#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/report/quantile.h"

/// Benchmarks here compare. Two ways to do the same work are timed in turn within one run, and the
/// result is the ratio of each pair, its median and its spread. Machines differ and are shared, but
/// the ratio of two neighbouring measurements is stable.
namespace weft::bench {

/// Returns the seconds that `work` takes.
template <class Work>
double seconds(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

using measure::quantile;

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// The number of pairs; odd, so that the median is one of them.
inline constexpr int kPairs = 21;

/// Runs `ours` and `peer` in turn, once for each iteration of `state`; each returns the seconds for
/// `operations`. Counters: nanoseconds an operation of both, and ours over peer (of each pair) as
/// ratio, ratio_q1 and ratio_q3 (quartiles), ratio_min, ratio_max.
template <class Ours, class Peer>
void compare(benchmark::State& state, double operations, Ours&& ours, Peer&& peer) {
  std::vector<double> our_times;
  std::vector<double> peer_times;
  std::vector<double> ratios;
  ours();
  peer();
  for (auto _ : state) {
    our_times.push_back(ours());
    peer_times.push_back(peer());
    ratios.push_back(our_times.back() / peer_times.back());
    state.SetIterationTime(our_times.back());
  }
  state.counters["ours_ns"] = 1e9 * median(our_times) / operations;
  state.counters["peer_ns"] = 1e9 * median(peer_times) / operations;
  state.counters["ratio"] = median(ratios);
  state.counters["ratio_q1"] = quantile(ratios, 0.25);
  state.counters["ratio_q3"] = quantile(ratios, 0.75);
  state.counters["ratio_min"] = *std::ranges::min_element(ratios);
  state.counters["ratio_max"] = *std::ranges::max_element(ratios);
}

/// Called after compare(): adds the peer's time over ours, times `factor`, under a name of its own.
inline void add_inverse(benchmark::State& state, const std::string& name, double factor = 1) {
  state.counters[name] = factor / state.counters["ratio"];
  state.counters[name + "_q1"] = factor / state.counters["ratio_q3"];
  state.counters[name + "_q3"] = factor / state.counters["ratio_q1"];
  state.counters[name + "_min"] = factor / state.counters["ratio_max"];
  state.counters[name + "_max"] = factor / state.counters["ratio_min"];
}

}  // namespace weft::bench
