#include "cli/completions.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "collective/collective.h"
#include "collective/lowering.h"
#include "topology/generation.h"

namespace podsim {
namespace {

using Words = std::vector<std::string>;

Words KindWords(const std::string& suffix) {
  Words words;
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    words.push_back(ToText(kind) + suffix);
  }
  return words;
}

Words LoweringWords(const std::string& command) {
  // Of steps: KIND=NAME.
  if (command == "simulate" || command == "explain") return KindWords("=");
  Words words = {"auto"};
  if (command == "collective") words.push_back("all");
  for (const Lowering& lowering : Lowerings()) {
    words.emplace_back(lowering.name);
  }
  return words;
}

Words SliceWords() {
  Words words;
  for (const Generation& generation : BuiltInGenerations()) {
    words.push_back(generation.name + ":");
  }
  return words;
}

// What its validator lists: "TEXT:auto|off".
Words ListedWords(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto colon = type.find(':');
  Words words;
  if (colon == std::string::npos) return words;
  for (const std::string& word :
       CLI::detail::split(type.substr(colon + 1), '|')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// Empty: files.
Words ValuesOf(const CLI::Option& option, const std::string& command) {
  const std::string name = option.get_single_name();
  if (name == "slice" || name == "SLICE") return SliceWords();
  if (name == "KIND" || name == "collective" || name == "baseline-collective") {
    return KindWords("");
  }
  if (name == "lowering") return LoweringWords(command);
  if (name == "network") return {"fluid", "fifo", "packet"};
  return ListedWords(option);
}

// A line of `case`: the same in both shells.
std::string Case(const std::string& patterns, const Words& words) {
  return "    " + patterns + ") known=(" + Join(words, " ") + ") ;;\n";
}

std::string NamesOf(const CLI::Option& option, const std::string& command) {
  Words patterns;
  for (const std::string& name : option.get_lnames()) {
    patterns.push_back("\"" + command + " --" + name + "\"");
  }
  for (const std::string& name : option.get_snames()) {
    patterns.push_back("\"" + command + " -" + name + "\"");
  }
  return Join(patterns, "|");
}

struct Cases {
  std::string values;       // of the flag before the cursor
  std::string flags;        // of a command
  std::string positionals;  // of a command
};

void AddCases(const CLI::App& command, Cases& cases) {
  const std::string& name = command.get_name();
  Words flags;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      cases.positionals += Case(name, ValuesOf(*option, name));
      continue;
    }
    for (const std::string& flag : option->get_lnames()) {
      flags.push_back("--" + flag);
    }
    if (option->get_expected_min() > 0) {
      cases.values += Case(NamesOf(*option, name), ValuesOf(*option, name));
    }
  }
  cases.flags += Case(name, flags);
}

constexpr char kBashHead[] = R"(# bash: source <(podsim completions bash)
_podsim() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
  local command="${COMP_WORDS[1]}" known=() value=yes
  # "--flag=value" comes as three words.
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $prev == "=" ]]; then
    prev="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    command=""
  fi
)";

constexpr char kBashTail[] = R"(  if ((${#known[@]})); then
    COMPREPLY=($(compgen -W "${known[*]}" -- "$cur"))
    if [[ ${COMPREPLY[0]-} == *[:=] ]]; then
      compopt -o nospace 2>/dev/null
    fi
  else
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _podsim podsim
)";

constexpr char kZshHead[] = R"(#compdef podsim
# zsh: source <(podsim completions zsh)
_podsim() {
  local cur="${words[CURRENT]}" prev="${words[CURRENT-1]}"
  local command="${words[2]}" value=yes
  local -a known
  known=()
  if [[ $cur == --*=* ]]; then
    prev="${cur%%=*}"
    compset -P '*='
    cur=""
  fi
  if ((CURRENT == 2)); then
    command=""
  fi
)";

constexpr char kZshTail[] = R"(  if ((${#known[@]})); then
    compadd -- "${known[@]}"
  else
    _files
  fi
}
compdef _podsim podsim
)";

// Which words may stand here, in both shells.
std::string ChoiceOfWords(const CLI::App& app) {
  Words commands;
  Cases cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    AddCases(*command, cases);
  }
  return "  case \"$command $prev\" in\n" + cases.values +
         "    *) value=no ;;\n  esac\n"
         "  if [[ -z $command ]]; then\n    known=(" +
         Join(commands, " ") +
         " --help --version)\n"
         "  elif [[ $value == no && $cur == -* ]]; then\n"
         "    case \"$command\" in\n" +
         cases.flags +
         "    esac\n  elif [[ $value == no ]]; then\n"
         "    case \"$command\" in\n" +
         cases.positionals + "    esac\n  fi\n";
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  const bool bash = shell == "bash";
  return std::string(bash ? kBashHead : kZshHead) + ChoiceOfWords(app) +
         (bash ? kBashTail : kZshTail);
}

}  // namespace podsim
