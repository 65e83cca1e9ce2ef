# Completion in bash for every C tool of the testbed: verbs, options, and the choices of an option. It asks the tool
# that stands on the command line (`TOOL --verbs-json`, `TOOL [VERB] --options-json`), so it offers what the tool takes.
# Rejected: completion generated when the tools are built, which is wrong as soon as another build is on the PATH.
# The CMake install puts a copy under the name of each tool where bash-completion looks for it.

_lfp_tool_rows() { # ARGUMENT…: the rows of the JSON answer, each on a line of its own
    "$@" 2>/dev/null </dev/null | tr -d '\n' | tr '{' '\n'
}

_lfp_tool_names() { # the names of the rows on stdin
    sed -n 's/.*"name": *"\([^"]*\)".*/\1/p'
}

_lfp_tool_choices() { # OPTION: its choices, from the rows on stdin
    sed -n "s/.*\"name\": *\"$1\".*\"choices\": *\[\([^]]*\)\].*/\1/p" | tr -d '",'
}

_lfp_tool() { # TOOL WORD PREVIOUS, as bash calls it
    local tool=$1 word=$2 option=$3 verb=() rows words
    [ "$option" != = ] || option=${COMP_WORDS[COMP_CWORD - 2]}
    if [ "$COMP_CWORD" -gt 1 ] && [[ ${COMP_WORDS[1]} != -* ]]; then verb=("${COMP_WORDS[1]}"); fi
    rows=$(_lfp_tool_rows "$tool" "${verb[@]}" --options-json)
    if [[ $option == --* ]]; then
        words=$(_lfp_tool_choices "${option#--}" <<<"$rows")
    fi
    if [ -z "${words-}" ] && [[ $word == -* ]]; then
        words=$(_lfp_tool_names <<<"$rows" | sed 's/^/--/')
    elif [ -z "${words-}" ] && [ "$COMP_CWORD" -eq 1 ]; then
        words=$(_lfp_tool_rows "$tool" --verbs-json | _lfp_tool_names)
    fi
    mapfile -t COMPREPLY < <(compgen -W "${words-}" -- "$word")
}

complete -o default -F _lfp_tool comet-delay lft-gateway lft-sim pktlogger rttcp timer-witness
