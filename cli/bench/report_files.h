#pragma once

#include <string>
#include <string_view>

#include "weft/measure/report/report.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// Files that a measurement's report is written to besides standard output.
struct ReportFiles {
  std::string json;
  std::string html;
  std::string svg;  ///< the beginning of the figures' file names, one file a figure
};

/// Adds --json, --html and --svg.
void add_report_options(CLI::App& command, ReportFiles& files);

/// Fails, naming flag and file, where a file cannot be written. Called before minutes go into
/// measuring.
void check_report_files(std::string_view verb, const ReportFiles& files);

/// Prints the report, with processor, load average, version and date among its facts, and writes
/// the files that were asked for.
void deliver_report(std::string_view verb, measure::Report measured, const ReportFiles& files);

}  // namespace weft::cli
