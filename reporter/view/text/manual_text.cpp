// The two pages of the manual, in requests of man(7).
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/manual_text.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "interpose/settings/options.h"

namespace vramscope {
namespace {

constexpr std::size_t kMany = 4;  // verbs with an option, that it is described in one place for all

// What the language would take for its own: backslashes, hyphens, requests at the start of a line.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool begins_line = result.empty() || result.back() == '\n';
    if (begins_line && (letter == '.' || letter == '\'')) result += "\\&";
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

// Each line of help is a sentence, which may lack its full stop.
std::string sentences(const std::string& help) {
  std::istringstream lines(help);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const bool ends = line.empty() || line.back() == '.' || line.back() == ':';
    text += escaped(line) + (ends ? "" : ".") + "\n";
  }
  return text;
}

std::string head(const char* section, const ManualEdition& edition, const char* of_what,
                 const char* summary) {
  return std::string(".TH VRAMSCOPE ") + section + " \"" + edition.date + "\" \"vramscope " +
         escaped(edition.version) + "\" \"" + of_what + "\"\n.SH NAME\nvramscope \\- " + summary +
         "\n";
}

std::string entry(const OptionDescription& option) {
  std::string text = ".TP\n";
  for (const std::string& name : option.names) {
    text += (name == option.names.front() ? "" : ", ") + bold(name);
  }
  if (!option.value.empty()) text += " " + italic(option.value);
  text += "\n" + sentences(option.help);
  const bool is_said = option.usual.empty() || option.help.find("default") != option.help.npos;
  return is_said ? text : text + "The default is " + bold(option.usual) + ".\n";
}

// The same option in several verbs: by all that is said of it.
using Identity = std::pair<std::vector<std::string>, std::string>;
Identity identity(const OptionDescription& option) { return {option.names, option.help}; }

std::map<Identity, std::size_t> verbs_with_each(const std::vector<VerbDescription>& verbs) {
  std::map<Identity, std::size_t> counts;
  for (const VerbDescription& verb : verbs) {
    for (const OptionDescription& option : verb.options) ++counts[identity(option)];
  }
  return counts;
}

// Examples and tables keep their lines.
std::string footer(const std::string& text) {
  return text.empty() ? "" : ".PP\n.EX\n" + escaped(text) + "\n.EE\n";
}

std::string verb_section(const VerbDescription& verb,
                         const std::map<Identity, std::size_t>& counts) {
  std::string text = ".SS " + escaped(verb.name) + "\n" + sentences(verb.help);
  for (const OptionDescription& word : verb.words) {
    text += ".TP\n" + italic(word.names.front()) + (word.is_repeatable ? " ...\n" : "\n") +
            sentences(word.help);
  }
  std::string common;
  for (const OptionDescription& option : verb.options) {
    if (counts.at(identity(option)) < kMany) {
      text += entry(option);
    } else {
      common += (common.empty() ? "" : ",\n") + bold(option.names.back());
    }
  }
  if (!common.empty()) text += ".PP\nTakes also\n" + common + ".\n";
  return text + footer(verb.footer);
}

std::string common_section(const std::vector<VerbDescription>& verbs,
                           const std::map<Identity, std::size_t>& counts) {
  std::string text = ".SH OPTIONS OF MANY VERBS\n";
  std::map<Identity, bool> done;
  for (const VerbDescription& verb : verbs) {
    for (const OptionDescription& option : verb.options) {
      const Identity id = identity(option);
      if (counts.at(id) >= kMany && !std::exchange(done[id], true)) text += entry(option);
    }
  }
  return text;
}

constexpr const char* kToolBegin = R"(.SH SYNOPSIS
.B vramscope run
[\fIOPTIONS\fR] [\fB\-\-\fR] \fIPROGRAM\fR [\fIARGUMENTS\fR]
.br
.B vramscope
\fIVERB\fR [\fIOPTIONS\fR] [\fIFILE\fR ...]
.SH DESCRIPTION
Records the CUDA memory that a program allocates, which needs no rebuild and no change of it, and
says where the memory went.
.SH VERBS
)";

// Relative to the prefix, which may be moved.
constexpr const char* kToolEnd = R"(.SH FILES
.I PREFIX
is the folder in whose
.I bin
the tool lies.
.TP
.I PREFIX/share/vramscope/report.schema.json
JSON Schema of reports.
.TP
.I PREFIX/share/vramscope/listings.schema.json
JSON Schema of what verbs print with
.BR \-\-json .
.TP
.I PREFIX/share/vramscope/usual.suppressions
What
.B leaks
leaves out by itself.
.TP
.I PREFIX/share/doc/vramscope/reporter/report/FORMAT.md
Every field of reports, and the format of traces.
.TP
.I PREFIX/share/doc/vramscope/reporter/view/LISTINGS.md
What verbs print with
.B \-\-json
and
.BR \-\-csv ,
column by column.
.TP
.I PREFIX/share/doc/vramscope/README.md
What else there is to read, recipes for frameworks and services among it.
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
A threshold that was asked for is crossed, or something was found that was to be looked for.
.TP
.B 2
Bad usage, or a file that cannot be read or written.
.PP
.B run
exits with the status of the program, 128+N when signal N ended it, 127 when it was not found, 126
when it cannot be executed, and 125 when it was not started.
.SH SEE ALSO
.BR vramscope (7)
)";

constexpr const char* kLibraryBegin = R"(.SH SYNOPSIS
.B LD_PRELOAD=\fIPREFIX\fB/lib/vramscope/libvramscope.so
\fIPROGRAM\fR
.SH DESCRIPTION
A program into which
.I libvramscope.so
is preloaded is recorded as under
.BR "vramscope run" ,
and writes the same reports.
A bad value of a variable is one line on standard error, and the default stays.
.SH ENVIRONMENT
)";

constexpr const char* kLibraryEnd = R"(.SH SEE ALSO
.BR vramscope (1)
)";

}  // namespace

std::string tool_manual(const std::vector<VerbDescription>& verbs, const ManualEdition& edition) {
  const std::map<Identity, std::size_t> counts = verbs_with_each(verbs);
  std::string text =
      head("1", edition, "User Commands", "say where the CUDA memory of a program goes");
  text += kToolBegin;
  for (const VerbDescription& verb : verbs) text += verb_section(verb, counts);
  return text + common_section(verbs, counts) + kToolEnd;
}

std::string library_manual(const ManualEdition& edition) {
  std::string text =
      head("7", edition, "Miscellanea", "variables of the CUDA memory profiler that is preloaded");
  text += kLibraryBegin;
  for (const OptionRow& row : option_rows()) {
    const std::string usual = row.default_value.empty() ? "empty" : bold(row.default_value);
    text += ".TP\n" + bold(row.variable) + "\n" + sentences(row.sentence) + "Takes " +
            escaped(row.accepted) + "; the default is " + usual + ".\n";
  }
  return text + kLibraryEnd;
}

}  // namespace vramscope
