// Shards of a sweep: what they say of themselves, and how they are joined.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "report/csv.h"
#include "report/sweep_report.h"
#include "report/version.h"

namespace podsim {
namespace {

constexpr std::string_view kCsvColumns = "sweep,points,place,";

std::string JsonOrigin(const std::string& sweep, std::size_t points) {
  return "\"shard\": {\"sweep\": \"" + sweep +
         "\", \"points\": " + std::to_string(points) + "}, ";
}

// A row of a shard, taken apart.
struct ShardRow {
  std::string sweep;
  std::size_t points = 0;
  std::size_t place = 0;
  std::string text;  // as in the whole sweep
};

// A text that is read from the front.
class Cursor {
 public:
  Cursor(const ShardFile& file, SweepFormat format)
      : path_(file.path), rest_(file.text), format_(format) {}

  bool AtEnd() const { return rest_.empty(); }

  bool Skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    Advance(expected.size());
    return true;
  }

  void Expect(std::string_view expected) {
    if (!Skip(expected)) {
      Fail("expected \"" + Shortened(expected, 60) + "\"");
    }
  }

  std::string Until(char end) {
    const auto length = rest_.find(end);
    if (length == std::string_view::npos) {
      Fail(std::string("expected '") + end + "' before the end of the file");
    }
    std::string text(rest_.substr(0, length));
    Advance(length + 1);
    return text;
  }

  // Digits up to `end`, which is taken too.
  std::size_t Number(char end) {
    const std::string digits = Until(end);
    std::size_t value = 0;
    const char* last = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), last, value);
    if (error != std::errc() || stop != last) {
      Fail("expected a number, got \"" + Shortened(digits, 60) + "\"");
    }
    return value;
  }

  // A record of CSV with its line end; quoted fields may hold line ends.
  std::string CsvRecord() {
    bool quoted = false;
    for (std::size_t k = 0; k < rest_.size(); ++k) {
      if (rest_[k] == '"') quoted = !quoted;
      if (rest_[k] != '\n' || quoted) continue;
      std::string record(rest_.substr(0, k + 1));
      Advance(k + 1);
      return record;
    }
    Fail("the last row does not end: the file is not whole");
  }

  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(
        path_ + ":" + std::to_string(line_),
        what + "; merge takes what `podsim sweep --shard K/N -o FILE." +
            (format_ == SweepFormat::kCsv ? "csv" : "json") + "` wrote");
  }

 private:
  void Advance(std::size_t count) {
    line_ +=
        std::count(rest_.begin(), rest_.begin() + std::ptrdiff_t(count), '\n');
    rest_.remove_prefix(count);
  }

  std::string path_;
  std::string_view rest_;
  SweepFormat format_;
  std::ptrdiff_t line_ = 1;
};

std::vector<ShardRow> ReadCsvShard(const ShardFile& file) {
  Cursor cursor(file, SweepFormat::kCsv);
  cursor.Expect(kCsvColumns);
  cursor.Expect(SweepCsvHeader());
  std::vector<ShardRow> rows;
  while (!cursor.AtEnd()) {
    ShardRow& row = rows.emplace_back();
    row.sweep = cursor.Until(',');
    row.points = cursor.Number(',');
    row.place = cursor.Number(',');
    row.text = cursor.CsvRecord();
  }
  return rows;
}

std::vector<ShardRow> ReadJsonShard(const ShardFile& file) {
  Cursor cursor(file, SweepFormat::kJson);
  cursor.Expect("{\"format\": \"podsim-result/1\", \"version\": \"" +
                std::string(kVersion) + "\", \"shard\": {\"sweep\": \"");
  ShardRow row;
  row.sweep = cursor.Until('"');
  cursor.Expect(", \"points\": ");
  row.points = cursor.Number('}');
  cursor.Expect(", \"points\": [\n");
  std::vector<ShardRow> rows;
  while (!cursor.Skip("]}\n")) {
    cursor.Skip("\n");
    cursor.Expect("{\"place\": ");
    row.place = cursor.Number(',');
    cursor.Expect(" ");
    row.text = "{" + cursor.Until('\n');
    if (row.text.ends_with(',')) row.text.pop_back();
    rows.push_back(row);
  }
  if (!cursor.AtEnd()) cursor.Fail("expected the end of the file");
  return rows;
}

// "3, 7 and 12 more".
std::string Listed(const std::vector<std::size_t>& places) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> words;
  for (std::size_t k = 0; k < std::min(kShown, places.size()); ++k) {
    words.push_back(std::to_string(places[k]));
  }
  std::string text = Join(words, ", ");
  if (places.size() > kShown) {
    text += " and " + std::to_string(places.size() - kShown) + " more";
  }
  return text;
}

// The rows of all shards by place.
class Places {
 public:
  void Add(const ShardFile& file, ShardRow row) {
    if (from_.empty()) {
      sweep_ = row.sweep;
      rows_.resize(row.points);
      from_.resize(row.points);
      first_ = file.path;
    }
    if (row.sweep != sweep_ || row.points != rows_.size()) {
      throw InputError(file.path,
                       "is of another sweep, or of another version of its "
                       "files, than " +
                           first_);
    }
    if (row.place >= rows_.size()) {
      throw InputError(file.path, "has place " + std::to_string(row.place) +
                                      " of " + std::to_string(rows_.size()) +
                                      " points, numbered from 0");
    }
    if (!from_[row.place].empty()) {
      throw InputError(file.path, "has place " + std::to_string(row.place) +
                                      ", which stands in " + from_[row.place] +
                                      " too");
    }
    from_[row.place] = file.path;
    rows_[row.place] = std::move(row.text);
  }

  std::vector<std::string> Rows() const {
    std::vector<std::size_t> missing;
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      if (from_[k].empty()) missing.push_back(k);
    }
    if (missing.empty()) return rows_;
    throw InputError(
        "merge", std::to_string(missing.size()) + " of " +
                     std::to_string(rows_.size()) +
                     " points are missing: " + "places " + Listed(missing) +
                     "; give all shards, and run those that did not end again");
  }

 private:
  std::string sweep_;
  std::string first_;
  std::vector<std::string> rows_;
  std::vector<std::string> from_;  // the file; "": missing
};

}  // namespace

std::string SweepJsonText(const std::string& origin,
                          const std::vector<std::string>& points) {
  std::string json = "{\"format\": \"podsim-result/1\", \"version\": \"" +
                     std::string(kVersion) + "\", " + origin + "\"points\": [";
  const char* separator = "\n";
  for (const std::string& point : points) {
    json += separator + point;
    separator = ",\n";
  }
  return json + "\n]}\n";
}

std::string ShardText(SweepFormat format, const std::vector<SweepRow>& rows,
                      const ShardOrigin& origin) {
  if (format == SweepFormat::kJson) {
    std::vector<std::string> points;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      points.push_back("{\"place\": " + std::to_string(origin.places[k]) +
                       ", " + rows[k].text.substr(1));
    }
    return SweepJsonText(JsonOrigin(origin.sweep, origin.points), points);
  }
  std::string csv = std::string(kCsvColumns) + SweepCsvHeader();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    csv += origin.sweep + "," + std::to_string(origin.points) + "," +
           std::to_string(origin.places[k]) + "," + rows[k].text;
  }
  return csv;
}

std::string MergeShards(SweepFormat format,
                        const std::vector<ShardFile>& shards) {
  Places places;
  for (const ShardFile& shard : shards) {
    for (ShardRow& row : format == SweepFormat::kCsv ? ReadCsvShard(shard)
                                                     : ReadJsonShard(shard)) {
      places.Add(shard, std::move(row));
    }
  }
  const std::vector<std::string> rows = places.Rows();
  if (rows.empty()) throw InputError("merge", "the shards have no points");
  if (format == SweepFormat::kJson) return SweepJsonText("", rows);
  return SweepCsvHeader() + Join(rows, "");
}

}  // namespace podsim
