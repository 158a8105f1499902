// Report files: what is written, how it is published, and what reading refuses.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/json.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "reporter/report/assemble.h"
#include "reporter/report/report.h"
#include "test/reporter/sample.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, removed at the end.
class ReportFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "report_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // The message of reading `text`, or "" when it was accepted.
  [[nodiscard]] std::string refusal(const std::string& text) const {
    put("in.json", text);
    const auto result = read_report(path("in.json"));
    const FileError* error = std::get_if<FileError>(&result);
    return error == nullptr ? "" : error->message.substr(path("in.json").size() + 2);
  }
  // The sample's text with `from`, which it contains, replaced.
  [[nodiscard]] std::string sample_with(const std::string& from, const std::string& to) const {
    std::string text = sample_text();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  [[nodiscard]] std::string sample_text() const {
    const auto result = write_report(assemble(sample_parts()), path("sample.json"));
    const std::string text = text_of(std::get<std::string>(result));
    fs::remove(std::get<std::string>(result));
    return text;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(ReportFile, ReadingAndWritingAgainGivesTheSameBytes) {
  const std::string first = sample_text();
  put("first.json", first);

  const auto read = read_report(path("first.json"));
  ASSERT_TRUE(std::holds_alternative<Report>(read)) << std::get<FileError>(read).message;
  const auto written = write_report(std::get<Report>(read), path("second.json"));

  EXPECT_EQ(text_of(std::get<std::string>(written)), first);
}

TEST_F(ReportFile, ReadingGivesTheValueBack) {
  const Report report = assemble(sample_parts());
  const auto name = write_report(report, path("r.json"));

  const auto result = read_report(std::get<std::string>(name));
  ASSERT_TRUE(std::holds_alternative<Report>(result)) << std::get<FileError>(result).message;
  const auto& read = std::get<Report>(result);

  EXPECT_EQ(read.trigger, "signal");
  EXPECT_EQ(read.process.options, report.process.options);
  EXPECT_EQ(read.process.rank, -1);
  EXPECT_EQ(read.process.arguments[2], "caf\xc3\xa9 \xef\xbf\xbd");
  ASSERT_EQ(read.devices.size(), 2U);
  EXPECT_TRUE(read.devices[0].used);
  EXPECT_FALSE(read.devices[1].used);
  EXPECT_EQ(read.devices[0].statistics.reserved_bytes.all.current, 22 << 20);
  EXPECT_EQ(read.devices[0].statistics.max_split_size, -1);
  EXPECT_EQ(read.devices[0].segments[1].blocks[0].site,
            report.devices[0].segments[1].blocks[0].site);
  EXPECT_EQ(read.host.registrations[0].blocks[0].site, -1);
  EXPECT_EQ(read.functions[0].totals.time.count, 3U);
  EXPECT_EQ(read.functions[0].totals.time.histogram[10], 3U);
  EXPECT_EQ(read.sites.size(), report.sites.size());
  EXPECT_EQ(read.sites[0].parts.size(), 2U);
}

TEST_F(ReportFile, IsTheSameWhenSitesAreMadeAsTheyAreWritten) {
  Assembly assembly(sample_parts());
  const auto name = write_report(assembly.report(), assembly.sites(), path("r.json"));

  EXPECT_EQ(text_of(std::get<std::string>(name)), sample_text());
}

TEST_F(ReportFile, IsReadableByItsOwnerOnly) {
  const auto name = write_report(assemble(sample_parts()), path("r.json"));

  struct stat status {};
  ASSERT_EQ(stat(std::get<std::string>(name).c_str(), &status), 0);

  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(ReportFile, TakesTheNextNameWhenOneIsTaken) {
  put("r.json", "mine");
  fs::create_symlink("/nowhere", folder_ / "r.json~1");

  const auto name = write_report(assemble(sample_parts()), path("r.json"));

  EXPECT_EQ(std::get<std::string>(name), path("r.json~2"));
  EXPECT_EQ(text_of(path("r.json")), "mine");
  EXPECT_EQ(files(), 3U);
}

TEST_F(ReportFile, SaysWhyItCannotBeWritten) {
  const auto result = write_report(assemble(sample_parts()), path("missing/r.json"));

  EXPECT_EQ(std::get<FileError>(result).message,
            "cannot write '" + path("missing/r.json") + "': No such file or directory");
}

TEST_F(ReportFile, LeavesNothingBehindWhenTheDiskIsFull) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tiny{.rlim_cur = 100, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tiny);

  errno = 77;
  const auto result = write_report(assemble(sample_parts()), path("r.json"));
  const int error = errno;
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_EQ(std::get<FileError>(result).message,
            "cannot write '" + path("r.json") + "': File too large");
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(error, 77);
}

// Each place in `scripts/check --long`; else every seventh, which meets each field.
std::size_t step() { return std::getenv("VRAMSCOPE_THOROUGH") == nullptr ? 7 : 1; }

TEST_F(ReportFile, RefusesEveryTruncation) {
  const std::string whole = sample_text();
  put("cut.json", whole);

  // Only the last newline may go.
  for (std::size_t length = whole.size() - 1; length > 0; length -= std::min(length, step())) {
    fs::resize_file(path("cut.json"), length - 1);
    ASSERT_TRUE(std::holds_alternative<FileError>(read_report(path("cut.json")))) << length - 1;
  }
}

TEST_F(ReportFile, SurvivesChangedBytes) {
  const std::string whole = sample_text();
  put("changed.json", whole);
  std::fstream file(path("changed.json"));
  const auto set = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
  };

  for (std::size_t i = 0; i < whole.size(); i += step()) {
    set(i, static_cast<char>(whole[i] ^ (1 + i % 255)));
    static_cast<void>(read_report(path("changed.json")));
    set(i, whole[i]);
  }
}

TEST_F(ReportFile, RefusesSymbolsThatPointNowhere) {
  const auto with = [&](const std::string& symbols) {
    return refusal(sample_with("\n}\n", ",\n\"symbols\":" + symbols + "\n}\n"));
  };
  const auto named = [&](const std::string& frames) {
    return with(R"({"names":["f"],"files":["a.c"],"frames":[)" + frames + "]}");
  };

  EXPECT_EQ(with("{}"), "");
  EXPECT_EQ(with("null"), "");
  EXPECT_EQ(named(R"({"frame":0,"functions":[{"name":0,"file":0,"line":3}]})"), "");
  EXPECT_TRUE(
      named(R"({"frame":99})").starts_with("field symbols.frames[0].frame: expected an index"));
  EXPECT_NE(named(R"({"frame":0},{"frame":0})"), "");
  EXPECT_NE(named(R"({"frame":0,"functions":[{"name":1}]})"), "");
  EXPECT_NE(named(R"({"frame":0,"functions":[{"name":0,"file":1}]})"), "");
  EXPECT_NE(named(R"({"frame":0,"functions":[{"name":-1}]})"), "");
  EXPECT_NE(named(R"({"functions":[]})"), "");
  std::string many = R"({"name":0})";
  for (int i = 0; i < 64; ++i) many += R"(,{"name":0})";
  EXPECT_NE(named(R"({"frame":0,"functions":[)" + many + "]}"), "");
}

TEST_F(ReportFile, TellsThePlaceOfASyntaxError) {
  EXPECT_EQ(refusal("{\"schema\": }").substr(0, 8), "byte 12:");
  EXPECT_EQ(refusal("[1]"), "byte 1: expected a report, which begins with '{'");
  EXPECT_EQ(refusal("\x1f\x8b\x08"),
            "byte 1: expected a report, found a compressed file: unpack it first");
}

// The quick parser takes half a surrogate pair and what stands behind a zero byte, and no mark of
// the order of bytes.
TEST_F(ReportFile, IsReadAsTheStricterParserWould) {
  const auto with_trigger = [&](const std::string& text) {
    return refusal(sample_with("\"trigger\":\"signal\"", "\"trigger\":\"" + text + "\""));
  };
  const std::string whole = sample_with("", "");

  EXPECT_NE(with_trigger("\\udc00").find("surrogate"), std::string::npos);
  EXPECT_NE(with_trigger("\xff").find("ill-formed UTF-8"), std::string::npos);
  EXPECT_NE(with_trigger("\x01").find("control character"), std::string::npos);
  EXPECT_EQ(with_trigger("\\ud83d\\ude00"), "");
  EXPECT_NE(refusal(whole + std::string("\0{", 2)), "");
  EXPECT_EQ(refusal("\xEF\xBB\xBF" + whole), "");
  EXPECT_NE(refusal(sample_with("\"pid\":4711", "\"pid\":1e999")).find("number overflow"),
            std::string::npos);
}

TEST_F(ReportFile, CallsAFileThatIsCutOffThat) {
  const std::string whole = sample_with("", "");
  for (std::size_t kept = 1; kept < whole.find_last_of('}'); kept += 1 + whole.size() / 97) {
    EXPECT_EQ(refusal(whole.substr(0, kept)),
              "ends early at byte " + std::to_string(kept) + ": cut off");
  }
  EXPECT_EQ(refusal(""), "ends early at byte 0: cut off, or empty");
}

TEST_F(ReportFile, KnowsATrace) {
  EXPECT_EQ(refusal("VRAMSCOPE TRACE\n\1"),
            "byte 1: expected a report, found a trace, which vramscope trace shows");
}

TEST_F(ReportFile, TellsTheFieldThatIsWrong) {
  EXPECT_EQ(refusal("{}"), "field schema: is missing, so it is no report of vramscope");
  EXPECT_EQ(refusal(sample_with("\"version\":1", "\"version\":9")),
            "field schema.version: 9 is newer than 1, the newest that this vramscope reads");
  EXPECT_EQ(refusal(sample_with("\"version\":1", "\"version\":0")),
            "field schema.version: expected 1, found 0");
  EXPECT_EQ(refusal(sample_with("vramscope-report", "other-report")),
            "field schema.name: expected \"vramscope-report\", found \"other-report\"");
  EXPECT_EQ(refusal(sample_with("\"segments\":[]", "\"segments\":7")),
            "field devices[1].segments: expected array");
  EXPECT_EQ(
      refusal(sample_with("\"requested_size\":1000,\"state\"", "\"requested_size\":-1,\"state\"")),
      "field devices[0].segments[0].blocks[0].requested_size: expected integer from 0 to "
      "18446744073709551615");
  EXPECT_EQ(refusal(sample_with("\"pid\":4711", "\"pid\":\"4711\"")).substr(0, 19),
            "field process.pid: ");
  EXPECT_EQ(
      refusal(sample_with("\"active.all.current\":2,", "\"active.all.current\":[],")).substr(0, 60),
      "field devices[0].memory_stats.active.all.current: expected i");
  EXPECT_EQ(refusal(sample_with("\"pid\":4711,", "")), "field process.pid: is missing");
}

TEST_F(ReportFile, RefusesPartsThatDoNotFit) {
  EXPECT_EQ(refusal(sample_with("\"site\":2", "\"site\":99")),
            "field devices[0].segments[0].blocks[0].site: expected an index below 3, the number of "
            "sites, found 99");
  EXPECT_EQ(refusal(sample_with("\"module\":0", "\"module\":12")).substr(0, 16),
            "field frames[3].");
  EXPECT_EQ(refusal(sample_with("\"code\":1", "\"code\":2")),
            "field frames[2].code: expected an index below 2, the number of codes, found 2");
  EXPECT_EQ(refusal(sample_with("\"source\":1", "\"source\":2")),
            "field codes[1].source: expected an index below 2, the number of sources, found 2");
  EXPECT_NE(refusal(sample_with("\"size\":1024", "\"size\":1023")), "");
  EXPECT_NE(refusal(sample_with("\"index\":1", "\"index\":64")), "");
}

TEST_F(ReportFile, RefusesHostileNestingWithoutTroubleFromMemory) {
  std::string deep = "{\"x\":";
  deep.append(5'000'000, '[');

  EXPECT_NE(refusal(deep).find("is nested too deeply"), std::string::npos);
}

TEST_F(ReportFile, CopiesNoLongNameForEachElement) {
  std::string text = "{\"" + std::string(1'000'000, 'k') + "\":[{}";
  for (int i = 0; i < 200'000; ++i) text += ",{}";

  EXPECT_NE(refusal(text + "]}"), "");  // took minutes when each element made its path
}

TEST_F(ReportFile, OfEachVersionIsStillRead) {
  const auto result = read_report(SAMPLE);

  ASSERT_TRUE(std::holds_alternative<Report>(result)) << std::get<FileError>(result).message;
  EXPECT_EQ(std::get<Report>(result).tool_version, "SAMPLE");
}

TEST_F(ReportFile, TamesTextFromHostileFiles) {
  const std::string message =
      refusal("{\"host\":{\"\\u001b[31m\\n\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");

  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST_F(ReportFile, SaysWhyItCannotBeRead) {
  const auto missing = read_report(path("none.json"));
  const auto folder = read_report(folder_);
  const auto endless = read_report("/dev/zero");

  EXPECT_EQ(std::get<FileError>(missing).message,
            path("none.json") + ": No such file or directory");
  EXPECT_EQ(std::get<FileError>(folder).message, folder_.string() + ": Is a directory");
  EXPECT_EQ(std::get<FileError>(endless).message,
            "/dev/zero: byte 1: expected a report, which begins with '{'");
}

TEST_F(ReportFile, SkipsUnknownFields) {
  EXPECT_EQ(refusal(sample_with("\"trigger\"", "\"new\":[{\"a\":1}],\"trigger\"")), "");
  EXPECT_EQ(refusal(sample_with("\"size\":1024", "\"later\":{},\"size\":1024")), "");
}

TEST_F(ReportFile, NeedsNoMoreThanToSayWhoseItIs) {
  put("bare.json",
      R"({"schema":{"name":"vramscope-report","version":1},"process":{"pid":7,"executable":"/x"}})");

  const auto result = read_report(path("bare.json"));
  ASSERT_TRUE(std::holds_alternative<Report>(result)) << std::get<FileError>(result).message;
  const auto& report = std::get<Report>(result);

  EXPECT_EQ(report.process.pid, 7);
  EXPECT_EQ(report.process.rank, -1);
  EXPECT_EQ(report.trigger, "");
  EXPECT_EQ(report.sequence, 1U);
  EXPECT_TRUE(report.devices.empty());
  EXPECT_FALSE(report.host.used);
  EXPECT_FALSE(report.cupti.has_value());
  EXPECT_TRUE(report.unknown.empty());
}

TEST_F(ReportFile, NamesAtMostSoManyUnknownFieldsAndNoneInFull) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "\"later " + std::to_string(i) + "\":{},";
  many += "\"" + std::string(100'000, 'x') + "\":0,";
  put("many.json", sample_with("\"trigger\"", many + "\"trigger\""));

  const auto result = read_report(path("many.json"));
  ASSERT_TRUE(std::holds_alternative<Report>(result)) << std::get<FileError>(result).message;
  const auto& unknown = std::get<Report>(result).unknown;

  EXPECT_EQ(unknown.size(), 32U);
  for (const std::string& name : unknown) EXPECT_LE(name.size(), 200U);
}

}  // namespace
}  // namespace vramscope
