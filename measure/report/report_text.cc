#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/words.h"
#include "weft/measure/report/report.h"
#include "weft/measure/server/visible_text.h"

namespace weft::measure {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::string_view kColumnGap = "  ";

std::string blanks(std::size_t count) { return std::string(count, ' '); }

/// Breaks `text` between words. The first line begins with `first`, and later lines are indented as
/// far.
std::string wrapped(std::string_view text, const std::string& first) {
  const std::size_t indent = columns_of(first);
  const std::string shown = visible(text);
  std::string_view rest = shown;
  std::string lines = first;
  std::size_t column = indent;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    const std::size_t width = columns_of(word);
    if (column > indent && column + 1 + width > kColumns) {
      lines.append("\n").append(blanks(indent));
      column = indent;
    } else if (column > indent) {
      lines.append(" ");
      ++column;
    }
    lines.append(word);
    column += width;
  }
  return lines.append("\n");
}

/// Pads `text` to `width` columns: the first column of a table is aligned left, the others right.
std::string cell(const std::string& text, std::size_t width, bool left) {
  const std::string rest = blanks(width - columns_of(text));
  return left ? text + rest : rest + text;
}

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  return widths;
}

std::string line_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line.append(kColumnGap);
    line.append(cell(row[i], widths[i], i == 0));
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line.append("\n");
}

std::string text_of(const Table& table) {
  Rows rows = {table.columns};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  for (auto& row : rows) {
    for (std::string& text : row) text = visible(text);
  }
  const std::vector<std::size_t> widths = widths_of(rows);
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  rows.insert(rows.begin() + 1, rule);
  std::string text = table.title.empty() ? "" : wrapped(table.title, "");
  for (const auto& row : rows) text += line_of(row, widths);
  if (!table.note.empty()) text += wrapped(table.note, "");
  return text;
}

std::string text_of(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::size_t widest = 0;
  for (const auto& [name, value] : facts) widest = std::max(widest, columns_of(visible(name)));
  // A longer name would leave too little room for the text beside it.
  widest = std::min(widest, kColumns / 3);
  std::string text;
  for (const auto& [name, value] : facts) {
    std::string first = visible(name);
    first += blanks(widest - std::min(widest, columns_of(first)));
    text += wrapped(value, first.append(kColumnGap));
  }
  return text;
}

}  // namespace

std::string to_text(const Report& report) {
  std::vector<std::string> parts;
  std::string head = wrapped(report.title, "");
  if (!report.summary.empty()) head += wrapped(report.summary, "");
  parts.push_back(std::move(head));
  if (!report.facts.empty()) parts.push_back(text_of(report.facts));
  for (const Table& table : report.tables) parts.push_back(text_of(table));
  std::string findings;
  for (const std::string& finding : report.findings) findings += wrapped(finding, "- ");
  if (!findings.empty()) parts.push_back(std::move(findings));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "\n") + part;
  return text;
}

}  // namespace weft::measure
